#include "legacy.h"
#include "slots.h"

/* Source: quantize_row_q8_0_ref of ggml-quants.c. */
void wfs_encode_q8_0_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q8_0_ELEMS; b++, src += Q8_0_ELEMS, block += Q8_0_BYTES) {
        float d = amax_of(src, Q8_0_ELEMS) / 127.0f, inverse = legacy_inverse(d);

        put_u16(block, f16_scale_of(d));
        for (int i = 0; i < Q8_0_ELEMS; i++)
            block[Q8_0_QS + i] = (uint8_t)round_int(src[i] * inverse);
    }
}

/* Source: dequantize_row_q8_0. */
void wfs_dequantize_q8_0_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q8_0_ELEMS; b++, dst += Q8_0_ELEMS, block += Q8_0_BYTES) {
        float d = f16_scale(get_u16(block));

        for (int i = 0; i < Q8_0_ELEMS; i++)
            dst[i] = (float)(int8_t)block[Q8_0_QS + i] * d;
    }
}
