#include "q4_k_search.h"
#include "slots.h"

/* Source: quantize_row_q5_K_ref of ggml-quants.c. */
void wfs_encode_q5_k_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t q[Q4_K_ELEMS], *block = dst;

    for (size_t b = 0; b < n_elems / Q4_K_ELEMS; b++, src += Q4_K_ELEMS, block += Q5_K_BYTES) {
        q4_k_find(&q5_k_plain, src, block, q);
        q4_k_put_nibbles(block + Q5_K_QS, q);
        k_put_one_bit(block + Q5_K_QH, q, 4);
    }
}

/* Source: quantize_row_q5_K_impl. */
void wfs_encode_weighted_q5_k_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    uint8_t q[Q4_K_ELEMS], *block = dst;

    for (size_t i = 0; i < n_elems; i += Q4_K_ELEMS, block += Q5_K_BYTES) {
        q4_k_find_weighted(&q5_k_weighted, src + i, weights + i, 63, block, q);
        q4_k_put_nibbles(block + Q5_K_QS, q);
        k_put_one_bit(block + Q5_K_QH, q, 4);
    }
}

/* Source: dequantize_row_q5_K. */
void wfs_dequantize_q5_k_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q4_K_ELEMS; b++, block += Q5_K_BYTES) {
        float d = k_get_scale(block), dmin = k_get_scale(block + Q4_K_DMIN);

        for (int j = 0; j < Q4_K_SUBS; j++, dst += Q4_K_SUB) {
            const uint8_t *qs = block + Q5_K_QS + j / 2 * Q4_K_SUB, *qh = block + Q5_K_QH;
            uint8_t scale, min, bit = (uint8_t)(1 << j);

            q4_k_get_scale_min(block + Q4_K_SCALES, j, &scale, &min);
            for (int i = 0; i < Q4_K_SUB; i++) {
                int q = (j & 1 ? qs[i] >> 4 : qs[i] & 15) + (qh[i] & bit ? 16 : 0);

                dst[i] = d * (float)scale * (float)q - dmin * (float)min;
            }
        }
    }
}
