/* Template of IQ2_XXS, IQ2_XS and IQ2_S for one instruction set; include a lanes_*.h first. */
#include "grid_lanes.h"
#include "grid_values.h"
#include "slots.h"

void VF_NAME(wfs_encode_weighted_iq2_xxs)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    iq_lane_encode(&wfs_iq2_xxs_kind, src, weights, dst, n_elems, 32, 8);
}

void VF_NAME(wfs_encode_weighted_iq2_xs)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    iq_lane_encode(&wfs_iq2_xs_kind, src, weights, dst, n_elems, 16, 8);
}

void VF_NAME(wfs_encode_weighted_iq2_s)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    iq_lane_encode(&wfs_iq2_s_kind, src, weights, dst, n_elems, 16, 8);
}

void VF_NAME(wfs_encode_iq2_s)(const float *src, void *dst, size_t n_elems)
{
    iq_lane_encode(&wfs_iq2_s_kind, src, NULL, dst, n_elems, 16, 8);
}

void VF_NAME(wfs_dequantize_iq2_xxs)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;

    for (size_t b = 0; b < n_elems / IQG_ELEMS; b++, p += IQ2_XXS_BYTES, dst += IQG_ELEMS) {
        float d = half_value(get_u16(p));
        struct iq_levels s;

        for (int j = 0; j < 8; j++) {
            uint32_t rest = iq_signs_scale(p + IQ2_XXS_QS + 8 * j + 4);

            s.scale[2 * j] = s.scale[2 * j + 1] = iq2_worth(d, rest >> 28);
            for (int i = 0; i < 4; i++) {
                iq_spread_8(wfs_iq2_xxs_codes[p[IQ2_XXS_QS + 8 * j + i]], s.level + 32 * j + 8 * i);
                s.signs[4 * j + i] = iq_seven_signs(rest, i);
            }
        }
        iq_put_values(&s, iq2_values, dst);
    }
}

void VF_NAME(wfs_dequantize_iq2_xs)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;

    for (size_t b = 0; b < n_elems / IQG_ELEMS; b++, p += IQ2_XS_BYTES, dst += IQG_ELEMS) {
        float d = half_value(get_u16(p));
        struct iq_levels s;

        for (int j = 0; j < 16; j++)
            s.scale[j] = iq2_worth(d, iq_nibble(p + IQ2_XS_SCALES, j));
        for (int i = 0; i < 32; i++) {
            unsigned q = get_u16(p + IQ2_XS_QS + 2 * i);

            iq_spread_8(wfs_iq2_xs_codes[q & 511], s.level + 8 * i);
            s.signs[i] = iq_even_signs(q >> 9);
        }
        iq_put_values(&s, iq2_values, dst);
    }
}

void VF_NAME(wfs_dequantize_iq2_s)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;

    for (size_t b = 0; b < n_elems / IQG_ELEMS; b++, p += IQ2_S_BYTES, dst += IQG_ELEMS) {
        float d = half_value(get_u16(p));
        struct iq_levels s;

        for (int j = 0; j < 16; j++)
            s.scale[j] = iq2_worth(d, iq_nibble(p + IQ2_S_SCALES, j));
        memcpy(s.signs, p + IQ2_S_SIGNS, sizeof s.signs);
        for (int i = 0; i < 32; i++)
            iq_spread_8(wfs_iq2_s_codes[iq2_s_number(p, i)], s.level + 8 * i);
        iq_put_values(&s, iq2_values, dst);
    }
}
