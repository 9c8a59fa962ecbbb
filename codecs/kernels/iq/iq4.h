/*
 * IQ4_NL and IQ4_XS: sixteen levels that are not evenly spaced. Source of levels and order of operations:
 * quantize_row_iq4_nl_impl and best_index_int8 of ggml-quants.c, kvalues_iq4nl of ggml-common.h (llama.cpp, MIT).
 */
#ifndef WFS_KERNELS_IQ_IQ4_H
#define WFS_KERNELS_IQ_IQ4_H

#include "../blocks.h"
#include "../values.h"

#define IQ4_TINY 1e-15f /* ggml's GROUP_MAX_EPS: anything smaller counts as zero */

enum { IQ4_TRIES = 7 }; /* slopes to each side of the one that gives the largest value level 0 */

static const float iq4_values[16] = { -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 };

/*
 * Where level i begins: half way from level i - 1 (a tie goes up). ggml compares the two distances; around the middle
 * both are exact, and away from it rounding keeps their order, so that comparing with the middle gives the same.
 */
static const float iq4_begins[16] = {
    0, -115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f, 7, 19, 31.5f, 45.5f, 61, 79, 101,
};

/* The nearest level; of a NaN 15. */
static inline int iq4_level_of(float v)
{
    int l = v < iq4_begins[8] ? 0 : 8;

    l += v < iq4_begins[l + 4] ? 0 : 4;
    l += v < iq4_begins[l + 2] ? 0 : 2;
    return l + (v < iq4_begins[l + 1] ? 0 : 1);
}

/* Twice the mean square of n values. */
static inline float iq4_spread(const float *x, int n)
{
    return sum_of_squares(x, (size_t)n) * (2.0f / (float)n);
}

/* The scale of a superblock, and what a sub-block's is in units of it: -32 to 31. */
static inline float iq4_super_scale(const float scales[IQ4_XS_SUBS])
{
    return -most_of(scales, IQ4_XS_SUBS) / 32;
}

/*
 * Stores the scales of a superblock's sub-blocks; gives the slopes that turn their values into levels.
 */
static inline void iq4_put_scales(uint8_t *block, const float scales[IQ4_XS_SUBS], float ret_slopes[IQ4_XS_SUBS])
{
    float d = iq4_super_scale(scales), id = d != 0 ? 1 / d : 0; /* a NaN is not zero */
    unsigned high = 0;

    put_u16(block, f16_scale_of(d));
    for (int j = 0; j < IQ4_XS_SUBS; j++) {
        int32_t l = clamp_int(nearest_int(id * scales[j]), -32, 31);
        float dl = d * (float)l;
        unsigned six = (unsigned)(l + 32);

        ret_slopes[j] = dl != 0 ? 1 / dl : 0;
        block[IQ4_XS_SCALES_L + j / 2] = (uint8_t)(j % 2 ? block[IQ4_XS_SCALES_L + j / 2] | (six & 15) << 4 : six & 15);
        high |= six >> 4 << 2 * j;
    }
    put_u16(block + IQ4_XS_SCALES_H, (uint16_t)high);
}

/* What sub-block j's levels are to be multiplied with. */
static inline float iq4_get_scale(const uint8_t *block, int j)
{
    unsigned low = block[IQ4_XS_SCALES_L + j / 2] >> 4 * (j % 2) & 15;
    unsigned high = (unsigned)get_u16(block + IQ4_XS_SCALES_H) >> 2 * j & 3;

    return f16_scale(get_u16(block)) * (float)((int)(low | high << 4) - 32);
}

#endif
