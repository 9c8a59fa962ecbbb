#include "q4_k.h"
#include "slots.h"

#define LEVELS 15.0f /* the highest of 4 bits */

/* One try: the levels for a given slope, and the weighted least-squares scale and min for them. False: no solution. */
static bool fit(const float *x, const float *w, float iscale, float min, float sum_w, float sum_x, uint8_t *ret_q,
                float *ret_scale, float *ret_min)
{
    float sum_l = 0, sum_l2 = 0, sum_xl = 0, det;

    for (int i = 0; i < Q4_K_SUB; i++) {
        int32_t l = clamp_int(nearest_int(iscale * (x[i] - min)), 0, 15);
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

static float weighted_error(const float *x, const float *w, const uint8_t *q, float scale, float min)
{
    float error = 0;

    for (int i = 0; i < Q4_K_SUB; i++) {
        float diff = scale * (float)q[i] + min - x[i];

        error += w[i] * (diff * diff);
    }
    return error;
}

/*
 * The scale and (negated) min of one sub-block with the least weighted error over 21 slopes. Source: make_qkx2_quants.
 */
static float search(const float *x, const float *w, uint8_t *q, float *ret_min)
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
    iscale = LEVELS / (max - min);
    scale = 1 / iscale;
    for (int i = 0; i < Q4_K_SUB; i++)
        q[i] = (uint8_t)clamp_int(nearest_int(iscale * (x[i] - min)), 0, 15);
    best = weighted_error(x, w, q, scale, min);
    for (int step = 0; step <= 20; step++) {
        float try_scale, try_min, error;

        iscale = (-1.0f + 0.1f * (float)step + LEVELS) / (max - min); /* min is the best one so far */
        if (!fit(x, w, iscale, min, sum_w, sum_x, trial, &try_scale, &try_min))
            continue;
        error = weighted_error(x, w, trial, try_scale, try_min);
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
static void requantize(const float *x, float d, float dmin, uint8_t *q)
{
    if (d == 0)
        return;
    for (int i = 0; i < Q4_K_SUB; i++)
        q[i] = (uint8_t)clamp_int(nearest_int((x[i] + dmin) / d), 0, 15);
}

static void encode_block(const float *x, uint8_t *block)
{
    float scales[Q4_K_SUBS], mins[Q4_K_SUBS], d[Q4_K_SUBS], dmin[Q4_K_SUBS], w[Q4_K_SUB];
    uint8_t q[Q4_K_ELEMS];

    for (int j = 0; j < Q4_K_SUBS; j++) {
        const float *xs = x + Q4_K_SUB * j;
        float sum_x2 = 0, rms;

        for (int i = 0; i < Q4_K_SUB; i++)
            sum_x2 += xs[i] * xs[i];
        rms = __builtin_sqrtf(sum_x2 / 32.0f);
        for (int i = 0; i < Q4_K_SUB; i++)
            w[i] = rms + abs_of(xs[i]);
        scales[j] = search(xs, w, q + Q4_K_SUB * j, &mins[j]);
    }
    q4_k_put_scales(block, scales, mins, d, dmin);
    for (int j = 0; j < Q4_K_SUBS; j++)
        requantize(x + Q4_K_SUB * j, d[j], dmin[j], q + Q4_K_SUB * j);
    for (int i = 0; i < Q4_K_ELEMS / 2; i++) { /* pairs of sub-blocks share bytes */
        const uint8_t *pair = q + i / 32 * 64 + i % 32;

        block[Q4_K_QS + i] = (uint8_t)(pair[0] | pair[32] << 4);
    }
}

/* Source: quantize_row_q4_K_ref of ggml-quants.c. */
void wfs_encode_q4_k_c(const float *src, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / Q4_K_ELEMS; b++)
        encode_block(src + b * Q4_K_ELEMS, (uint8_t *)dst + b * Q4_K_BYTES);
}
