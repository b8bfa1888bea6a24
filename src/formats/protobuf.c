/* The wire format of protocol buffers; see protobuf.h. */
#include "formats/protobuf.h"

#include <string.h>

hki_pb_reader hki_pb_read(hki_span message, const unsigned char *file)
{
    return (hki_pb_reader){message.data, message.size ? message.data + message.size : message.data, file};
}

bool hki_pb_more(const hki_pb_reader *reader)
{
    return reader->at != reader->end;
}

static hk_status damaged(const hki_pb_reader *reader, const char *what)
{
    return HK_ERR(HK_INVALID_FILE, "damaged at byte %zu: %s", (size_t)(reader->at - reader->file), what);
}

hk_status hki_pb_varint(uint64_t *out, hki_pb_reader *reader)
{
    uint64_t value = 0;
    const unsigned char *at = reader->at;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (at == reader->end)
            return damaged(reader, "a number is cut off by the end");
        unsigned char byte = *at++;
        if (shift == 63 && (byte & 0x7f) > 1)
            return damaged(reader, "a number has more than 64 bits");
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            reader->at = at;
            *out = value;
            return NULL;
        }
    }
    return damaged(reader, "a number has more than 10 bytes");
}

static hk_status read_fixed(uint64_t *out, hki_pb_reader *reader, size_t size)
{
    if ((size_t)(reader->end - reader->at) < size)
        return damaged(reader, "a number is cut off by the end");
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)reader->at[i] << (8 * i);
    reader->at += size;
    *out = value;
    return NULL;
}

static hk_status read_bytes(hki_span *out, hki_pb_reader *reader)
{
    uint64_t size;
    HK_TRY(hki_pb_varint(&size, reader));
    if (size > (uint64_t)(reader->end - reader->at))
        return damaged(reader, "a length reaches beyond the end");
    *out = (hki_span){reader->at, (size_t)size};
    reader->at += size;
    return NULL;
}

hk_status hki_pb_next(hki_pb_field *out, hki_pb_reader *reader)
{
    uint64_t key;
    HK_TRY(hki_pb_varint(&key, reader));
    if (key >> 3 == 0 || key >> 3 > 0x1fffffff)
        return damaged(reader, "a field has an impossible number");
    *out = (hki_pb_field){.number = (uint32_t)(key >> 3), .wire = (hki_wire)(key & 7)};
    switch (out->wire) {
    case HKI_WIRE_VARINT:
        return hki_pb_varint(&out->value, reader);
    case HKI_WIRE_64:
        return read_fixed(&out->value, reader, 8);
    case HKI_WIRE_32:
        return read_fixed(&out->value, reader, 4);
    case HKI_WIRE_BYTES:
        return read_bytes(&out->bytes, reader);
    }
    return damaged(reader, "a field has an impossible type");
}

hk_status hki_pb_expect(const hki_pb_field *field, hki_wire wire, const char *what)
{
    if (field->wire == wire)
        return NULL;
    return HK_ERR(HK_INVALID_FILE, "field '%s' has wire type %d, expected %d", what, (int)field->wire, (int)wire);
}

hk_status hki_pb_count(size_t *counts, uint32_t limit, hki_span message, const unsigned char *file)
{
    memset(counts, 0, limit * sizeof *counts);
    hki_pb_reader reader = hki_pb_read(message, file);
    hki_pb_field field;
    while (hki_pb_more(&reader)) {
        HK_TRY(hki_pb_next(&field, &reader));
        if (field.number < limit)
            counts[field.number]++;
    }
    return NULL;
}

hk_status hki_pb_text(const char **out, hki_arena *arena, const hki_pb_field *field, const char *what)
{
    HK_TRY(hki_pb_expect(field, HKI_WIRE_BYTES, what));
    if (field->bytes.size && memchr(field->bytes.data, 0, field->bytes.size))
        return HK_ERR(HK_INVALID_FILE, "field '%s' contains a NUL byte", what);
    *out = hki_arena_strndup(arena, (const char *)field->bytes.data, field->bytes.size);
    return *out ? NULL : hki_out_of_memory();
}

/* ---- Writing. ---- */

