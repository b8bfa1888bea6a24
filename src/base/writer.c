/* Writing a file that appears only when it is complete.
 *
 * The bytes go to NAME.tmp.PID in the same directory; commit syncs it, renames it over NAME and syncs the directory, so
 * a crash at any point leaves the previous file or the new one. The first failure is kept until commit. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define BUFFER_SIZE 65536

struct hki_writer {
    int file;
    uint64_t offset; /* bytes accepted so far */
    size_t buffered;
    int error;            /* errno of the first failure, 0 while all is well */
    const char *operation; /* that failed */
    char *path, *temporary;
    char buffer[BUFFER_SIZE];
};

static _Atomic int64_t fail_countdown; /* 0: off; 1: the next write or sync fails */

void hki_file_fail_at(int64_t n)
{
    atomic_store(&fail_countdown, n);
}

static bool fails_now(void)
{
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) <= 0)
        return false;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

static void fail(hki_writer *writer, const char *operation)
{
    if (writer->error)
        return;
    writer->error = errno ? errno : EIO;
    writer->operation = operation;
}

/* Puts bytes on the disk, in as many system calls as that takes. */
static void write_through(hki_writer *writer, const char *data, size_t size)
{
    if (!size)
        return;
    bool full = fails_now();
    if (full)
        size /= 2; /* a disk fills up in the middle of a write */
    while (size && !writer->error) {
        ssize_t written = write(writer->file, data, size);
        if (written < 0 && errno != EINTR)
            fail(writer, "write");
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
    if (full) {
        errno = ENOSPC;
        fail(writer, "write");
    }
}

static void flush(hki_writer *writer)
{
    if (!writer->error)
        write_through(writer, writer->buffer, writer->buffered);
    writer->buffered = 0;
}

static hk_status writer_error(const char *path, const char *operation, int error)
{
    hk_code code = error == ENOENT || error == ENOTDIR ? HK_NOT_FOUND : HK_IO;
    return HK_ERR(code, "cannot %s '%s': %s", operation, path, strerror(error));
}

/* Copies the path and derives the temporary name from it. */
static bool set_names(hki_writer *writer, const char *path)
{
    size_t size = strlen(path) + 32;
    writer->path = hki_strdup(path);
    writer->temporary = hki_alloc(size);
    if (!writer->path || !writer->temporary)
        return false;
    snprintf(writer->temporary, size, "%s.tmp.%ld", path, (long)getpid());
    return true;
}

static void free_writer(hki_writer *writer)
{
    hki_free(writer->path);
    hki_free(writer->temporary);
    hki_free(writer);
}

hk_status hki_writer_open(hki_writer **out, const char *path)
{
    *out = NULL;
    struct stat info;
    if (!stat(path, &info) && !S_ISREG(info.st_mode)) /* rename would replace a device, and fail late on a directory */
        return HK_ERR(HK_IO, "cannot write '%s': expected a regular file or none, found a %s", path,
                      S_ISDIR(info.st_mode) ? "directory" : "device or pipe");
    hki_writer *writer = hki_alloc(sizeof *writer);
    if (!writer)
        return hki_out_of_memory();
    memset(writer, 0, offsetof(hki_writer, buffer));
    if (!set_names(writer, path)) {
        free_writer(writer);
        return hki_out_of_memory();
    }
    writer->file = open(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->file < 0) {
        hk_status status = writer_error(path, "create", errno);
        free_writer(writer);
        return status;
    }
    *out = writer;
    return NULL;
}

void hki_writer_write(hki_writer *writer, const void *data, size_t size)
{
    writer->offset += size;
    if (writer->error || !size)
        return;
    if (size > BUFFER_SIZE - writer->buffered)
        flush(writer);
    if (size >= BUFFER_SIZE) {
        write_through(writer, data, size);
        return;
    }
    memcpy(writer->buffer + writer->buffered, data, size);
    writer->buffered += size;
}

void hki_writer_printf(hki_writer *writer, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < sizeof line) {
        hki_writer_write(writer, line, (size_t)length);
        return;
    }
    char *longer = length < 0 ? NULL : hki_alloc((size_t)length + 1);
    if (!longer) {
        errno = length < 0 ? EINVAL : ENOMEM;
        fail(writer, "format text for");
        return;
    }
    va_start(arguments, format);
    vsnprintf(longer, (size_t)length + 1, format, arguments);
    va_end(arguments);
    hki_writer_write(writer, longer, (size_t)length);
    hki_free(longer);
}

uint64_t hki_writer_offset(const hki_writer *writer)
{
    return writer->offset;
}

static int sync_file(int file)
{
    if (fails_now()) {
        errno = ENOSPC;
        return -1;
    }
    return fsync(file);
}

/* Makes the rename itself durable. Some file systems cannot sync a directory (EINVAL): nothing more can be done there.
 */
static hk_status sync_directory(const char *path)
{
    char *name = hki_path_directory(path);
    if (!name)
        return hki_out_of_memory();
    int directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    hki_free(name);
    if (directory < 0)
        return NULL; /* a directory that may be written but not read; the file is in place */
    bool failed = fsync(directory) && errno != EINVAL && errno != EROFS;
    hk_status status = failed ? writer_error(path, "sync the directory of", errno) : NULL;
    close(directory);
    return status;
}

hk_status hki_writer_commit(hki_writer *writer)
{
    flush(writer);
    if (!writer->error && sync_file(writer->file))
        fail(writer, "sync");
    if (close(writer->file) && !writer->error)
        fail(writer, "close");
    if (!writer->error && rename(writer->temporary, writer->path))
        fail(writer, "rename into place");
    hk_status status = NULL;
    if (writer->error) {
        status = writer_error(writer->path, writer->operation, writer->error);
        unlink(writer->temporary);
    } else {
        status = sync_directory(writer->path);
    }
    free_writer(writer);
    return status;
}

void hki_writer_abandon(hki_writer *writer)
{
    if (!writer)
        return;
    close(writer->file);
    unlink(writer->temporary);
    free_writer(writer);
}
