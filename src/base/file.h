/* Files: map, read whole, write atomically. Messages name the path and what the system said. */
#ifndef HKI_BASE_FILE_H
#define HKI_BASE_FILE_H

#include <stdio.h>

#include "base/memory.h"

/** A read-only view of a whole file. */
typedef struct hki_map {
    const unsigned char *data; /* never NULL when open; an empty file has size 0 */
    size_t size;
    void *base; /* for hki_map_close */
} hki_map;

hk_status hki_map_open(hki_map *out, const char *path) HK_MUST_USE;
void hki_map_close(hki_map *map);

/** Reads a whole file into memory, NUL-terminated after *out_size bytes. Free with hki_free. */
hk_status hki_file_read(char **out, size_t *out_size, const char *path) HK_MUST_USE;

/** A file that appears under its name only when it is complete: written beside it, synced, renamed. A crash at any byte
 * leaves the previous file. The first write that fails is remembered and reported by commit. */
typedef struct hki_writer hki_writer;
hk_status hki_writer_open(hki_writer **out, const char *path) HK_MUST_USE;
void hki_writer_write(hki_writer *writer, const void *data, size_t size);
void hki_writer_printf(hki_writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Returns how many bytes were written so far. */
uint64_t hki_writer_offset(const hki_writer *writer);
/** Flushes, syncs, renames, syncs the directory, frees the writer. On failure nothing changed under the name. */
hk_status hki_writer_commit(hki_writer *writer) HK_MUST_USE;
/** Throws away what was written. NULL is allowed. */
void hki_writer_abandon(hki_writer *writer);

/** Makes a directory and its parents; fine if it exists. */
hk_status hki_directory_create(const char *path) HK_MUST_USE;
bool hki_path_exists(const char *path);
bool hki_path_is_directory(const char *path);
hk_status hki_file_remove(const char *path) HK_MUST_USE;
/** Joins directory and name into a hki_alloc'ed string; an absolute name stands alone. NULL when memory is exhausted.
 */
char *hki_path_join(const char *directory, const char *name);
/** Returns the directory part of a path ("." if none), hki_alloc'ed; NULL when memory is exhausted. */
char *hki_path_directory(const char *path);
/** Lists the names in a directory (sorted, without . and ..): *out is one hki_alloc'ed block, free with hki_free. */
hk_status hki_directory_list(char ***out, size_t *out_count, const char *path) HK_MUST_USE;

/** For tests: makes the n-th write from now fail as a full disk does (0 turns it off). */
void hki_file_fail_at(int64_t n);

#endif
