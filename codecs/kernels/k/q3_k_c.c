#include "importance.h"
#include "q3_k.h"
#include "slots.h"
#include "symmetric_search.h"

enum { HALF = 4 }; /* the levels are -4 to 3 */

static void put_levels(const float *x, uint8_t *q, const float *d, uint8_t *block)
{
    for (int j = 0; j < Q3_K_SUBS; j++)
        symmetric_requantize(x + Q3_K_SUB * j, HALF, d[j], q + Q3_K_SUB * j);
    q3_k_put_levels(block, q);
}

static void encode_block(const float *x, uint8_t *block)
{
    float scales[Q3_K_SUBS], d[Q3_K_SUBS];
    uint8_t q[Q3_K_ELEMS];

    for (int j = 0; j < Q3_K_SUBS; j++)
        scales[j] = symmetric_refine(x + Q3_K_SUB * j, HALF, q + Q3_K_SUB * j);
    q3_k_put_scales(block, scales, d);
    put_levels(x, q, d, block);
}

static void encode_block_weighted(const float *x, const float *importance, uint8_t *block)
{
    float scales[Q3_K_SUBS], d[Q3_K_SUBS], w[Q3_K_SUB], sum_w[Q3_K_SUBS], mean_square = k_mean_square(x, 2), scale;
    uint8_t q[Q3_K_ELEMS], six[Q3_K_SUBS];

    for (int j = 0; j < Q3_K_SUBS; j++) {
        const float *xs = x + Q3_K_SUB * j;

        sum_w[j] = k_weigh(xs, importance + Q3_K_SUB * j, Q3_K_SUB, mean_square, w);
        scales[j] = symmetric_find(xs, w, HALF, q + Q3_K_SUB * j);
    }
    scale = symmetric_find(scales, sum_w, 32, six);
    q3_k_put_found(block, scale, six, d);
    put_levels(x, q, d, block);
}

/* Source: quantize_row_q3_K_ref of ggml-quants.c. */
void wfs_encode_q3_k_c(const float *src, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / Q3_K_ELEMS; b++)
        encode_block(src + b * Q3_K_ELEMS, (uint8_t *)dst + b * Q3_K_BYTES);
}

/* Source: quantize_row_q3_K_impl. */
void wfs_encode_weighted_q3_k_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / Q3_K_ELEMS; b++)
        encode_block_weighted(src + b * Q3_K_ELEMS, weights + b * Q3_K_ELEMS, (uint8_t *)dst + b * Q3_K_BYTES);
}

/* 16 values from the bytes with their low bits and third bits, which are at `two` and at `third`. */
static void get_sub(const uint8_t *low, const uint8_t *high, int two, int third, float d, float *dst)
{
    for (int i = 0; i < Q3_K_SUB; i++)
        dst[i] = d * (float)((low[i] >> two & 3) + 4 * (high[i] >> third & 1) - 4);
}

/* Source: dequantize_row_q3_K. */
void wfs_dequantize_q3_k_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q3_K_ELEMS; b++, block += Q3_K_BYTES, dst += Q3_K_ELEMS) {
        float all = k_get_scale(block + Q3_K_D);

        for (int j = 0; j < Q3_K_SUBS; j++) { /* by 32 values there is another bit of the same bytes */
            const uint8_t *low = block + Q3_K_QS + j / 8 * 32 + j % 2 * 16, *high = block + Q3_K_HMASK + j % 2 * 16;
            float d = all * (float)q3_k_scale(block + Q3_K_SCALES, j);

            get_sub(low, high, j / 2 % 4 * 2, j / 2, d, dst + Q3_K_SUB * j);
        }
    }
}
