#include "affine_search.h"
#include "importance.h"
#include "q2_k.h"
#include "slots.h"

static void put_levels(const struct affine *s, const float *x, uint8_t *q, const float *d, const float *dmin,
                       uint8_t *block)
{
    for (int j = 0; j < Q2_K_SUBS; j++)
        affine_requantize(s, x + Q2_K_SUB * j, d[j], dmin[j], q + Q2_K_SUB * j);
    k_put_two_bits(block + Q2_K_QS, q);
}

static void encode_block(const float *x, uint8_t *block)
{
    float scales[Q2_K_SUBS], mins[Q2_K_SUBS], d[Q2_K_SUBS], dmin[Q2_K_SUBS], w[Q2_K_SUB];
    uint8_t q[Q2_K_ELEMS];

    for (int j = 0; j < Q2_K_SUBS; j++) {
        const float *xs = x + Q2_K_SUB * j;

        for (int i = 0; i < Q2_K_SUB; i++)
            w[i] = abs_of(xs[i]);
        scales[j] = affine_find(&q2_k_plain, xs, w, q + Q2_K_SUB * j, &mins[j]);
    }
    q2_k_put_scales(block, scales, mins, d, dmin);
    put_levels(&q2_k_plain, x, q, d, dmin, block);
}

static void encode_block_weighted(const float *x, const float *importance, uint8_t *block)
{
    float scales[Q2_K_SUBS], mins[Q2_K_SUBS], d[Q2_K_SUBS], dmin[Q2_K_SUBS], w[Q2_K_SUB], sum_w[Q2_K_SUBS];
    float mean_square = k_mean_square(x, 1), scale, min;
    uint8_t q[Q2_K_ELEMS], scale_levels[Q2_K_SUBS], min_levels[Q2_K_SUBS];

    for (int j = 0; j < Q2_K_SUBS; j++) {
        const float *xs = x + Q2_K_SUB * j;

        sum_w[j] = k_weigh(xs, importance + Q2_K_SUB * j, Q2_K_SUB, mean_square, w);
        scales[j] = affine_find(&q2_k_weighted, xs, w, q + Q2_K_SUB * j, &mins[j]);
    }
    scale = k_positive_find(scales, sum_w, Q2_K_SUBS, 15, scale_levels);
    min = k_positive_find(mins, sum_w, Q2_K_SUBS, 15, min_levels);
    q2_k_put_found(block, scale, min, scale_levels, min_levels, d, dmin);
    put_levels(&q2_k_weighted, x, q, d, dmin, block);
}

/* Source: quantize_row_q2_K_ref of ggml-quants.c. */
void wfs_encode_q2_k_c(const float *src, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / Q2_K_ELEMS; b++)
        encode_block(src + b * Q2_K_ELEMS, (uint8_t *)dst + b * Q2_K_BYTES);
}

/* Source: quantize_row_q2_K_impl. */
void wfs_encode_weighted_q2_k_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / Q2_K_ELEMS; b++)
        encode_block_weighted(src + b * Q2_K_ELEMS, weights + b * Q2_K_ELEMS, (uint8_t *)dst + b * Q2_K_BYTES);
}

/* Source: dequantize_row_q2_K. */
void wfs_dequantize_q2_k_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q2_K_ELEMS; b++, block += Q2_K_BYTES, dst += Q2_K_ELEMS) {
        float all = k_get_scale(block + Q2_K_D), all_min = k_get_scale(block + Q2_K_DMIN);

        for (int j = 0; j < Q2_K_SUBS; j++) {
            const uint8_t *qs = block + Q2_K_QS + j / 8 * 32 + j % 2 * Q2_K_SUB;
            float d, min;

            q2_k_worth(block, all, all_min, j, &d, &min);
            for (int i = 0; i < Q2_K_SUB; i++)
                dst[j * Q2_K_SUB + i] = d * (float)(qs[i] >> j / 2 % 4 * 2 & 3) - min;
        }
    }
}
