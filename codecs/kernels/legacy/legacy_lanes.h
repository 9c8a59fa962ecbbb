/*
 * Template of what the types of this folder have in common for one instruction set; include a lanes_*.h first. Blocks
 * with a NaN are left to plain C; without, the extremes are the same whatever the order, and where two values tie it is
 * seen to that the first one counts.
 */
#ifndef WFS_KERNELS_LEGACY_LEGACY_LANES_H
#define WFS_KERNELS_LEGACY_LEGACY_LANES_H

#include "../block_lanes.h"
#include "legacy.h"

#include <stdbool.h>

/* The first value of the largest magnitude. False: a NaN. */
static inline bool legacy_most_lanes(const float *x, float *ret)
{
    uint32_t amax = lanes_amax(x, LEGACY_ELEMS), at_most = 0, negative = 0;

    if (amax > 0x7f800000u)
        return false;
    for (int i = 0; i < LEGACY_ELEMS; i += LANES) {
        vi bits = vf_bits(vf_load(x + i));

        at_most |= vi_equal(vi_and(bits, vi_set(0x7fffffff)), vi_set((int32_t)amax)) << i;
        negative |= vi_signs(bits) << i;
    }
    /* with nothing but zeros no value was larger than 0: that is +0 */
    *ret = float_of(amax | (amax ? negative >> __builtin_ctz(at_most) << 31 : 0));
    return true;
}

/* The extremes. False: a NaN, or zeros are the smallest, of which the first one's sign counts. */
static inline bool legacy_range_lanes(const float *x, float *ret_min, float *ret_max)
{
    vf lowest = vf_set(FLT_MAX), highest = vf_set(-FLT_MAX);
    vm nan = vm_none();

    for (int i = 0; i < LEGACY_ELEMS; i += LANES) {
        vf v = vf_load(x + i);

        nan = vm_or(nan, vf_nan(v));
        lowest = vf_min(v, lowest);
        highest = vf_max(v, highest);
    }
    *ret_min = vf_reduce_min(lowest);
    *ret_max = vf_reduce_max(highest);
    return !vm_bits(nan) && *ret_min != 0;
}

/* The levels of a block into nibbles: LANES of its first half, LANES of its second. */
static inline void legacy_put_nibbles_lanes(vi low, vi high, uint8_t *qs)
{
    vi_put_bytes(qs, vi_or(low, vi_shl(high, 4)));
}

/* Likewise five bits: at value i of each half. */
static inline void legacy_put_fives_lanes(vi low, vi high, int i, uint8_t *qs, uint32_t *qh)
{
    vi fifteen = vi_set(15);

    legacy_put_nibbles_lanes(vi_and(low, fifteen), vi_and(high, fifteen), qs + i);
    *qh |= vi_signs(vi_shl(low, 27)) << i | vi_signs(vi_shl(high, 27)) << (i + 16);
}

/* trunc(x * inverse + offset) as ggml keeps it, in an int8_t, and none above most. */
static inline vi legacy_level_lanes(vf x, vf inverse, float offset, int most)
{
    return vi_min(vi_low_bytes(vf_trunc(vf_add(vf_mul(x, inverse), vf_set(offset)))), vi_set(most));
}

/* LANES nibbles of each half, the fifth bits (0: none) for lane 0 being qh's bits 0 and 16. */
static inline void legacy_get_levels_lanes(const uint8_t *qs, uint32_t qh, vi *ret_low, vi *ret_high)
{
    vi pair = vi_get_bytes(qs), sixteen = vi_set(16);

    *ret_low = vi_or(vi_and(pair, vi_set(15)), vm_ints(vm_of_bits(qh), sixteen));
    *ret_high = vi_or(vi_shr(pair, 4), vm_ints(vm_of_bits(qh >> 16), sixteen));
}

/* A block of nibbles, and fifth bits, back to scale * (level + offset). */
static inline void legacy_scale_lanes(const uint8_t *qs, uint32_t qh, int offset, float d, float *dst)
{
    for (int i = 0; i < LEGACY_ELEMS / 2; i += LANES) {
        vi low, high;

        legacy_get_levels_lanes(qs + i, qh >> i, &low, &high);
        vf_store(dst + i, vf_mul(vf_of_ints(vi_add(low, vi_set(offset))), vf_set(d)));
        vf_store(dst + i + 16, vf_mul(vf_of_ints(vi_add(high, vi_set(offset))), vf_set(d)));
    }
}

/*
 * Back to scale * level + min. False: left to plain C. (Of two NaNs the product's is to be taken, and compilers turn
 * sums around.)
 */
static inline bool legacy_scale_min_lanes(const uint8_t *qs, uint32_t qh, float d, float min, float *dst)
{
    if (min != min)
        return false;
    for (int i = 0; i < LEGACY_ELEMS / 2; i += LANES) {
        vi low, high;

        legacy_get_levels_lanes(qs + i, qh >> i, &low, &high);
        vf_store(dst + i, vf_add(vf_mul(vf_of_ints(low), vf_set(d)), vf_set(min)));
        vf_store(dst + i + 16, vf_add(vf_mul(vf_of_ints(high), vf_set(d)), vf_set(min)));
    }
    return true;
}

#endif
