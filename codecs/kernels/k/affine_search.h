/*
 * The search of Q2_K, Q4_K and Q5_K in plain C: a scale and a min per sub-block, so that min + scale * level comes
 * nearest to the values by weighted error. The types differ in the numbers of levels and tries and in how an error
 * counts. Source: make_qkx2_quants and (with importance weights) make_qkx3_quants of ggml-quants.c.
 */
#ifndef WFS_KERNELS_K_AFFINE_SEARCH_H
#define WFS_KERNELS_K_AFFINE_SEARCH_H

#include "../bits.h"
#include "affine.h"

/* One try: the levels for a given slope, and the weighted least-squares scale and min for them. False: no solution. */
static inline bool affine_fit(const struct affine *s, const float *x, const float *w, float iscale, float min,
                              float sum_w, float sum_x, uint8_t *ret_q, float *ret_scale, float *ret_min)
{
    float sum_l = 0, sum_l2 = 0, sum_xl = 0, det;

    for (int i = 0; i < s->sub; i++) {
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

static inline float affine_error(const struct affine *s, const float *x, const float *w, const uint8_t *q, float scale,
                                 float min)
{
    float error = 0;

    for (int i = 0; i < s->sub; i++) {
        float diff = scale * (float)q[i] + min - x[i];

        error += w[i] * (s->absolute ? abs_of(diff) : diff * diff);
    }
    return error;
}

/*
 * The scale and (negated) min of one sub-block with the least weighted error over all tries, and the levels for them.
 */
static inline float affine_find(const struct affine *s, const float *x, const float *w, uint8_t *q, float *ret_min)
{
    float min = x[0], max = x[0], sum_w = w[0], sum_x = sum_w * x[0], iscale, scale, best;
    uint8_t trial[AFFINE_MAX_SUB];

    for (int i = 1; i < s->sub; i++) {
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
        memset(q, 0, (size_t)s->sub);
        *ret_min = -min;
        return 0;
    }
    iscale = (float)s->levels / (max - min);
    scale = 1 / iscale;
    for (int i = 0; i < s->sub; i++)
        q[i] = (uint8_t)clamp_int(nearest_int(iscale * (x[i] - min)), 0, s->levels);
    best = affine_error(s, x, w, q, scale, min);
    for (int step = 0; step < s->tries; step++) {
        float try_scale, try_min, error;

        iscale = affine_slope(s, step) / (max - min); /* min is the best one so far */
        if (!affine_fit(s, x, w, iscale, min, sum_w, sum_x, trial, &try_scale, &try_min))
            continue;
        error = affine_error(s, x, w, trial, try_scale, try_min);
        if (error < best) {
            memcpy(q, trial, (size_t)s->sub);
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
static inline void affine_requantize(const struct affine *s, const float *x, float d, float dmin, uint8_t *q)
{
    if (d == 0)
        return;
    for (int i = 0; i < s->sub; i++)
        q[i] = (uint8_t)clamp_int(nearest_int((x[i] + dmin) / d), 0, s->levels);
}

#endif
