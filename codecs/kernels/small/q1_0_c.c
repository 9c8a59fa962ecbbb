#include "../bits.h"
#include "../blocks.h"
#include "slots.h"

/* Source: quantize_row_q1_0_ref of ggml-quants.c. */
void wfs_encode_q1_0_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q1_0_ELEMS; b++, src += Q1_0_ELEMS, block += Q1_0_BYTES) {
        float sum = 0;

        for (int i = 0; i < Q1_0_ELEMS; i++)
            sum += abs_of(src[i]);
        put_u16(block, f16_scale_of(sum / (float)Q1_0_ELEMS));
        memset(block + Q1_0_QS, 0, Q1_0_ELEMS / 8);
        for (int i = 0; i < Q1_0_ELEMS; i++)
            block[Q1_0_QS + i / 8] |= (uint8_t)((src[i] >= 0) << i % 8);
    }
}

/* Source: dequantize_row_q1_0. */
void wfs_dequantize_q1_0_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q1_0_ELEMS; b++, dst += Q1_0_ELEMS, block += Q1_0_BYTES) {
        float d = f16_scale(get_u16(block));

        for (int i = 0; i < Q1_0_ELEMS; i++)
            dst[i] = block[Q1_0_QS + i / 8] >> i % 8 & 1 ? d : -d;
    }
}
