/*
 * What the K types do with importance weights, in plain C: the weight of a value, and the search for a block's scale
 * among its sub-blocks' scales (and likewise its mins).
 */
#ifndef WFS_KERNELS_K_IMPORTANCE_H
#define WFS_KERNELS_K_IMPORTANCE_H

#include "k.h"

#include <stdbool.h>

/* Times times the mean square of a block's values. */
static inline float k_mean_square(const float *x, float times)
{
    return times * sum_of_squares(x, K_ELEMS) / K_ELEMS;
}

/* n values' weights from their importances; gives their sum. */
static inline float k_weigh(const float *x, const float *importance, int n, float mean_square, float *ret_w)
{
    float sum = 0;

    for (int i = 0; i < n; i++) {
        ret_w[i] = importance[i] * __builtin_sqrtf(mean_square + x[i] * x[i]);
        sum += ret_w[i];
    }
    return sum;
}

/* The levels for a slope, none above the highest; the sums that give the least-squares scale for them. */
static inline void k_positive_sums(const float *x, const float *w, int n, int levels, float iscale, uint8_t *q,
                                   float *ret_xl, float *ret_l2)
{
    float xl = 0, l2 = 0;

    for (int i = 0; i < n; i++) {
        int32_t l = nearest_int(iscale * x[i]);

        l = l < levels ? l : levels; /* a negative one stays, and wraps where it is stored */
        q[i] = (uint8_t)l;
        xl += w[i] * x[i] * (float)l;
        l2 += w[i] * (float)l * (float)l;
    }
    *ret_xl = xl;
    *ret_l2 = l2;
}

/* Moves single levels while that explains more; a pass that moves none ends it. */
static inline void k_positive_refine(const float *x, const float *w, int n, int levels, uint8_t *q, float *xl,
                                     float *l2)
{
    bool moved = true;

    for (int pass = 0; pass < 5 && moved; pass++) {
        moved = false;
        for (int i = 0; i < n; i++) {
            float rest_xl = *xl - w[i] * x[i] * (float)q[i], rest_l2 = *l2 - w[i] * (float)q[i] * (float)q[i];
            int32_t l;

            if (!(rest_xl > 0 && rest_l2 > 0))
                continue;
            l = nearest_int(x[i] * rest_l2 / rest_xl);
            l = l < levels ? l : levels;
            if (l == q[i])
                continue;
            rest_xl += w[i] * x[i] * (float)l;
            rest_l2 += w[i] * (float)l * (float)l;
            if (rest_xl * rest_xl * *l2 > *xl * *xl * rest_l2) {
                q[i] = (uint8_t)l;
                *xl = rest_xl;
                *l2 = rest_l2;
                moved = true;
            }
        }
    }
}

/*
 * The scale and the levels (0 to levels) that come nearest to n positive values by weighted square error. Source:
 * make_qp_quants of ggml-quants.c.
 */
static inline float k_positive_find(const float *x, const float *w, int n, int levels, uint8_t *q)
{
    float max = 0, iscale, scale, best = 0, xl, l2;

    for (int i = 0; i < n; i++)
        max = max > x[i] ? max : x[i]; /* in this order: a NaN is taken, and the next value replaces it */
    if (max < K_TINY) {
        memset(q, 0, (size_t)n);
        return 0;
    }
    iscale = (float)levels / max;
    scale = 1 / iscale;
    for (int i = 0; i < n; i++) {
        float diff = x[i] - scale * (float)(uint8_t)nearest_int(iscale * x[i]);

        best += w[i] * diff * diff;
    }
    for (int step = -4; step <= 4; step++) {
        float slope = (0.1f * (float)step + (float)levels) / max, error = 0;

        if (step == 0)
            continue;
        scale = 1 / slope;
        for (int i = 0; i < n; i++) {
            int32_t l = nearest_int(slope * x[i]);
            float diff = x[i] - scale * (float)(l < levels ? l : levels);

            error += w[i] * diff * diff;
        }
        if (error < best) {
            best = error;
            iscale = slope;
        }
    }
    k_positive_sums(x, w, n, levels, iscale, q, &xl, &l2);
    k_positive_refine(x, w, n, levels, q, &xl, &l2);
    return l2 > 0 ? xl / l2 : 0;
}

#endif
