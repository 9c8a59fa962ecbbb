/* What the C and the vector versions of Q4_K share: everything after the search, per superblock. */
#ifndef WFS_KERNELS_Q4_K_H
#define WFS_KERNELS_Q4_K_H

#include "../bits.h"
#include "../blocks.h"

/* Sub-block j's 6-bit scale and min into the 12 bytes: 0-3 in the low bits of bytes j and j + 4, the rest spread. */
static inline void q4_k_put_scale_min(uint8_t *scales, int j, uint8_t scale, uint8_t min)
{
    if (j < 4) {
        scales[j] = scale;
        scales[j + 4] = min;
    } else {
        scales[j + 4] = (uint8_t)((scale & 0x0f) | (min & 0x0f) << 4);
        scales[j - 4] |= (uint8_t)(scale >> 4 << 6);
        scales[j] |= (uint8_t)(min >> 4 << 6);
    }
}

static inline uint8_t q4_k_six_bits(float v)
{
    uint8_t q = (uint8_t)nearest_int(v); /* a negative one becomes large, as in ggml */

    return q < 63 ? q : 63;
}

/*
 * Writes all of the block but the levels from the sub-blocks' scales and (negated) mins, and gives them back as they
 * were stored: ret_d[j] and ret_min[j] are what a level is worth and what is added before.
 */
static inline void q4_k_put_scales(uint8_t *block, const float scales[Q4_K_SUBS], const float mins[Q4_K_SUBS],
                                   float ret_d[Q4_K_SUBS], float ret_min[Q4_K_SUBS])
{
    float max_scale = 0, max_min = 0, inv_scale, inv_min, d, dmin;

    for (int j = 0; j < Q4_K_SUBS; j++) {
        max_scale = scales[j] > max_scale ? scales[j] : max_scale;
        max_min = mins[j] > max_min ? mins[j] : max_min;
    }
    inv_scale = max_scale > 0 ? 63.0f / max_scale : 0;
    inv_min = max_min > 0 ? 63.0f / max_min : 0;
    put_u16(block, f16_of(max_scale / 63.0f));
    put_u16(block + Q4_K_DMIN, f16_of(max_min / 63.0f));
    d = float_of(f16_widen(get_u16(block)));
    dmin = float_of(f16_widen(get_u16(block + Q4_K_DMIN)));
    for (int j = 0; j < Q4_K_SUBS; j++) {
        uint8_t scale = q4_k_six_bits(inv_scale * scales[j]), min = q4_k_six_bits(inv_min * mins[j]);

        q4_k_put_scale_min(block + Q4_K_SCALES, j, scale, min);
        ret_d[j] = d * (float)scale;
        ret_min[j] = dmin * (float)min;
    }
}

#endif
