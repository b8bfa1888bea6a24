/* Files: mapping, reading, paths, directories, and a writer that leaves the old file whenever it fails. */
#include "base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "harness/test.h"

static char directory[256];

/* Makes a fresh directory for one test. */
static void enter(const char *name)
{
    char command[600];
    snprintf(directory, sizeof directory, "%s/file_test.%s", TEST_BINARY_DIR, name);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    CHECK_EQ(system(command), 0);
    CHECK_OK(hki_directory_create(directory));
}

static const char *in(const char *name)
{
    static char paths[4][600];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static hk_status put(const char *path, const char *text)
{
    hki_writer *writer;
    HK_TRY(hki_writer_open(&writer, path));
    hki_writer_write(writer, text, strlen(text));
    return hki_writer_commit(writer);
}

static void check_content(const char *path, const char *expected)
{
    char *text;
    size_t size;
    REQUIRE_OK(hki_file_read(&text, &size, path));
    CHECK_STR(text, expected);
    CHECK_EQ(size, strlen(expected));
    hki_free(text);
}

static size_t entries(void)
{
    char **names;
    size_t count = 0;
    CHECK_OK(hki_directory_list(&names, &count, directory));
    hki_free(names);
    return count;
}

TEST(map)
{
    enter("map");
    hki_map map;
    REQUIRE_OK(put(in("a"), "hello"));
    REQUIRE_OK(hki_map_open(&map, in("a")));
    CHECK_EQ(map.size, 5);
    CHECK_BYTES(map.data, "hello", 5);
    hki_map_close(&map);
    hki_map_close(&map);
    REQUIRE_OK(put(in("empty"), ""));
    REQUIRE_OK(hki_map_open(&map, in("empty")));
    CHECK(map.size == 0 && map.data);
    hki_map_close(&map);
    CHECK_FAILS(hki_map_open(&map, directory), HK_IO, "found a directory");
    CHECK_FAILS(hki_map_open(&map, in("none")), HK_NOT_FOUND, "none': No such file");
    CHECK_FAILS(hki_map_open(&map, "/dev/null"), HK_IO, "regular file");
}

TEST(read)
{
    enter("read");
    char *text;
    size_t size;
    REQUIRE_OK(put(in("empty"), ""));
    check_content(in("empty"), "");
    CHECK_FAILS(hki_file_read(&text, &size, directory), HK_IO, "directory");
    CHECK(!text && !size);
    CHECK_FAILS(hki_file_read(&text, &size, in("a/b")), HK_NOT_FOUND, "No such file");
    REQUIRE_OK(hki_file_read(&text, &size, "/proc/self/status")); /* says its size is 0 */
    CHECK(size > 100 && strlen(text) == size);
    hki_free(text);
    REQUIRE_OK(put(in("five"), "hello"));
    for (int n = 1; n <= 1; n++) {
        hki_memory_fail_at(n);
        CHECK_FAILS(hki_file_read(&text, &size, in("five")), HK_OUT_OF_MEMORY, "");
    }
}

TEST(writer_replaces_atomically)
{
    enter("writer");
    hki_writer *writer;
    REQUIRE_OK(put(in("a"), "old"));
    REQUIRE_OK(hki_writer_open(&writer, in("a")));
    hki_writer_printf(writer, "%s-%d", "new", 1);
    hki_writer_printf(writer, "%01000d", 2);
    CHECK_EQ(hki_writer_offset(writer), 1005);
    check_content(in("a"), "old");
    REQUIRE_OK(hki_writer_commit(writer));
    struct stat info;
    CHECK(!stat(in("a"), &info) && info.st_size == 1005);
    CHECK_EQ(entries(), 1);
    REQUIRE_OK(hki_writer_open(&writer, in("a")));
    hki_writer_write(writer, "x", 1);
    hki_writer_abandon(writer);
    hki_writer_abandon(NULL);
    CHECK(!stat(in("a"), &info) && info.st_size == 1005);
    CHECK_EQ(entries(), 1);
}

TEST(writer_takes_any_sizes)
{
    enter("sizes");
    enum { SIZE = 1000000 };
    unsigned char *data = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        data[i] = (unsigned char)((unsigned)i * 7919u >> 5);
    hki_writer *writer;
    REQUIRE_OK(hki_writer_open(&writer, in("big")));
    size_t offset = 0;
    for (size_t step = 1; offset < SIZE; step = step * 3 + 1) {
        size_t size = offset + step < SIZE ? step : SIZE - offset;
        hki_writer_write(writer, data + offset, size);
        offset += size;
    }
    REQUIRE_OK(hki_writer_commit(writer));
    hki_map map;
    REQUIRE_OK(hki_map_open(&map, in("big")));
    CHECK_EQ(map.size, SIZE);
    CHECK_BYTES(map.data, data, SIZE);
    hki_map_close(&map);
    free(data);
}

/* Replaces file "a" by 200,000 bytes in three writes and a sync. */
static hk_status put_large(void)
{
    static char block[100000];
    hki_writer *writer;
    HK_TRY(hki_writer_open(&writer, in("a")));
    hki_writer_write(writer, block, sizeof block);
    hki_writer_write(writer, "x", 1);
    hki_writer_write(writer, block, sizeof block);
    return hki_writer_commit(writer);
}

TEST(full_disk_leaves_the_old_file)
{
    enter("full");
    REQUIRE_OK(put(in("a"), "old"));
    for (int n = 1; n <= 4; n++) {
        hki_file_fail_at(n);
        CHECK_FAILS(put_large(), HK_IO, "a': No space left");
        check_content(in("a"), "old");
        CHECK_EQ(entries(), 1);
    }
    hki_file_fail_at(5);
    CHECK_OK(put_large());
    hki_file_fail_at(0);
}

TEST(no_memory_leaves_the_old_file)
{
    enter("memory");
    REQUIRE_OK(put(in("a"), "old"));
    for (int n = 1; n <= 3; n++) {
        hki_memory_fail_at(n);
        CHECK_FAILS(put(in("a"), "new"), HK_OUT_OF_MEMORY, "");
        check_content(in("a"), "old");
        CHECK_EQ(entries(), 1);
    }
    hki_memory_fail_at(0);
}

TEST(writer_refuses)
{
    enter("refuses");
    hki_writer *writer;
    CHECK_FAILS(hki_writer_open(&writer, directory), HK_IO, "found a directory");
    CHECK_FAILS(hki_writer_open(&writer, "/dev/null"), HK_IO, "device");
    CHECK_FAILS(hki_writer_open(&writer, in("no/such/a")), HK_NOT_FOUND, "cannot create");
    CHECK(writer == NULL);
}

TEST(directories)
{
    enter("directories");
    CHECK_OK(hki_directory_create(in("x/y//z/")));
    CHECK_OK(hki_directory_create(in("x/y")));
    CHECK_OK(hki_directory_create("/"));
    CHECK(hki_path_exists(in("x/y/z")));
    CHECK(!hki_path_exists(in("x/z")));
    CHECK_OK(put(in("b"), ""));
    CHECK_OK(put(in("a"), ""));
    CHECK_FAILS(hki_directory_create(in("a/c")), HK_IO, "a': File exists");
    CHECK_FAILS(hki_directory_create(""), HK_INVALID_ARGUMENT, "empty");
    char **names;
    size_t count;
    REQUIRE_OK(hki_directory_list(&names, &count, directory));
    CHECK_EQ(count, 3);
    CHECK(!strcmp(names[0], "a") && !strcmp(names[1], "b") && !strcmp(names[2], "x"));
    hki_free(names);
    REQUIRE_OK(hki_directory_list(&names, &count, in("x/y/z")));
    CHECK_EQ(count, 0);
    hki_free(names);
    CHECK_FAILS(hki_directory_list(&names, &count, in("none")), HK_NOT_FOUND, "cannot list");
    CHECK_OK(hki_file_remove(in("a")));
    CHECK_FAILS(hki_file_remove(in("a")), HK_NOT_FOUND, "cannot remove");
}

static void check_text(char *text, const char *expected)
{
    CHECK_STR(text, expected);
    hki_free(text);
}

TEST(paths)
{
    check_text(hki_path_join("a", "b"), "a/b");
    check_text(hki_path_join("a/", "b"), "a/b");
    check_text(hki_path_join("a", "/b"), "/b");
    check_text(hki_path_join("", "b"), "b");
    check_text(hki_path_directory("a/b/c"), "a/b");
    check_text(hki_path_directory("a//c"), "a");
    check_text(hki_path_directory("c"), ".");
    check_text(hki_path_directory("/c"), "/");
    check_text(hki_path_directory("//c"), "/");
}

TEST_MAIN()
