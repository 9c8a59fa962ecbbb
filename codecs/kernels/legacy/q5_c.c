#include "../bits.h"
#include "../blocks.h"
#include "slots.h"

#include <float.h>

static void pack(const uint8_t q[Q5_ELEMS], uint8_t *qh, uint8_t *qs)
{
    uint32_t high = 0;

    for (int i = 0; i < Q5_ELEMS / 2; i++) {
        qs[i] = (uint8_t)((q[i] & 0x0f) | (q[i + 16] & 0x0f) << 4);
        high |= (uint32_t)(q[i] >> 4 & 1) << i | (uint32_t)(q[i + 16] >> 4 & 1) << (i + 16);
    }
    memcpy(qh, &high, sizeof high);
}

/* Source: quantize_row_q5_0_ref of ggml-quants.c. */
void wfs_encode_q5_0_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q5_ELEMS; b++, src += Q5_ELEMS, block += Q5_0_BYTES) {
        float amax = 0, max = 0, d, inverse;
        uint8_t q[Q5_ELEMS];

        for (int i = 0; i < Q5_ELEMS; i++) {
            if (amax < abs_of(src[i])) {
                amax = abs_of(src[i]);
                max = src[i];
            }
        }
        d = max / -16.0f;
        inverse = d != 0 ? 1.0f / d : 0;
        put_u16(block, f16_of(d));
        for (int i = 0; i < Q5_ELEMS; i++) {
            /* ggml's cast to int8_t keeps the low byte */
            int8_t v = (int8_t)(uint8_t)trunc_int(src[i] * inverse + 16.5f);

            q[i] = (uint8_t)(v < 31 ? v : 31);
        }
        pack(q, block + Q5_0_QH, block + Q5_0_QS);
    }
}

/* Source: quantize_row_q5_1_ref of ggml-quants.c. */
void wfs_encode_q5_1_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q5_ELEMS; b++, src += Q5_ELEMS, block += Q5_1_BYTES) {
        float min = FLT_MAX, max = -FLT_MAX, d, inverse;
        uint8_t q[Q5_ELEMS];

        for (int i = 0; i < Q5_ELEMS; i++) {
            if (src[i] < min)
                min = src[i];
            if (src[i] > max)
                max = src[i];
        }
        d = (max - min) / 31.0f;
        inverse = d != 0 ? 1.0f / d : 0;
        put_u16(block, f16_of(d));
        put_u16(block + Q5_1_M, f16_of(min));
        for (int i = 0; i < Q5_ELEMS; i++)
            q[i] = (uint8_t)trunc_int((src[i] - min) * inverse + 0.5f);
        pack(q, block + Q5_1_QH, block + Q5_1_QS);
    }
}
