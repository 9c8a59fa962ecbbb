/* Template of Q4_0 and Q4_1 for one instruction set; include a lanes_*.h first. */
#include "legacy_lanes.h"
#include "slots.h"

void VF_NAME(wfs_encode_q4_0)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q4_ELEMS; b++, src += Q4_ELEMS, block += Q4_0_BYTES) {
        float most, d;
        vf inverse;

        if (!legacy_most_lanes(src, &most)) {
            wfs_encode_q4_0_c(src, block, Q4_ELEMS);
            continue;
        }
        d = most / -8.0f;
        inverse = vf_set(legacy_inverse(d));
        put_u16(block, half_bits(d));
        for (int i = 0; i < Q4_ELEMS / 2; i += LANES)
            legacy_put_nibbles_lanes(legacy_level_lanes(vf_load(src + i), inverse, 8.5f, 15),
                                     legacy_level_lanes(vf_load(src + i + 16), inverse, 8.5f, 15),
                                     block + Q4_0_QS + i);
    }
}

void VF_NAME(wfs_encode_q4_1)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q4_ELEMS; b++, src += Q4_ELEMS, block += Q4_1_BYTES) {
        float min, max, d;
        vf inverse;

        if (!legacy_range_lanes(src, &min, &max)) {
            wfs_encode_q4_1_c(src, block, Q4_ELEMS);
            continue;
        }
        d = (max - min) / 15.0f;
        inverse = vf_set(legacy_inverse(d));
        put_u16(block, half_bits(d));
        put_u16(block + Q4_1_M, half_bits(min));
        for (int i = 0; i < Q4_ELEMS / 2; i += LANES) {
            vf low = vf_sub(vf_load(src + i), vf_set(min)), high = vf_sub(vf_load(src + i + 16), vf_set(min));

            legacy_put_nibbles_lanes(legacy_level_lanes(low, inverse, 0.5f, 15),
                                     legacy_level_lanes(high, inverse, 0.5f, 15), block + Q4_1_QS + i);
        }
    }
}

void VF_NAME(wfs_dequantize_q4_0)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q4_ELEMS; b++, dst += Q4_ELEMS, block += Q4_0_BYTES)
        legacy_scale_lanes(block + Q4_0_QS, 0, -8, half_value(get_u16(block)), dst);
}

void VF_NAME(wfs_dequantize_q4_1)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q4_ELEMS; b++, dst += Q4_ELEMS, block += Q4_1_BYTES) {
        if (!legacy_scale_min_lanes(block + Q4_1_QS, 0, half_value(get_u16(block)),
                                    half_value(get_u16(block + Q4_1_M)), dst))
            wfs_dequantize_q4_1_c(block, dst, Q4_ELEMS);
    }
}
