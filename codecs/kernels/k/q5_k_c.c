#include "q4_k_search.h"
#include "slots.h"

static const struct q4_k_search q5_k = { .levels = 31, .from = -0.5f, .steps = 15 };

static void encode_block(const float *x, uint8_t *block)
{
    float scales[Q4_K_SUBS], mins[Q4_K_SUBS], d[Q4_K_SUBS], dmin[Q4_K_SUBS];
    uint8_t q[Q4_K_ELEMS];

    q4_k_find_all(&q5_k, x, scales, mins, q);
    q4_k_put_scales(block, scales, mins, d, dmin);
    memset(block + Q5_K_QH, 0, Q5_K_QS - Q5_K_QH);
    for (int j = 0; j < Q4_K_SUBS; j++) {
        uint8_t *levels = q + Q4_K_SUB * j, *low = block + Q5_K_QS + j / 2 * Q4_K_SUB;

        q4_k_requantize(&q5_k, x + Q4_K_SUB * j, d[j], dmin[j], levels);
        for (int i = 0; i < Q4_K_SUB;
             i++) { /* pairs of sub-blocks share bytes; bit j of a byte of qh is sub-block j's */
            block[Q5_K_QH + i] |= (uint8_t)(levels[i] >> 4 << j);
            low[i] = (uint8_t)(j & 1 ? low[i] | levels[i] << 4 : levels[i] & 15);
        }
    }
}

/* Source: quantize_row_q5_K_ref of ggml-quants.c. */
void wfs_encode_q5_k_c(const float *src, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / Q4_K_ELEMS; b++)
        encode_block(src + b * Q4_K_ELEMS, (uint8_t *)dst + b * Q5_K_BYTES);
}
