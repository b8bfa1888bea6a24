/* Reading files and directories: whole files mapped or read, directories made and listed. Every message names the path
 * and what the system said. Writing: writer.c. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

/* The failure of a system call on a path, from errno. */
static hk_status path_error(const char *path, const char *what)
{
    int error = errno;
    hk_code code = error == ENOENT || error == ENOTDIR ? HK_NOT_FOUND : HK_IO;
    return HK_ERR(code, "cannot %s '%s': %s", what, path, strerror(error));
}

/* Opens for reading and refuses directories, which open() takes. */
static hk_status open_file(int *out, struct stat *out_stat, const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return path_error(path, "open");
    hk_status status = NULL;
    if (fstat(file, out_stat))
        status = path_error(path, "open");
    else if (S_ISDIR(out_stat->st_mode))
        status = HK_ERR(HK_IO, "cannot read '%s': expected a file, found a directory", path);
    if (status) {
        close(file);
        return status;
    }
    *out = file;
    return NULL;
}

hk_status hki_map_open(hki_map *out, const char *path)
{
    *out = (hki_map){.data = (const unsigned char *)"", .size = 0, .base = NULL};
    int file;
    struct stat info;
    HK_TRY(open_file(&file, &info, path));
    hk_status status = NULL;
    if (!S_ISREG(info.st_mode)) {
        status = HK_ERR(HK_IO, "cannot map '%s': expected a regular file, found a device or pipe", path);
    } else if (info.st_size > 0) {
        void *base = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (base == MAP_FAILED)
            status = path_error(path, "map");
        else
            *out = (hki_map){.data = base, .size = (size_t)info.st_size, .base = base};
    }
    close(file);
    return status;
}

void hki_map_close(hki_map *map)
{
    if (map->base)
        munmap(map->base, map->size);
    *map = (hki_map){0};
}

/* Reads to the end, however long the file turns out to be: pipes and /proc do not tell their size. */
static hk_status read_all(hki_text *out, int file, const char *path, size_t expected)
{
    size_t room = expected < ((size_t)1 << 40) ? expected + 1 : 65536; /* one more byte, so that the end is seen */
    for (;;) {
        size_t needed;
        if (!hki_size_add(&needed, out->length, room + 1))
            return hki_out_of_memory();
        HK_TRY_CTX(hki_array_grow(&out->data, &out->capacity, needed, 1), "'%s'", path);
        ssize_t got = read(file, out->data + out->length, out->capacity - out->length - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return path_error(path, "read");
        out->length += (size_t)got;
        out->data[out->length] = '\0';
        if (got == 0)
            return NULL;
        room = 4096;
    }
}

hk_status hki_file_read(char **out, size_t *out_size, const char *path)
{
    *out = NULL;
    *out_size = 0;
    int file;
    struct stat info;
    HK_TRY(open_file(&file, &info, path));
    hki_text text = {0};
    hk_status status = read_all(&text, file, path, S_ISREG(info.st_mode) ? (size_t)info.st_size : 65536);
    close(file);
    if (status) {
        hki_text_free(&text);
        return status;
    }
    *out = text.data;
    *out_size = text.length;
    return NULL;
}

static bool is_directory(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

hk_status hki_directory_create(const char *path)
{
    if (!*path)
        return HK_ERR(HK_INVALID_ARGUMENT, "cannot make a directory: expected a name, found an empty one");
    char *prefix = hki_strdup(path);
    if (!prefix)
        return hki_out_of_memory();
    hk_status status = NULL;
    for (char *end = prefix + 1; !status; end++) {
        if (*end && *end != '/')
            continue;
        char kept = *end;
        *end = '\0';
        /* one that exists is fine even where mkdir gives another reason, such as a read-only file system */
        if (mkdir(prefix, 0777) && !is_directory(prefix))
            status = path_error(prefix, "make directory");
        *end = kept;
        if (!kept)
            break;
    }
    hki_free(prefix);
    return status;
}

bool hki_path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool hki_path_is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

hk_status hki_file_remove(const char *path)
{
    return unlink(path) ? path_error(path, "remove") : NULL;
}

char *hki_path_join(const char *directory, const char *name)
{
    if (name[0] == '/' || !*directory)
        return hki_strdup(name);
    size_t length = strlen(directory);
    hki_text text = {0};
    hki_text_printf(&text, "%s%s%s", directory, directory[length - 1] == '/' ? "" : "/", name);
    if (text.failed)
        hki_text_free(&text);
    return text.data;
}

char *hki_path_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    while (slash && slash > path && slash[-1] == '/')
        slash--;
    if (!slash)
        return hki_strdup(".");
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    char *directory = hki_alloc(length + 1);
    if (directory) {
        memcpy(directory, path, length);
        directory[length] = '\0';
    }
    return directory;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Collects the names, each with its NUL, in one buffer. */
static hk_status read_names(hki_text *out_names, size_t *out_count, const char *path)
{
    DIR *directory = opendir(path);
    if (!directory)
        return path_error(path, "list");
    errno = 0;
    for (struct dirent *entry; (entry = readdir(directory)); errno = 0) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        hki_text_append(out_names, entry->d_name, strlen(entry->d_name) + 1);
        ++*out_count;
    }
    hk_status status = errno ? path_error(path, "list") : hki_text_status(out_names);
    closedir(directory);
    return status;
}

hk_status hki_directory_list(char ***out, size_t *out_count, const char *path)
{
    *out = NULL;
    *out_count = 0;
    hki_text names = {0};
    size_t count = 0;
    hk_status status = read_names(&names, &count, path);
    char **list = NULL;
    if (!status) {
        list = hki_alloc(count * sizeof *list + names.length); /* pointers, then what they point to */
        if (!list)
            status = hki_out_of_memory();
    }
    if (list) {
        char *name = (char *)(list + count);
        if (count)
            memcpy(name, names.data, names.length);
        for (size_t i = 0; i < count; i++, name += strlen(name) + 1)
            list[i] = name;
        qsort(list, count, sizeof *list, compare_names);
        *out = list;
        *out_count = count;
    }
    hki_text_free(&names);
    return status;
}
