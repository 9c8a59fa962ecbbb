/* The searches of Q4_K and Q5_K over a block, in plain C: they differ in parameters only. */
#ifndef WFS_KERNELS_K_Q4_K_SEARCH_H
#define WFS_KERNELS_K_Q4_K_SEARCH_H

#include "affine_search.h"
#include "importance.h"
#include "q4_k.h"

/* Writes the block's scales; the levels are not packed. */
static inline void q4_k_find(const struct affine *s, const float *x, uint8_t *block, uint8_t q[Q4_K_ELEMS])
{
    float scales[Q4_K_SUBS], mins[Q4_K_SUBS], d[Q4_K_SUBS], dmin[Q4_K_SUBS], w[Q4_K_SUB];

    for (int j = 0; j < Q4_K_SUBS; j++) {
        const float *xs = x + Q4_K_SUB * j;
        float rms = __builtin_sqrtf(sum_of_squares(xs, Q4_K_SUB) / 32.0f);

        for (int i = 0; i < Q4_K_SUB; i++)
            w[i] = rms + abs_of(xs[i]);
        scales[j] = affine_find(s, xs, w, q + Q4_K_SUB * j, &mins[j]);
    }
    q4_k_put_scales(block, scales, mins, d, dmin);
    for (int j = 0; j < Q4_K_SUBS; j++)
        affine_requantize(s, x + Q4_K_SUB * j, d[j], dmin[j], q + Q4_K_SUB * j);
}

/* The same with importance weights. most: the largest that a sub-block's level of the scale or min is stored as. */
static inline void q4_k_find_weighted(const struct affine *s, const float *x, const float *importance, uint8_t most,
                                      uint8_t *block, uint8_t q[Q4_K_ELEMS])
{
    float scales[Q4_K_SUBS], mins[Q4_K_SUBS], d[Q4_K_SUBS], dmin[Q4_K_SUBS], w[Q4_K_SUB], sum_w[Q4_K_SUBS];
    float mean_square = k_mean_square(x, 2), scale, min;
    uint8_t six[Q4_K_SUBS], six_min[Q4_K_SUBS];

    for (int j = 0; j < Q4_K_SUBS; j++) {
        const float *xs = x + Q4_K_SUB * j;

        sum_w[j] = k_weigh(xs, importance + Q4_K_SUB * j, Q4_K_SUB, mean_square, w);
        scales[j] = affine_find(s, xs, w, q + Q4_K_SUB * j, &mins[j]);
    }
    scale = k_positive_find(scales, sum_w, Q4_K_SUBS, 63, six);
    min = k_positive_find(mins, sum_w, Q4_K_SUBS, 63, six_min);
    for (int j = 0; j < Q4_K_SUBS; j++) {
        six[j] = six[j] < most ? six[j] : most;
        six_min[j] = six_min[j] < most ? six_min[j] : most;
    }
    q4_k_put_found(block, scale, min, six, six_min, d, dmin);
    for (int j = 0; j < Q4_K_SUBS; j++)
        affine_requantize(s, x + Q4_K_SUB * j, d[j], dmin[j], q + Q4_K_SUB * j);
}

#endif
