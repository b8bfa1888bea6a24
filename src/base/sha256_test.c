/* SHA-256 against the examples of FIPS 180 and a split at every place. */
#include "base/sha256.h"

#include "harness/test.h"

static void digest(char out[65], const void *data, size_t size, size_t split)
{
    hki_sha256 sha;
    hki_sha256_start(&sha);
    hki_sha256_add(&sha, data, split);
    hki_sha256_add(&sha, (const char *)data + split, size - split);
    hki_sha256_finish(out, &sha);
}

TEST(examples)
{
    char out[65];
    digest(out, "", 0, 0);
    CHECK_STR(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest(out, "abc", 3, 1);
    CHECK_STR(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    digest(out, two_blocks, 56, 0);
    CHECK_STR(out, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(million)
{
    char out[65], *data = malloc(1000000);
    memset(data, 'a', 1000000);
    digest(out, data, 1000000, 12345);
    CHECK_STR(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(data);
}

TEST(splits)
{
    char data[200], whole[65], out[65];
    for (int i = 0; i < 200; i++)
        data[i] = (char)(i * 7);
    digest(whole, data, 200, 0);
    for (size_t split = 0; split <= 200; split++) {
        digest(out, data, 200, split);
        CHECK_STR(out, whole);
    }
}

TEST_MAIN()
