#include "../values.h"
#include "slots.h"
#include "tq.h"

/* Writes the scale at p; the levels plus 1. */
static void find(const float *x, uint8_t *p, uint8_t q[TQ_ELEMS])
{
    float amax = amax_of(x, TQ_ELEMS), inverse = amax != 0 ? 1.0f / amax : 0;

    put_u16(p, f16_scale_of(amax));
    for (int i = 0; i < TQ_ELEMS; i++)
        q[i] = (uint8_t)(round_long_low(x[i] * inverse) + 1);
}

/* Source: quantize_row_tq1_0_ref of ggml-quants.c. */
void wfs_encode_tq1_0_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst, q[TQ_ELEMS];

    for (size_t b = 0; b < n_elems / TQ_ELEMS; b++, src += TQ_ELEMS, block += TQ1_0_BYTES) {
        find(src, block + TQ1_0_D, q);
        tq1_0_put_digits(q, 32, 5, block + TQ1_0_QS);
        tq1_0_put_digits(q + 160, 16, 5, block + TQ1_0_QS + 32);
        tq1_0_put_digits(q + 240, 4, 4, block + TQ1_0_QH);
    }
}

/* Source: quantize_row_tq2_0_ref. */
void wfs_encode_tq2_0_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst, q[TQ_ELEMS];

    for (size_t b = 0; b < n_elems / TQ_ELEMS; b++, src += TQ_ELEMS, block += TQ2_0_BYTES) {
        find(src, block + TQ2_0_D, q);
        for (int i = 0; i < TQ_ELEMS / 4; i++) {
            const uint8_t *l = q + i / 32 * 128 + i % 32;

            block[TQ2_0_QS + i] =
                (uint8_t)((l[0] & 3) | (l[32] & 3) << 2 | (l[64] & 3) << 4 | (l[96] & 3) << 6);
        }
    }
}

/* Source: dequantize_row_tq1_0. */
void wfs_dequantize_tq1_0_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / TQ_ELEMS; b++, dst += TQ_ELEMS, block += TQ1_0_BYTES) {
        float d = f16_scale(get_u16(block + TQ1_0_D));

        tq1_0_get_digits(block + TQ1_0_QS, 32, 5, d, dst);
        tq1_0_get_digits(block + TQ1_0_QS + 32, 16, 5, d, dst + 160);
        tq1_0_get_digits(block + TQ1_0_QH, 4, 4, d, dst + 240);
    }
}

/* Source: dequantize_row_tq2_0. */
void wfs_dequantize_tq2_0_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / TQ_ELEMS; b++, dst += TQ_ELEMS, block += TQ2_0_BYTES) {
        float d = f16_scale(get_u16(block + TQ2_0_D));

        for (int j = 0; j < TQ_ELEMS / 32; j++) {
            const uint8_t *qs = block + TQ2_0_QS + j / 4 * 32;

            for (int i = 0; i < 32; i++)
                dst[32 * j + i] = (float)((qs[i] >> j % 4 * 2 & 3) - 1) * d;
        }
    }
}
