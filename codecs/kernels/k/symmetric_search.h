/*
 * The searches of Q3_K and Q6_K in plain C: a scale per sub-block of 16, so that scale * level comes nearest to the
 * values by weighted square error; levels from -half to half - 1. (Q4_0 and Q5_0 with importance weights use the first
 * over blocks of 32.)
 */
#ifndef WFS_KERNELS_K_SYMMETRIC_SEARCH_H
#define WFS_KERNELS_K_SYMMETRIC_SEARCH_H

#include "k.h"

#include <stdbool.h>

enum { SYMMETRIC_SUB = 16 };

static inline int32_t symmetric_level(float v, int half)
{
    return clamp_int(nearest_int(v), -half, half - 1);
}

/* The sums that give the least-squares scale for slope iscale. */
static inline void symmetric_sums(const float *x, const float *w, int n, int half, float iscale, float *ret_xl,
                                  float *ret_l2)
{
    float xl = 0, l2 = 0;

    for (int i = 0; i < n; i++) {
        float l = (float)symmetric_level(iscale * x[i], half);

        xl += w[i] * x[i] * l;
        l2 += w[i] * l * l;
    }
    *ret_xl = xl;
    *ret_l2 = l2;
}

/*
 * The scale that explains most over 19 slopes, and the levels plus half (0 throughout for a sub-block that counts as
 * zero). Source: make_qx_quants of ggml-quants.c with rmse_type 1.
 */
static inline float symmetric_find_n(const float *x, const float *w, int n, int half, uint8_t *q)
{
    float max = most_of(x, (size_t)n), iscale, best_iscale, xl, l2, scale, best;

    if (abs_of(max) < K_TINY) {
        memset(q, 0, (size_t)n);
        return 0;
    }
    best_iscale = iscale = (float)-half / max;
    symmetric_sums(x, w, n, half, iscale, &xl, &l2);
    scale = l2 != 0 ? xl / l2 : 0; /* a NaN is not zero */
    best = scale * xl;
    for (int step = -9; step <= 9; step++) {
        if (step == 0)
            continue;
        iscale = -((float)half + 0.1f * (float)step) / max;
        symmetric_sums(x, w, n, half, iscale, &xl, &l2);
        if (l2 > 0 && xl * xl > best * l2) {
            best_iscale = iscale;
            scale = xl / l2;
            best = scale * xl;
        }
    }
    for (int i = 0; i < n; i++)
        q[i] = (uint8_t)(half + symmetric_level(best_iscale * x[i], half));
    return scale;
}

static inline float symmetric_find(const float *x, const float *w, int half, uint8_t *q)
{
    return symmetric_find_n(x, w, SYMMETRIC_SUB, half, q);
}

/*
 * The scale that explains most when single levels of the plain slope's are moved, the values weighted with their
 * squares; the levels plus half (0 throughout for a sub-block that counts as zero). Source: make_q3_quants of
 * ggml-quants.c.
 */
static inline float symmetric_refine(const float *x, int half, uint8_t *q)
{
    float max = most_of(x, SYMMETRIC_SUB), iscale, xl = 0, l2 = 0, level[SYMMETRIC_SUB];
    bool moved = true;

    if (abs_of(max) < K_TINY) {
        memset(q, 0, SYMMETRIC_SUB);
        return 0;
    }
    iscale = (float)-half / max;
    for (int i = 0; i < SYMMETRIC_SUB; i++) {
        float w = x[i] * x[i], l = level[i] = (float)symmetric_level(iscale * x[i], half);

        xl += w * x[i] * l;
        l2 += w * l * l;
    }
    for (int pass = 0; pass < 5 && moved; pass++) {
        moved = false;
        for (int i = 0; i < SYMMETRIC_SUB; i++) {
            float w = x[i] * x[i], rest_xl = xl - w * x[i] * level[i], rest_l2, l;

            if (!(rest_xl > 0))
                continue;
            rest_l2 = l2 - w * level[i] * level[i];
            l = (float)symmetric_level(x[i] * rest_l2 / rest_xl, half);
            if (l == level[i])
                continue;
            rest_xl += w * x[i] * l;
            rest_l2 += w * l * l;
            if (rest_l2 > 0 && rest_xl * rest_xl * l2 > xl * xl * rest_l2) {
                level[i] = l;
                xl = rest_xl;
                l2 = rest_l2;
                moved = true;
            }
        }
    }
    for (int i = 0; i < SYMMETRIC_SUB; i++)
        q[i] = (uint8_t)(half + (int)level[i]);
    return l2 > 0 ? xl / l2 : 0;
}

/*
 * The levels plus half for the scale as it was stored. A sub-block whose stored scale is 0 keeps those of the search.
 */
static inline void symmetric_requantize(const float *x, int half, float d, uint8_t *q)
{
    if (d == 0)
        return;
    for (int i = 0; i < SYMMETRIC_SUB; i++)
        q[i] = (uint8_t)(half + symmetric_level(x[i] / d, half));
}

#endif
