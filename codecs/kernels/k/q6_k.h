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
    float max_scale = most_of(scales, Q6_K_SUBS), iscale, d;

    if (abs_of(max_scale) < K_TINY) {
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
    for (int i = 0; i < Q6_K_ELEMS / 4; i += 8) {
        const uint8_t *l = q + i / 32 * 128 + i % 32;
        uint8_t *low = block + i / 32 * 64 + i % 32;
        uint64_t low0 = k_eight(l, 15) | k_eight(l + 64, 15) << 4;
        uint64_t low1 = k_eight(l + 32, 15) | k_eight(l + 96, 15) << 4;
        uint64_t high = k_eight(l, 48) >> 4 | k_eight(l + 32, 48) >> 2 | k_eight(l + 64, 48) | k_eight(l + 96, 48) << 2;

        memcpy(low, &low0, sizeof low0);
        memcpy(low + 32, &low1, sizeof low1);
        memcpy(block + Q6_K_QH + i, &high, sizeof high);
    }
}

#endif
