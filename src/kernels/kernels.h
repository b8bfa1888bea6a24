/* The table of all kernels of one ISA. Every row of every table gives the same bytes in every ISA
 * (docs/adding-a-kernel.md).
 *
 * A kernel works on raw pointers: it knows no tensor, allocates nothing, keeps no state and cannot fail; shapes are
 * checked by its caller. */
#ifndef HKI_KERNELS_KERNELS_H
#define HKI_KERNELS_KERNELS_H

#include "base/system.h"
#include "kernels/convolution.h"
#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/normalize.h"
#include "kernels/optimizer_update.h"
#include "kernels/reduce.h"
#include "kernels/softmax.h"
#include "kernels/spatial_pool.h"
#include "kernels/vector_math.h"

typedef struct hkk_kernels {
    hki_isa isa;
    const hkk_convolution_kernels *convolution;
    const hkk_elementwise_kernels *elementwise;
    const hkk_gemm_kernels *gemm;
    const hkk_optimizer_kernels *optimizer;
    const hkk_vector_math_kernels *vector_math;
    const hkk_reduce_kernels *reduce;
    const hkk_softmax_kernels *softmax;
    const hkk_spatial_pool_kernels *spatial_pool;
    const hkk_normalize_kernels *normalize;
} hkk_kernels;

/** Returns the kernels of an ISA. The caller has made sure that this machine supports it (hki_isa_choose); an ISA this
 * build has no kernels for gives those of plain C. */
const hkk_kernels *hkk_kernels_get(hki_isa isa);

#endif
