#include "q4_k_search.h"
#include "slots.h"

static const struct q4_k_search q4_k = { .levels = 15, .from = -1.0f, .steps = 20 };

static void encode_block(const float *x, uint8_t *block)
{
    float scales[Q4_K_SUBS], mins[Q4_K_SUBS], d[Q4_K_SUBS], dmin[Q4_K_SUBS];
    uint8_t q[Q4_K_ELEMS];

    q4_k_find_all(&q4_k, x, scales, mins, q);
    q4_k_put_scales(block, scales, mins, d, dmin);
    for (int j = 0; j < Q4_K_SUBS; j++)
        q4_k_requantize(&q4_k, x + Q4_K_SUB * j, d[j], dmin[j], q + Q4_K_SUB * j);
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
