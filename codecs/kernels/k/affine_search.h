/*
 * The search of Q4_K and Q5_K in plain C: both look for a scale and a min per sub-block of 32, they differ in the
 * number of levels and of tries. Source: make_qkx2_quants of ggml-quants.c.
 */
#ifndef WFS_KERNELS_Q4_K_SEARCH_H
#define WFS_KERNELS_Q4_K_SEARCH_H

#include "q4_k.h"

#include <stdbool.h>

struct q4_k_search {
    int levels;      /* the highest level */
    float from;      /* the first slope that is tried, in levels beside the plain one; then 0.1 more each */
    int steps;       /* the number of the last try */
};

/* One try: the levels for a given slope, and the weighted least-squares scale and min for them. False: no solution. */
static inline bool q4_k_fit(const struct q4_k_search *s, const float *x, const float *w, float iscale, float min,
                            float sum_w, float sum_x, uint8_t *ret_q, float *ret_scale, float *ret_min)
{
    float sum_l = 0, sum_l2 = 0, sum_xl = 0, det;

    for (int i = 0; i < Q4_K_SUB; i++) {
        int32_t l = clamp_int(nearest_int(iscale * (x[i] - min)), 0, s->levels);
        float wl = w[i] * (float)l;

        ret_q[i] = (uint8_t)l;
        sum_l += wl;
        sum_l2 += wl * (float)l;
        sum_xl += wl * x[i];
    }
    det = sum_w * sum_l2 - sum_l * sum_l;
    if (!(det > 0))
        return false;
    *ret_scale = (sum_w * sum_xl - sum_x * sum_l) / det;
    *ret_min = (sum_l2 * sum_x - sum_l * sum_xl) / det;
    if (*ret_min > 0) {
        *ret_min = 0;
        *ret_scale = sum_xl / sum_l2;
    }
    return true;
}

static inline float q4_k_error(const float *x, const float *w, const uint8_t *q, float scale, float min)
{
    float error = 0;

    for (int i = 0; i < Q4_K_SUB; i++) {
        float diff = scale * (float)q[i] + min - x[i];

        error += w[i] * (diff * diff);
    }
    return error;
}

/* The scale and (negated) min of one sub-block with the least weighted error over all tries, and the levels for them.
 */
static inline float q4_k_find(const struct q4_k_search *s, const float *x, const float *w, uint8_t *q, float *ret_min)
{
    float min = x[0], max = x[0], sum_w = w[0], sum_x = sum_w * x[0], iscale, scale, best;
    uint8_t trial[Q4_K_SUB];

    for (int i = 1; i < Q4_K_SUB; i++) {
        if (x[i] < min)
            min = x[i];
        if (x[i] > max)
            max = x[i];
        sum_w += w[i];
        sum_x += w[i] * x[i];
    }
    if (min > 0)
        min = 0;
    if (max == min) {
        memset(q, 0, Q4_K_SUB);
        *ret_min = -min;
        return 0;
    }
    iscale = (float)s->levels / (max - min);
    scale = 1 / iscale;
    for (int i = 0; i < Q4_K_SUB; i++)
        q[i] = (uint8_t)clamp_int(nearest_int(iscale * (x[i] - min)), 0, s->levels);
    best = q4_k_error(x, w, q, scale, min);
    for (int step = 0; step <= s->steps; step++) {
        float try_scale, try_min, error;

        iscale = (s->from + 0.1f * (float)step + (float)s->levels) / (max - min); /* min is the best one so far */
        if (!q4_k_fit(s, x, w, iscale, min, sum_w, sum_x, trial, &try_scale, &try_min))
            continue;
        error = q4_k_error(x, w, trial, try_scale, try_min);
        if (error < best) {
            memcpy(q, trial, sizeof trial);
            best = error;
            scale = try_scale;
            min = try_min;
        }
    }
    *ret_min = -min;
    return scale;
}

/*
 * The levels for the scale and min as they were stored. A sub-block whose stored scale is 0 keeps those of the search.
 */
static inline void q4_k_requantize(const struct q4_k_search *s, const float *x, float d, float dmin, uint8_t *q)
{
    if (d == 0)
        return;
    for (int i = 0; i < Q4_K_SUB; i++)
        q[i] = (uint8_t)clamp_int(nearest_int((x[i] + dmin) / d), 0, s->levels);
}

/* Weights, scales, mins and levels of a whole superblock by the search. */
static inline void q4_k_find_all(const struct q4_k_search *s, const float *x, float scales[Q4_K_SUBS],
                                 float mins[Q4_K_SUBS], uint8_t q[Q4_K_ELEMS])
{
    float w[Q4_K_SUB];

    for (int j = 0; j < Q4_K_SUBS; j++) {
        const float *xs = x + Q4_K_SUB * j;
        float sum_x2 = 0, rms;

        for (int i = 0; i < Q4_K_SUB; i++)
            sum_x2 += xs[i] * xs[i];
        rms = __builtin_sqrtf(sum_x2 / 32.0f);
        for (int i = 0; i < Q4_K_SUB; i++)
            w[i] = rms + abs_of(xs[i]);
        scales[j] = q4_k_find(s, xs, w, q + Q4_K_SUB * j, &mins[j]);
    }
}

#endif
