/* Protocol buffers, wire format only: a reader over a span of bytes and a writer into memory, both knowing nothing of
 * message types.
 *
 * The reader yields one field after another and never looks outside its span, whatever the bytes are. Text and nested
 * messages are spans of the same memory. The writer keeps large payloads as references, so that a message may be larger
 * than memory could hold twice. Source: protobuf.dev "Encoding". Groups (deprecated before ONNX existed) are refused.
 */
#ifndef HKI_FORMATS_PROTOBUF_H
#define HKI_FORMATS_PROTOBUF_H

#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"

typedef enum hki_wire { HKI_WIRE_VARINT = 0, HKI_WIRE_64 = 1, HKI_WIRE_BYTES = 2, HKI_WIRE_32 = 5 } hki_wire;

typedef struct hki_span {
    const unsigned char *data;
    size_t size;
} hki_span;

/** One field: `value` holds varints and fixed numbers, `bytes` what has a length. */
typedef struct hki_pb_field {
    uint32_t number;
    hki_wire wire;
    uint64_t value;
    hki_span bytes;
} hki_pb_field;

/** A position in a message. `file` is where offsets in messages of errors count from. */
typedef struct hki_pb_reader {
    const unsigned char *at, *end, *file;
} hki_pb_reader;

hki_pb_reader hki_pb_read(hki_span message, const unsigned char *file);
/** True while fields are left. */
bool hki_pb_more(const hki_pb_reader *reader);
/** Reads the next field. HK_INVALID_FILE with the offset if it is damaged. */
hk_status hki_pb_next(hki_pb_field *out, hki_pb_reader *reader) HK_MUST_USE;
/** Reads one varint (inside a packed field). */
hk_status hki_pb_varint(uint64_t *out, hki_pb_reader *reader) HK_MUST_USE;
/** Checks that a field has the expected form. HK_INVALID_FILE names `what`. */
hk_status hki_pb_expect(const hki_pb_field *field, hki_wire wire, const char *what) HK_MUST_USE;
/** Checks a whole message for well-formed fields and counts those with numbers below `limit` into `counts`. */
hk_status hki_pb_count(size_t *counts, uint32_t limit, hki_span message, const unsigned char *file) HK_MUST_USE;
/** Copies a text field into an arena. Text with a NUL byte inside is refused: it would be cut short silently. */
hk_status hki_pb_text(const char **out, hki_arena *arena, const hki_pb_field *field, const char *what) HK_MUST_USE;

/* ---- Writing. ---- */

/** A payload that is not copied: it stands before byte `at` of the writer's own bytes. */
typedef struct hki_pb_splice {
    size_t at;
    hki_span bytes;
} hki_pb_splice;

/** A message under construction. Start with {0}. After an allocation fails it ignores what follows; hki_pb_status says
 * so. */
typedef struct hki_pb_writer {
    unsigned char *data;
    size_t size, capacity;
    hki_pb_splice *splices;
    size_t splice_count, splice_capacity;
    uint64_t total; /* length of the message with the splices */
    bool failed;
} hki_pb_writer;

void hki_pb_put_int(hki_pb_writer *w, uint32_t field, int64_t value);
void hki_pb_put_float(hki_pb_writer *w, uint32_t field, float value);
void hki_pb_put_bytes(hki_pb_writer *w, uint32_t field, const void *data, size_t size);
void hki_pb_put_text(hki_pb_writer *w, uint32_t field, const char *text);
/** As hki_pb_put_bytes, but keeps a reference: `data` must live until the message is flushed. */
void hki_pb_put_reference(hki_pb_writer *w, uint32_t field, const void *data, size_t size);
/** Begins a nested message (or packed list) and returns a mark for hki_pb_end, which puts the length in front. */
typedef struct hki_pb_mark {
    size_t at, splices;
    uint64_t total;
} hki_pb_mark;
hki_pb_mark hki_pb_begin(hki_pb_writer *w, uint32_t field);
void hki_pb_end(hki_pb_writer *w, hki_pb_mark mark);
/** Appends a varint without a field number: an element of a packed list. */
void hki_pb_put_varint(hki_pb_writer *w, uint64_t value);
/** Returns how many bytes a varint takes. */
size_t hki_pb_varint_size(uint64_t value);
hk_status hki_pb_status(const hki_pb_writer *w) HK_MUST_USE;
/** Hands the message to a file. */
void hki_pb_flush(const hki_pb_writer *w, hki_writer *file);
void hki_pb_free(hki_pb_writer *w);

#endif
