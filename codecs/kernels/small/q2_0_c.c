#include "../blocks.h"
#include "../values.h"
#include "slots.h"

/* Source: quantize_row_q2_0_ref of ggml-quants.c. (As the scale is the largest magnitude, level 3 is never used.) */
void wfs_encode_q2_0_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q2_0_ELEMS; b++, src += Q2_0_ELEMS, block += Q2_0_BYTES) {
        float amax = amax_of_numbers(src, Q2_0_ELEMS), inverse = amax > 0 ? 1.0f / amax : 0;

        put_u16(block, f16_scale_of(amax));
        memset(block + Q2_0_QS, 0, Q2_0_ELEMS / 4);
        for (int i = 0; i < Q2_0_ELEMS; i++) {
            int32_t q = clamp_int(round_int(src[i] * inverse) + 1, 0, 3);

            block[Q2_0_QS + i / 4] |= (uint8_t)(q << i % 4 * 2);
        }
    }
}

/* Source: dequantize_row_q2_0. */
void wfs_dequantize_q2_0_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q2_0_ELEMS; b++, dst += Q2_0_ELEMS, block += Q2_0_BYTES) {
        float d = f16_scale(get_u16(block));

        for (int i = 0; i < Q2_0_ELEMS; i += 4) {
            unsigned four = block[Q2_0_QS + i / 4];

            for (int j = 0; j < 4; j++)
                dst[i + j] = (float)((int)(four >> 2 * j & 3) - 1) * d;
        }
    }
}
