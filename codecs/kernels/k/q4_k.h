/* What the C and the vector versions of Q4_K and Q5_K share: the scales of a block. */
#ifndef WFS_KERNELS_K_Q4_K_H
#define WFS_KERNELS_K_Q4_K_H

#include "k.h"

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

static inline void q4_k_get_scale_min(const uint8_t *scales, int j, uint8_t *ret_scale, uint8_t *ret_min)
{
    if (j < 4) {
        *ret_scale = scales[j] & 63;
        *ret_min = scales[j + 4] & 63;
    } else {
        *ret_scale = (uint8_t)((scales[j + 4] & 15) | scales[j - 4] >> 6 << 4);
        *ret_min = (uint8_t)(scales[j + 4] >> 4 | scales[j] >> 6 << 4);
    }
}

static inline uint8_t q4_k_six_bits(float v)
{
    uint8_t q = (uint8_t)nearest_int(v); /* a negative one becomes large, as in ggml */

    return q < 63 ? q : 63;
}

/*
 * Writes the block's scales and mins, and gives back what was stored: ret_d[j] and ret_min[j] are what a level is worth
 * and what is added before.
 */
static inline void q4_k_put_found(uint8_t *block, float scale, float min, const uint8_t scales[Q4_K_SUBS],
                                  const uint8_t mins[Q4_K_SUBS], float ret_d[Q4_K_SUBS], float ret_min[Q4_K_SUBS])
{
    float d = k_put_scale(block, scale), dmin = k_put_scale(block + Q4_K_DMIN, min);

    for (int j = 0; j < Q4_K_SUBS; j++)
        q4_k_put_scale_min(block + Q4_K_SCALES, j, scales[j], mins[j]);
    for (int j = 0; j < Q4_K_SUBS; j++) {
        uint8_t s, m;

        q4_k_get_scale_min(block + Q4_K_SCALES, j, &s, &m);
        ret_d[j] = d * (float)s;
        ret_min[j] = dmin * (float)m;
    }
}

/* The same from the sub-blocks' scales and (negated) mins. */
static inline void q4_k_put_scales(uint8_t *block, const float scales[Q4_K_SUBS], const float mins[Q4_K_SUBS],
                                   float ret_d[Q4_K_SUBS], float ret_min[Q4_K_SUBS])
{
    float max_scale = 0, max_min = 0, inv_scale, inv_min;
    uint8_t six[Q4_K_SUBS], six_min[Q4_K_SUBS];

    for (int j = 0; j < Q4_K_SUBS; j++) {
        max_scale = scales[j] > max_scale ? scales[j] : max_scale;
        max_min = mins[j] > max_min ? mins[j] : max_min;
    }
    inv_scale = max_scale > 0 ? 63.0f / max_scale : 0;
    inv_min = max_min > 0 ? 63.0f / max_min : 0;
    for (int j = 0; j < Q4_K_SUBS; j++) {
        six[j] = q4_k_six_bits(inv_scale * scales[j]);
        six_min[j] = q4_k_six_bits(inv_min * mins[j]);
    }
    q4_k_put_found(block, max_scale / 63.0f, max_min / 63.0f, six, six_min, ret_d, ret_min);
}

/* The low nibbles of the levels: pairs of sub-blocks share bytes. */
static inline void q4_k_put_nibbles(uint8_t *qs, const uint8_t q[Q4_K_ELEMS])
{
    for (int i = 0; i < Q4_K_ELEMS / 2; i += 8) {
        const uint8_t *l = q + i / 32 * 64 + i % 32;
        uint64_t eight = k_eight(l, 15) | k_eight(l + 32, 15) << 4;

        memcpy(qs + i, &eight, sizeof eight);
    }
}

#endif
