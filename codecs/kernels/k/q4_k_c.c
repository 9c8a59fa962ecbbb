#include "q4_k_search.h"
#include "slots.h"

/* Source: quantize_row_q4_K_ref of ggml-quants.c. */
void wfs_encode_q4_k_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t q[Q4_K_ELEMS], *block = dst;

    for (size_t b = 0; b < n_elems / Q4_K_ELEMS; b++, src += Q4_K_ELEMS, block += Q4_K_BYTES) {
        q4_k_find(&q4_k_plain, src, block, q);
        q4_k_put_nibbles(block + Q4_K_QS, q);
    }
}

/* Source: quantize_row_q4_K_impl. */
void wfs_encode_weighted_q4_k_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    uint8_t q[Q4_K_ELEMS], *block = dst;

    for (size_t i = 0; i < n_elems; i += Q4_K_ELEMS, block += Q4_K_BYTES) {
        q4_k_find_weighted(&q4_k_weighted, src + i, weights + i, 255, block, q); /* a wrapped one stays as it is */
        q4_k_put_nibbles(block + Q4_K_QS, q);
    }
}

/* Source: dequantize_row_q4_K. */
void wfs_dequantize_q4_k_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q4_K_ELEMS; b++, block += Q4_K_BYTES) {
        float d = k_get_scale(block), dmin = k_get_scale(block + Q4_K_DMIN);

        for (int j = 0; j < Q4_K_SUBS; j++, dst += Q4_K_SUB) {
            const uint8_t *qs = block + Q4_K_QS + j / 2 * Q4_K_SUB;
            uint8_t scale, min;

            q4_k_get_scale_min(block + Q4_K_SCALES, j, &scale, &min);
            for (int i = 0; i < Q4_K_SUB; i++)
                dst[i] = d * (float)scale * (float)(j & 1 ? qs[i] >> 4 : qs[i] & 15) - dmin * (float)min;
        }
    }
}
