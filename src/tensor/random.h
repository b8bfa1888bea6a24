/* Counter-based random numbers: Philox 4x32-10 (Salmon et al., SC 2011). A number is a pure function of a key and a
 * counter, so it does not depend on who computes it, or in which order.
 *
 * Keys are built from what the number is for: (seed, stream). Streams: see hki_stream. Counters are (step or epoch,
 * global sample index, element), so dropout and augmentation are the same on any number of threads and ranks. */
#ifndef HKI_TENSOR_RANDOM_H
#define HKI_TENSOR_RANDOM_H

#include <stdint.h>

typedef struct hki_key {
    uint32_t word[2];
} hki_key;

/** Makes a key from a seed and a stream number (an operator's stable id, or one of the constants below). */
hki_key hki_key_create(uint64_t seed, uint64_t stream);

enum {
    HKI_STREAM_SHUFFLE = 1,
    HKI_STREAM_AUGMENT = 2,
    HKI_STREAM_SPLIT = 3,
    HKI_STREAM_INIT = 4,
    HKI_STREAM_DROPOUT = 1 << 20
};

/** Four random words for counter (a, b, c, d). */
void hki_philox(uint32_t out[4], hki_key key, uint32_t a, uint32_t b, uint32_t c, uint32_t d);
/** Four random words for a counter of two 64-bit numbers. */
void hki_philox64(uint32_t out[4], hki_key key, uint64_t high, uint64_t low);

/** Uniform in [0, 1) with 24 bits. */
float hki_uniform_float(uint32_t word);
/** Uniform in [0, 1) with 53 bits. */
double hki_uniform_double(uint32_t high, uint32_t low);
/** Four standard normal numbers from four random words. */
void hki_normal_words(double out[4], const uint32_t word[4]);
/** Standard normal numbers by Box-Muller with halka's own log and cosine (same bytes everywhere): element i of stream
 * key. */
void hki_normal_fill(float *out, int64_t count, hki_key key, float mean, float deviation);
void hki_uniform_fill(float *out, int64_t count, hki_key key, float low, float high);

/** A permutation of 0 .. count-1 as a stateless function (Feistel network with cycle walking): returns where `index`
 * goes. */
uint64_t hki_permute(uint64_t index, uint64_t count, hki_key key);

#endif
