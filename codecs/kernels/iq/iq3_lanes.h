/* Template of IQ3_XXS and IQ3_S for one instruction set; include a lanes_*.h first. */
#include "grid_lanes.h"
#include "grid_values.h"
#include "slots.h"

void VF_NAME(wfs_encode_weighted_iq3_xxs)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    iq_lane_encode(&wfs_iq3_xxs_kind, src, weights, dst, n_elems, 32, 4);
}

void VF_NAME(wfs_encode_iq3_xxs)(const float *src, void *dst, size_t n_elems)
{
    iq_lane_encode(&wfs_iq3_xxs_kind, src, NULL, dst, n_elems, 32, 4);
}

void VF_NAME(wfs_encode_weighted_iq3_s)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    iq_lane_encode(&wfs_iq3_s_kind, src, weights, dst, n_elems, 32, 4);
}

void VF_NAME(wfs_encode_iq3_s)(const float *src, void *dst, size_t n_elems)
{
    iq_lane_encode(&wfs_iq3_s_kind, src, NULL, dst, n_elems, 32, 4);
}

void VF_NAME(wfs_dequantize_iq3_xxs)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;

    for (size_t b = 0; b < n_elems / IQG_ELEMS; b++, p += IQ3_XXS_BYTES, dst += IQG_ELEMS) {
        float d = half_value(get_u16(p));
        struct iq_levels s;

        for (int j = 0; j < 8; j++) {
            uint32_t rest = iq_signs_scale(p + IQ3_XXS_SIGNS + 4 * j);

            s.scale[2 * j] = s.scale[2 * j + 1] = d * (0.5f + (float)(rest >> 28)) * 0.5f;
            for (int i = 4 * j; i < 4 * j + 4; i++) {
                iq_spread_4(wfs_iq3_xxs_codes[p[IQ3_XXS_QS + 2 * i]], wfs_iq3_xxs_codes[p[IQ3_XXS_QS + 2 * i + 1]],
                            s.level + 8 * i);
                s.signs[i] = iq_seven_signs(rest, i % 4);
            }
        }
        iq_put_values(&s, iq3_xxs_values, dst);
    }
}

void VF_NAME(wfs_dequantize_iq3_s)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;

    for (size_t b = 0; b < n_elems / IQG_ELEMS; b++, p += IQ3_S_BYTES, dst += IQG_ELEMS) {
        float d = half_value(get_u16(p));
        struct iq_levels s;

        for (int j = 0; j < 8; j++)
            s.scale[2 * j] = s.scale[2 * j + 1] = d * (float)(1 + 2 * iq_nibble(p + IQ3_S_SCALES, j));
        memcpy(s.signs, p + IQ3_S_SIGNS, sizeof s.signs);
        for (int i = 0; i < 32; i++)
            iq_spread_4(wfs_iq3_s_codes[iq3_s_number(p, 2 * i)], wfs_iq3_s_codes[iq3_s_number(p, 2 * i + 1)],
                        s.level + 8 * i);
        iq_put_values(&s, iq3_s_values, dst);
    }
}
