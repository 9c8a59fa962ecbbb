#include "legacy.h"
#include "slots.h"

/* Source: quantize_row_q4_0_ref of ggml-quants.c. */
void wfs_encode_q4_0_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst, q[Q4_ELEMS];

    for (size_t b = 0; b < n_elems / Q4_ELEMS; b++, src += Q4_ELEMS, block += Q4_0_BYTES) {
        float d = most_of(src, LEGACY_ELEMS) / -8.0f, inverse = legacy_inverse(d);

        put_u16(block, f16_scale_of(d));
        for (int i = 0; i < Q4_ELEMS; i++) {
            /* ggml's cast to int8_t keeps the low byte */
            int8_t v = (int8_t)(uint8_t)trunc_int(src[i] * inverse + 8.5f);

            q[i] = (uint8_t)(v < 15 ? v : 15);
        }
        legacy_put_nibbles(q, block + Q4_0_QS);
    }
}

/* Source: quantize_row_q4_1_ref of ggml-quants.c. */
void wfs_encode_q4_1_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst, q[Q4_ELEMS];

    for (size_t b = 0; b < n_elems / Q4_ELEMS; b++, src += Q4_ELEMS, block += Q4_1_BYTES) {
        float min, max, d, inverse;

        legacy_range(src, &min, &max);
        d = (max - min) / 15.0f;
        inverse = legacy_inverse(d);
        put_u16(block, f16_scale_of(d));
        put_u16(block + Q4_1_M, f16_scale_of(min));
        for (int i = 0; i < Q4_ELEMS; i++) {
            int8_t v = (int8_t)(uint8_t)trunc_int((src[i] - min) * inverse + 0.5f);

            q[i] = (uint8_t)(v < 15 ? v : 15);
        }
        legacy_put_nibbles(q, block + Q4_1_QS);
    }
}

/* Source: dequantize_row_q4_0. */
void wfs_dequantize_q4_0_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;
    uint8_t q[Q4_ELEMS];

    for (size_t b = 0; b < n_elems / Q4_ELEMS; b++, dst += Q4_ELEMS, block += Q4_0_BYTES) {
        legacy_get_nibbles(block + Q4_0_QS, q);
        legacy_scale(q, -8, f16_scale(get_u16(block)), dst);
    }
}

/* Source: dequantize_row_q4_1. */
void wfs_dequantize_q4_1_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;
    uint8_t q[Q4_ELEMS];

    for (size_t b = 0; b < n_elems / Q4_ELEMS; b++, dst += Q4_ELEMS, block += Q4_1_BYTES) {
        legacy_get_nibbles(block + Q4_1_QS, q);
        legacy_scale_min(q, f16_scale(get_u16(block)), f16_scale(get_u16(block + Q4_1_M)), dst);
    }
}
