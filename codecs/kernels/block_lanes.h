/* What the vector encoders of several families share; a template over lanes_*.h, which is included first. */
#ifndef WFS_KERNELS_BLOCK_LANES_H
#define WFS_KERNELS_BLOCK_LANES_H

#include "bits.h"

/*
 * The largest magnitude of n (a multiple of LANES) values, as bits: above infinity's for a NaN. Without a NaN it is the
 * same whatever the order.
 */
static inline uint32_t lanes_amax(const float *x, int n)
{
    vi largest = vi_set(0);

    for (int i = 0; i < n; i += LANES) /* magnitudes order like their bits; NaNs come after infinity */
        largest = vi_max_u(largest, vf_bits(vf_abs(vf_load(x + i))));
    return vi_reduce_max_u(largest);
}

/*
 * To the nearest integer, halves away from zero, for magnitudes below 2^22: adds the float below a half towards the
 * sign, then cuts. What is no such number gives what vf_trunc gives.
 */
static inline vi lanes_round_away(vf v)
{
    vi sign = vi_set(INT32_MIN), half = vf_bits(vf_set(0x1.fffffep-2f));

    return vf_trunc(vf_add(v, vi_floats(vi_or(half, vi_and(vf_bits(v), sign)))));
}

#endif
