/*
 * Template of what follows Q3_K's search without importance, for one instruction set; include a lanes_*.h first: the
 * scales as they are stored, a block per lane, and the last levels, packed as they come.
 */
#ifndef WFS_KERNELS_K_Q3_K_LEVELS_LANES_H
#define WFS_KERNELS_K_Q3_K_LEVELS_LANES_H

#include "q3_k.h"
#include "refine_lanes.h"

/* What is stored of a batch beside the levels, and what gives these. */
struct q3_k_scales {
    uint32_t odd;                            /* bit b: block b is left to plain C */
    uint32_t exact;                          /* bit b: its inverses are no use */
    float inverse[Q3_K_SUBS][REFINE_BLOCKS]; /* 1 / what a level of the sub-block is worth */
    uint32_t six_bits[3][REFINE_BLOCKS];     /* the 12 bytes of the block's scales */
    uint16_t d[REFINE_BLOCKS];
};

/* The six-bit scales to their bytes, as q3_k_put_six_bits does it. */
static inline void q3_k_pack_scale_lanes(const vi six[Q3_K_SUBS], struct q3_k_scales *ret, int b)
{
    vi first = vi_set(0), second = first, high = first, fifteen = vi_set(15);

    for (int k = 3; k >= 0; k--) { /* byte k of each */
        vi high01 = vi_or(vi_shr(six[k], 4), vi_shl(vi_shr(six[k + 4], 4), 2));
        vi high23 = vi_or(vi_shr(six[k + 8], 4), vi_shl(vi_shr(six[k + 12], 4), 2));
        vi low02 = vi_or(vi_and(six[k], fifteen), vi_shl(vi_and(six[k + 8], fifteen), 4));
        vi low13 = vi_or(vi_and(six[k + 4], fifteen), vi_shl(vi_and(six[k + 12], fifteen), 4));

        first = vi_or(vi_shl(first, 8), low02);
        second = vi_or(vi_shl(second, 8), low13);
        high = vi_or(vi_shl(high, 8), vi_or(high01, vi_shl(high23, 4)));
    }
    vi_store(ret->six_bits[0] + b, first);
    vi_store(ret->six_bits[1] + b, second);
    vi_store(ret->six_bits[2] + b, high);
}

/* The scales of LANES blocks from number b on, from those of their sub-blocks, as q3_k_put_scales does it. */
static inline void q3_k_scale_lanes(const float *scales, struct q3_k_scales *ret, int b)
{
    vf s[Q3_K_SUBS], amax = vf_set(0), max = amax, iscale, d;
    vm fit = vm_not(vm_none());
    vi six[Q3_K_SUBS];

    k_load_subs(scales + b * Q3_K_SUBS, Q3_K_SUBS, s);
    for (int j = 0; j < Q3_K_SUBS; j++) {
        vf a = vf_abs(s[j]);

        max = vf_pick(vf_gt(a, amax), s[j], max);
        amax = vf_max(a, amax);
    }
    iscale = vf_div(vf_set(-32), max);
    vf_put_halves(ret->d + b, vf_div(vf_set(1), iscale));
    d = vf_get_halves(ret->d + b);
    for (int j = 0; j < Q3_K_SUBS; j++) { /* -32 is not passed by more than a rounding */
        vf level = vf_min(vf_round(vf_mul(iscale, s[j])), vf_set(31)), inverse = vf_div(vf_set(1), vf_mul(d, level));

        six[j] = vf_trunc(vf_add(level, vf_set(32)));
        fit = vm_and(fit, vf_lt(vf_abs(inverse), vf_set(0x1p100f))); /* not for what a 0 or NaN gives */
        vf_store(ret->inverse[j] + b, inverse);
    }
    q3_k_pack_scale_lanes(six, ret, b);
    ret->exact |= (vm_bits(fit) ^ vm_bits(vm_not(vm_none()))) << b;
    ret->odd |= vm_bits(vm_not(vm_and(vf_gt(amax, vf_set(0x1p-60f)), vf_lt(amax, vf_set(0x1p60f))))) << b;
}

/*
 * Levels plus 4 from the inverses of what they are worth: in the upper words of sums from 192 to 200, with the 16 bits
 * behind the point in the lower ones, where a product is off by less than one from the quotient. False: one may be
 * rounded to another side.
 *
 * The quotients are far from where ggml's rounding would wrap. First, |x| is at most 128 times the scale that was
 * found: the first levels l have l l <= 2 |iscale x l|, so their sums have l2 <= 2 |iscale| xl, and they explain
 * xl xl / l2 >= amax^4 / 2 (the largest value alone has amax^3 * 4 in xl); moves explain no less, with
 * xl <= 16 * 4 amax^3; the scale is what is explained / xl. Then, neither rounding the scale's level (if not to 0)
 * nor rounding d takes more than a third.
 */
static inline bool q3_k_put_level_lanes(const float *x, const float *inverse, uint8_t *block)
{
    enum { UNIT = 1 << 16, WORDS_OF_192 = 0x43404340 };
    vi lowest = vi_set(WORDS_OF_192), highest = vi_set(WORDS_OF_192 + 7 * 0x10001), nearest = vi_set(0);
    vf bias = vf_set(192 + 4.5f - 1.0f / UNIT); /* at a half, the lower word has all bits set */

    for (int i = 0; i < 32; i += LANES) {
        vi levels = vi_set(0), low, high; /* a level every four bits, those of values 32 apart */

#pragma GCC unroll 8
        for (int j = 3; j >= 0; j--) {
            vi sums[2];

            for (int k = 0; k < 2; k++) {
                int at = j + 4 * k;
                vf v = vf_set(inverse[(2 * at + i / Q3_K_SUB) * REFINE_BLOCKS]);

                sums[k] = vf_bits(vf_mul_add(vf_load(x + 32 * at + i), v, bias));
                nearest = vi_max_words_u(nearest, sums[k]);
            }
            sums[0] = vi_min_words(vi_max_words(vi_high_words(sums[0], sums[1]), lowest), highest);
            levels = vi_add(vi_shl(levels, 4), sums[0]);
        }
        levels = vi_sub(levels, vi_set((int32_t)(WORDS_OF_192 * 0x1111u))); /* four times those of 192 */
        low = vi_and(levels, vi_set(0x33333333));
        low = vi_and(vi_or(low, vi_shr(low, 2)), vi_set(0x0f0f0f0f));
        low = vi_or(low, vi_shr(low, 4));
        vi_put_bytes(block + Q3_K_QS + i, low);
        vi_put_bytes(block + Q3_K_QS + 32 + i, vi_shr(low, 16));
        high = vi_and(vi_shr(levels, 2), vi_set(0x11111111));
        high = vi_and(vi_or(high, vi_shr(high, 3)), vi_set(0x03030303));
        high = vi_and(vi_or(high, vi_shr(high, 6)), vi_set(0x000f000f));
        vi_put_bytes(block + Q3_K_HMASK + i, vi_or(high, vi_shr(high, 12)));
    }
    return !vi_any_word_has(nearest, vi_set(-1));
}

#endif
