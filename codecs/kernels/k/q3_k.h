/* What the C and the vector versions of Q3_K share: the scales and the third bits of a block. */
#ifndef WFS_KERNELS_K_Q3_K_H
#define WFS_KERNELS_K_Q3_K_H

#include "k.h"

/* The six-bit scale (0 to 63, for -32 to 31) of sub-block j in the 12 bytes: low nibbles first, then the upper bits. */
static inline void q3_k_put_six_bits(uint8_t *scales, const uint8_t six[Q3_K_SUBS])
{
    for (int j = 0; j < 8; j++)
        scales[j] = (uint8_t)((six[j] & 15) | (six[j + 8] & 15) << 4);
    for (int j = 0; j < 4; j++)
        scales[8 + j] = (uint8_t)(six[j] >> 4 | six[j + 4] >> 4 << 2 | six[j + 8] >> 4 << 4 | six[j + 12] >> 4 << 6);
}

static inline int q3_k_scale(const uint8_t *scales, int j)
{
    int low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4, high = scales[8 + j % 4] >> (j / 4 * 2) & 3;

    return (low | high << 4) - 32;
}

/* Writes the scales from those of the sub-blocks; ret_d[j] is what a level is worth as it was stored. */
static inline void q3_k_put_scales(uint8_t *block, const float scales[Q3_K_SUBS], float ret_d[Q3_K_SUBS])
{
    float amax = 0, max_scale = 0, iscale, d;
    uint8_t six[Q3_K_SUBS];

    for (int j = 0; j < Q3_K_SUBS; j++) {
        if (abs_of(scales[j]) > amax) {
            amax = abs_of(scales[j]);
            max_scale = scales[j];
        }
    }
    if (max_scale == 0) { /* six bits of zeros: the scale is -32 times a zero */
        memset(block + Q3_K_SCALES, 0, 12);
        put_u16(block + Q3_K_D, 0);
        memset(ret_d, 0, Q3_K_SUBS * sizeof *ret_d);
        return;
    }
    iscale = -32.0f / max_scale;
    for (int j = 0; j < Q3_K_SUBS; j++)
        six[j] = (uint8_t)(clamp_int((int8_t)nearest_int(iscale * scales[j]), -32, 31) + 32);
    q3_k_put_six_bits(block + Q3_K_SCALES, six);
    d = k_put_scale(block + Q3_K_D, 1 / iscale);
    for (int j = 0; j < Q3_K_SUBS; j++)
        ret_d[j] = d * (float)(six[j] - 32);
}

/* The same from the search by importance: the block's scale and the sub-blocks' six bits. */
static inline void q3_k_put_found(uint8_t *block, float scale, const uint8_t six[Q3_K_SUBS], float ret_d[Q3_K_SUBS])
{
    float d = k_put_scale(block + Q3_K_D, scale);

    q3_k_put_six_bits(block + Q3_K_SCALES, six);
    for (int j = 0; j < Q3_K_SUBS; j++)
        ret_d[j] = d * (float)(six[j] - 32);
}

/* The levels plus 4 (0 to 7): the third bits, bit j of byte i for level 32 j + i, and the other two. */
static inline void q3_k_put_levels(uint8_t *block, const uint8_t q[Q3_K_ELEMS])
{
    k_put_one_bit(block + Q3_K_HMASK, q, 2);
    k_put_two_bits(block + Q3_K_QS, q);
}

#endif
