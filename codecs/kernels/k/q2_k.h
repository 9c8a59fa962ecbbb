/* What the C and the vector versions of Q2_K share: the scales of a block. */
#ifndef WFS_KERNELS_K_Q2_K_H
#define WFS_KERNELS_K_Q2_K_H

#include "k.h"

/*
 * What a level of sub-block j is worth and what is taken off it, from the scales of the block and the sub-block's byte.
 */
static inline void q2_k_worth(const uint8_t *block, float d, float dmin, int j, float *ret_d, float *ret_min)
{
    *ret_d = d * (float)(block[Q2_K_SCALES + j] & 15);
    *ret_min = dmin * (float)(block[Q2_K_SCALES + j] >> 4);
}

/* Writes the scales from those and the (negated) mins of the sub-blocks; gives them back as they were stored. */
static inline void q2_k_put_scales(uint8_t *block, const float scales[Q2_K_SUBS], const float mins[Q2_K_SUBS],
                                   float ret_d[Q2_K_SUBS], float ret_min[Q2_K_SUBS])
{
    float max_scale = 0, max_min = 0, inv_scale, inv_min, d, dmin;

    for (int j = 0; j < Q2_K_SUBS; j++) {
        max_scale = scales[j] > max_scale ? scales[j] : max_scale;
        max_min = mins[j] > max_min ? mins[j] : max_min;
    }
    inv_scale = max_scale > 0 ? 15.0f / max_scale : 0;
    inv_min = max_min > 0 ? 15.0f / max_min : 0;
    d = k_put_scale(block + Q2_K_D, max_scale / 15.0f);
    dmin = k_put_scale(block + Q2_K_DMIN, max_min / 15.0f);
    for (int j = 0; j < Q2_K_SUBS; j++) {
        int32_t scale = max_scale > 0 ? nearest_int(inv_scale * scales[j]) : 0;
        int32_t min = max_min > 0 ? nearest_int(inv_min * mins[j]) : 0;

        block[Q2_K_SCALES + j] = (uint8_t)((uint32_t)scale | (uint32_t)min << 4);
        q2_k_worth(block, d, dmin, j, &ret_d[j], &ret_min[j]);
    }
}

/* The same from the search by importance: the block's scales, and the sub-blocks' levels of them. */
static inline void q2_k_put_found(uint8_t *block, float scale, float min, const uint8_t scales[Q2_K_SUBS],
                                  const uint8_t mins[Q2_K_SUBS], float ret_d[Q2_K_SUBS], float ret_min[Q2_K_SUBS])
{
    float d = k_put_scale(block + Q2_K_D, scale), dmin = k_put_scale(block + Q2_K_DMIN, min);

    for (int j = 0; j < Q2_K_SUBS; j++) {
        block[Q2_K_SCALES + j] = (uint8_t)(scales[j] | mins[j] << 4);
        q2_k_worth(block, d, dmin, j, &ret_d[j], &ret_min[j]);
    }
}

#endif