static void put(hki_pb_writer *w, const void *data, size_t size)
{
    if (w->failed || !size)
        return;
    size_t needed;
    hk_status status = hki_size_add(&needed, w->size, size) ? hki_array_grow(&w->data, &w->capacity, needed, 1)
                                                            : hki_out_of_memory();
    if (status) {
        hk_status_free(status);
        w->failed = true;
        return;
    }
    memcpy(w->data + w->size, data, size);
    w->size += size;
    w->total += size;
}

static size_t encode_varint(unsigned char out[10], uint64_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        out[size++] = (unsigned char)(value | 0x80);
    out[size++] = (unsigned char)value;
    return size;
}

size_t hki_pb_varint_size(uint64_t value)
{
    unsigned char bytes[10];
    return encode_varint(bytes, value);
}

void hki_pb_put_varint(hki_pb_writer *w, uint64_t value)
{
    unsigned char bytes[10];
    put(w, bytes, encode_varint(bytes, value));
}

static void put_key(hki_pb_writer *w, uint32_t field, hki_wire wire)
{
    hki_pb_put_varint(w, (uint64_t)field << 3 | (uint64_t)wire);
}

void hki_pb_put_int(hki_pb_writer *w, uint32_t field, int64_t value)
{
    put_key(w, field, HKI_WIRE_VARINT);
    hki_pb_put_varint(w, (uint64_t)value);
}

void hki_pb_put_float(hki_pb_writer *w, uint32_t field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    unsigned char bytes[4] = {(unsigned char)bits, (unsigned char)(bits >> 8), (unsigned char)(bits >> 16),
                              (unsigned char)(bits >> 24)};
    put_key(w, field, HKI_WIRE_32);
    put(w, bytes, sizeof bytes);
}

void hki_pb_put_bytes(hki_pb_writer *w, uint32_t field, const void *data, size_t size)
{
    put_key(w, field, HKI_WIRE_BYTES);
    hki_pb_put_varint(w, size);
    put(w, data, size);
}

void hki_pb_put_text(hki_pb_writer *w, uint32_t field, const char *text)
{
    hki_pb_put_bytes(w, field, text, strlen(text));
}

void hki_pb_put_reference(hki_pb_writer *w, uint32_t field, const void *data, size_t size)
{
    put_key(w, field, HKI_WIRE_BYTES);
    hki_pb_put_varint(w, size);
    if (w->failed || !size)
        return;
    hk_status status = hki_array_grow(&w->splices, &w->splice_capacity, w->splice_count + 1, sizeof *w->splices);
    if (status) {
        hk_status_free(status);
        w->failed = true;
        return;
    }
    w->splices[w->splice_count++] = (hki_pb_splice){w->size, {data, size}};
    w->total += size;
}

hki_pb_mark hki_pb_begin(hki_pb_writer *w, uint32_t field)
{
    put_key(w, field, HKI_WIRE_BYTES);
    return (hki_pb_mark){w->size, w->splice_count, w->total};
}

void hki_pb_end(hki_pb_writer *w, hki_pb_mark mark)
{
    unsigned char length[10];
    size_t size = encode_varint(length, w->total - mark.total), moved = w->size - mark.at;
    put(w, length, size); /* makes room; the bytes are set below */
    if (w->failed)
        return;
    memmove(w->data + mark.at + size, w->data + mark.at, moved);
    memcpy(w->data + mark.at, length, size);
    for (size_t i = mark.splices; i < w->splice_count; i++)
        w->splices[i].at += size;
}

hk_status hki_pb_status(const hki_pb_writer *w)
{
    return w->failed ? hki_out_of_memory() : NULL;
}

void hki_pb_flush(const hki_pb_writer *w, hki_writer *file)
{
    size_t at = 0;
    for (size_t i = 0; i < w->splice_count; i++) {
        const hki_pb_splice *splice = &w->splices[i];
        hki_writer_write(file, w->data + at, splice->at - at);
        hki_writer_write(file, splice->bytes.data, splice->bytes.size);
        at = splice->at;
    }
    hki_writer_write(file, w->data + at, w->size - at);
}

void hki_pb_free(hki_pb_writer *w)
{
    hki_free(w->data);
    hki_free(w->splices);
    *w = (hki_pb_writer){0};
}
