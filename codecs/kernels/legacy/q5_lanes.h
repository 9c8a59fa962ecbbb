/* Template of Q5_0 and Q5_1 for one instruction set; include a lanes_*.h first. */
#include "legacy_lanes.h"
#include "slots.h"

void VF_NAME(wfs_encode_q5_0)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q5_ELEMS; b++, src += Q5_ELEMS, block += Q5_0_BYTES) {
        float most, d;
        uint32_t qh = 0;
        vf inverse;

        if (!legacy_most_lanes(src, &most)) {
            wfs_encode_q5_0_c(src, block, Q5_ELEMS);
            continue;
        }
        d = most / -16.0f;
        inverse = vf_set(legacy_inverse(d));
        put_u16(block, half_bits(d));
        for (int i = 0; i < Q5_ELEMS / 2; i += LANES)
            legacy_put_fives_lanes(legacy_level_lanes(vf_load(src + i), inverse, 16.5f, 31),
                                   legacy_level_lanes(vf_load(src + i + 16), inverse, 16.5f, 31), i,
                                   block + Q5_0_QS, &qh);
        memcpy(block + Q5_0_QH, &qh, sizeof qh);
    }
}

void VF_NAME(wfs_encode_q5_1)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q5_ELEMS; b++, src += Q5_ELEMS, block += Q5_1_BYTES) {
        float min, max, d;
        uint32_t qh = 0;
        vf inverse;

        if (!legacy_range_lanes(src, &min, &max)) {
            wfs_encode_q5_1_c(src, block, Q5_ELEMS);
            continue;
        }
        d = (max - min) / 31.0f;
        inverse = vf_set(legacy_inverse(d));
        put_u16(block, half_bits(d));
        put_u16(block + Q5_1_M, half_bits(min));
        for (int i = 0; i < Q5_ELEMS / 2; i += LANES) {
            vf low = vf_mul(vf_sub(vf_load(src + i), vf_set(min)), inverse);
            vf high = vf_mul(vf_sub(vf_load(src + i + 16), vf_set(min)), inverse);

            legacy_put_fives_lanes(vf_trunc(vf_add(low, vf_set(0.5f))), vf_trunc(vf_add(high, vf_set(0.5f))), i,
                                   block + Q5_1_QS, &qh);
        }
        memcpy(block + Q5_1_QH, &qh, sizeof qh);
    }
}

void VF_NAME(wfs_dequantize_q5_0)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q5_ELEMS; b++, dst += Q5_ELEMS, block += Q5_0_BYTES) {
        uint32_t qh;

        memcpy(&qh, block + Q5_0_QH, sizeof qh);
        legacy_scale_lanes(block + Q5_0_QS, qh, -16, half_value(get_u16(block)), dst);
    }
}

void VF_NAME(wfs_dequantize_q5_1)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q5_ELEMS; b++, dst += Q5_ELEMS, block += Q5_1_BYTES) {
        uint32_t qh;

        memcpy(&qh, block + Q5_1_QH, sizeof qh);
        if (!legacy_scale_min_lanes(block + Q5_1_QS, qh, half_value(get_u16(block)),
                                    half_value(get_u16(block + Q5_1_M)), dst))
            wfs_dequantize_q5_1_c(block, dst, Q5_ELEMS);
    }
}
