/* What the C and the vector versions of Q6_K share: everything after the search, per superblock. */
#ifndef WFS_KERNELS_Q6_K_H
#define WFS_KERNELS_Q6_K_H

#include "k.h"

#include <stdbool.h>

/*
 * Writes the block's scales from those of the sub-blocks; ret_d[j] is what a level is worth as it was stored. False:
 * the whole block counts as zero (and is written so).
 */
static inline bool q6_k_put_scales(uint8_t *block, const float scales[Q6_K_SUBS], float ret_d[Q6_K_SUBS])
{
    float max_abs = 0, max_scale = 0, iscale, d;

    for (int j = 0; j < Q6_K_SUBS; j++) {
        if (abs_of(scales[j]) > max_abs) {
            max_abs = abs_of(scales[j]);
            max_scale = scales[j];
        }
    }
    if (max_abs < K_TINY) {
        memset(block, 0, Q6_K_BYTES);
        return false;
    }
    iscale = -128.0f / max_scale;
    d = k_put_scale(block + Q6_K_D, 1 / iscale);
    for (int j = 0; j < Q6_K_SUBS; j++) {
        int32_t scale = nearest_int(iscale * scales[j]);

        block[Q6_K_SCALES + j] = (uint8_t)(scale < 127 ? scale : 127);
        ret_d[j] = d * (float)(int8_t)block[Q6_K_SCALES + j];
    }
    return true;
}

/* Per 128 values, of four runs of 32: nibbles of runs 0 and 2, then of 1 and 3; the upper two bits of all four. */
static inline void q6_k_put_levels(uint8_t *block, const uint8_t q[Q6_K_ELEMS])
{
    for (int half = 0; half < 2; half++) {
        const uint8_t *h = q + 128 * half;
        uint8_t *low = block + 64 * half, *high = block + Q6_K_QH + 32 * half;

        for (int i = 0; i < 32; i++) {
            low[i] = (uint8_t)((h[i] & 0x0f) | (h[i + 64] & 0x0f) << 4);
            low[i + 32] = (uint8_t)((h[i + 32] & 0x0f) | (h[i + 96] & 0x0f) << 4);
            high[i] = (uint8_t)(h[i] >> 4 | h[i + 32] >> 4 << 2 | h[i + 64] >> 4 << 4 | h[i + 96] >> 4 << 6);
        }
    }
}

#endif
