/* The probe of lanes_probe.inl, for each ISA. */
#ifndef TESTS_KERNELS_LANES_PROBE_H
#define TESTS_KERNELS_LANES_PROBE_H

#define LANES_PROBE_ROWS 80 /* at most */

/** Writes rows of 16 words to out and returns how many. 0 <= n <= 16. */
typedef int lanes_probe_fn(float *out, const float *x, const float *y, const float *z, int n);
lanes_probe_fn lanes_probe__c, lanes_probe__avx2, lanes_probe__avx512;

#endif
