/* Runs a fuzz target without a fuzzer: on every file of a folder, and on copies of it changed in a repeatable way.
 *
 *     TARGET FOLDER [CHANGES]      CHANGES copies per file, 500 unless said */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fuzz.h"

enum { CHANGES_DEFAULT = 500, GROWTH = 64 };

/* xorshift64*: the same changes on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

/* One to four changes: a bit, a byte that is often a limit, a piece cut out, a piece doubled. Returns the new size. */
static size_t change(uint8_t *data, size_t size, size_t room, uint64_t *state)
{
    static const uint8_t limits[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 8, 9};
    for (uint64_t n = 1 + next_random(state) % 4; n && size; n--) {
        size_t at = (size_t)(next_random(state) % size), length = 1 + (size_t)(next_random(state) % 16);
        if (length > size - at)
            length = size - at;
        switch (next_random(state) % 5) {
        case 0:
            data[at] ^= (uint8_t)(1u << next_random(state) % 8);
            break;
        case 1:
            data[at] = limits[next_random(state) % sizeof limits];
            break;
        case 2:
            data[at] = (uint8_t)next_random(state);
            break;
        case 3:
            memmove(data + at, data + at + length, size - at - length);
            size -= length;
            break;
        default:
            if (size + length > room)
                break;
            memmove(data + at + length, data + at, size - at);
            size += length;
        }
    }
    return size;
}

static int run_file(const char *path, long changes)
{
    char *data;
    size_t size;
    hk_status status = hki_file_read(&data, &size, path);
    if (status) {
        printf("%s\n", hk_status_message(status));
        hk_status_free(status);
        return 1;
    }
    LLVMFuzzerTestOneInput((const uint8_t *)data, size);
    uint64_t state = 0x9e3779b97f4a7c15u + size;
    for (long i = 0; i < changes; i++) {
        /* a block of exactly the right size, so that a sanitizer sees a read one byte beyond it */
        uint8_t *copy = malloc(size + GROWTH), *exact;
        if (!copy)
            break;
        if (size)
            memcpy(copy, data, size);
        size_t changed = change(copy, size, size + GROWTH, &state);
        exact = malloc(changed ? changed : 1);
        if (exact) {
            memcpy(exact, copy, changed);
            LLVMFuzzerTestOneInput(exact, changed);
        }
        free(exact);
        free(copy);
    }
    hki_free(data);
    return 0;
}

int main(int argc, char **argv)
{
    char **names;
    size_t count;
    if (argc < 2)
        return 2;
    hk_status status = hki_directory_list(&names, &count, argv[1]);
    if (status) {
        printf("%s\n", hk_status_message(status));
        hk_status_free(status);
        return 1;
    }
    long changes = argc > 2 ? strtol(argv[2], NULL, 10) : CHANGES_DEFAULT;
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        char *path = hki_path_join(argv[1], names[i]);
        failed |= !path || run_file(path, changes);
        hki_free(path);
    }
    hki_free(names);
    printf("%zu files, %ld changed copies of each\n", count, changes);
    return failed || !count;
}
