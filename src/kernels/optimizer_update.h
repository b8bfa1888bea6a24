/* Kernel family: optimizer updates and arithmetic on ranges of the flat parameter space. Every update is elementwise
 * with the operations in the order written here, so a range may be cut anywhere. Formulas: PyTorch 2 / DeepSpeed
 * FusedAdam, FusedLamb, CPUAdagrad. */
#ifndef HKI_KERNELS_OPTIMIZER_UPDATE_H
#define HKI_KERNELS_OPTIMIZER_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

/** SGD (Sutskever et al. 2013, as torch.optim.SGD). g = scale * grad + decay * w; with momentum: v = momentum * v + (1
 * - dampening) * g (first step: v = g); d = nesterov ? g + momentum * v : v; without momentum d = g; w -= lr * d. */
typedef struct hkk_sgd {
    float lr, momentum, dampening, decay, scale;
    bool nesterov, first;
} hkk_sgd;

/** Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019). g = scale * grad; if not decoupled g += decay * w;
 * m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g * g; w -= step * m / (sqrt(v) * root + eps), after w
 * -= lr * decay * w if decoupled. step = lr / (1 - beta1^t), root = 1 / sqrt(1 - beta2^t) (both without correction: lr
 * and 1), computed by the caller. */
typedef struct hkk_adam {
    float beta1, beta2, one_minus_beta1, one_minus_beta2, eps, step, root, lr_decay, decay, scale;
    bool decoupled;
} hkk_adam;

/** Adagrad (Duchi et al. 2011). g = scale * grad + decay * w; s += g * g; w -= lr * g / (sqrt(s) + eps). */
typedef struct hkk_adagrad {
    float lr, eps, decay, scale;
} hkk_adagrad;

typedef struct hkk_optimizer_kernels {
    /** velocity may be NULL if momentum is 0. */
    void (*sgd)(float *w, float *velocity, const float *grad, int64_t n, const hkk_sgd *p);
    void (*adam)(float *w, float *m, float *v, const float *grad, int64_t n, const hkk_adam *p);
    void (*adagrad)(float *w, float *sum, const float *grad, int64_t n, const hkk_adagrad *p);
    /** Lamb (You et al. 2020), first phase: moments as Adam's with step 1; u = m / bias1 / (sqrt(v / bias2) + eps) +
     * decay * w, where p->step is 1 / bias1. */
    void (*lamb_direction)(float *u, const float *w, float *m, float *v, const float *grad, int64_t n,
                           const hkk_adam *p);
    /** y += x. */
    void (*add)(float *y, const float *x, int64_t n);
    /** y *= factor. */
    void (*scale)(float *y, float factor, int64_t n);
    /** y += factor * x, one fused multiply-add each. */
    void (*add_scaled)(float *y, const float *x, float factor, int64_t n);
    /** Returns the sum of x^2: sixteen float lanes over groups of at most 1,024 elements (lane i: i, i + 16, ... by
     * FMA), lanes by the fixed tree, groups added in order in double. The caller cuts in fixed blocks of a multiple of
     * 1,024. */
    double (*sum_squares)(const float *x, int64_t n);
} hkk_optimizer_kernels;

extern const hkk_optimizer_kernels hkk_optimizer__c, hkk_optimizer__avx2, hkk_optimizer__avx512;

#endif
