#include "q6_k.h"
#include "slots.h"
#include "symmetric_search.h"

enum { HALF = 32 }; /* the levels are -32 to 31 */

/* importance NULL: each value weighs its square. Both are the sole weights (no mean square has a part in them). */
static void encode_block(const float *x, const float *importance, uint8_t *block)
{
    float scales[Q6_K_SUBS], d[Q6_K_SUBS], squares[Q6_K_SUB];
    uint8_t q[Q6_K_ELEMS];

    for (int j = 0; j < Q6_K_SUBS; j++) {
        const float *xs = x + Q6_K_SUB * j;

        for (int i = 0; i < Q6_K_SUB; i++)
            squares[i] = xs[i] * xs[i];
        scales[j] = symmetric_find(xs, importance ? importance + Q6_K_SUB * j : squares, HALF, q + Q6_K_SUB * j);
    }
    if (!q6_k_put_scales(block, scales, d))
        return;
    for (int j = 0; j < Q6_K_SUBS; j++)
        symmetric_requantize(x + Q6_K_SUB * j, HALF, d[j], q + Q6_K_SUB * j);
    q6_k_put_levels(block, q);
}

/* Source: quantize_row_q6_K_ref of ggml-quants.c. */
void wfs_encode_q6_k_c(const float *src, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / Q6_K_ELEMS; b++)
        encode_block(src + b * Q6_K_ELEMS, NULL, (uint8_t *)dst + b * Q6_K_BYTES);
}

/* Source: quantize_row_q6_K_impl. */
void wfs_encode_weighted_q6_k_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / Q6_K_ELEMS; b++)
        encode_block(src + b * Q6_K_ELEMS, weights + b * Q6_K_ELEMS, (uint8_t *)dst + b * Q6_K_BYTES);
}

/* Source: dequantize_row_q6_K. */
void wfs_dequantize_q6_k_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q6_K_ELEMS; b++, block += Q6_K_BYTES, dst += Q6_K_ELEMS) {
        float all = k_get_scale(block + Q6_K_D);

        for (int j = 0; j < Q6_K_SUBS; j++) {
            const uint8_t *low = block + j / 8 * 64 + j % 4 * Q6_K_SUB;
            const uint8_t *high = block + Q6_K_QH + j / 8 * 32 + j % 2 * Q6_K_SUB;
            float d = all * (float)(int8_t)block[Q6_K_SCALES + j];

            for (int i = 0; i < Q6_K_SUB; i++) {
                int q = (low[i] >> j / 4 % 2 * 4 & 15) | (high[i] >> j / 2 % 4 * 2 & 3) << 4;

                dst[j * Q6_K_SUB + i] = d * (float)(q - 32);
            }
        }
    }
}
