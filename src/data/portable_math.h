/* Transcendental functions of double made of + - * / and bit operations only, each rounded once by IEEE 754: the same
 * bytes on every machine, which no libm promises. Relative error below 1e-13; not fast: a few calls per sample. */
#ifndef HKI_DATA_PORTABLE_MATH_H
#define HKI_DATA_PORTABLE_MATH_H

#include <stdint.h>

/** Natural logarithm of a positive, finite number. */
double hki_portable_log(double x);
/** e^x; 0 below -700, limited at 700. */
double hki_portable_exp(double x);
/** Sine and cosine of an angle in degrees, at most 10^6 in magnitude. */
void hki_portable_sincos(double *out_sine, double *out_cosine, double degrees);
/** The largest integer that is not above x; |x| < 2^62. */
int64_t hki_portable_floor(double x);

#endif
