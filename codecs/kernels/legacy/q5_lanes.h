/*
 * Template of Q5_0 and Q5_1 for one instruction set; include a lanes_*.h first. Blocks with a NaN are left to plain C;
 * without, the extremes are the same whatever the order, and where two values tie it is seen to that the first one
 * counts.
 */
#include "../bits.h"
#include "../blocks.h"
#include "slots.h"

#include <float.h>

/* Five-bit values, two halves of a block, LANES at a time: nibbles, and the fifth bits of both. */
static inline void put_levels(vi low, vi high, int i, uint8_t *qs, uint32_t *qh)
{
    vi fifteen = vi_set(15);

    vi_put_bytes(qs + i, vi_or(vi_and(low, fifteen), vi_shl(vi_and(high, fifteen), 4)));
    *qh |= vi_signs(vi_shl(low, 27)) << i | vi_signs(vi_shl(high, 27)) << (i + 16);
}

void VF_NAME(wfs_encode_q5_0)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q5_ELEMS; b++, src += Q5_ELEMS, block += Q5_0_BYTES) {
        vi largest = vi_set(0);
        uint32_t amax, qh = 0;
        float d;
        vf inverse;
        int at = 0;

        for (int i = 0; i < Q5_ELEMS; i += LANES) /* magnitudes order like their bits; NaNs come after infinity */
            largest = vi_max_u(largest, vf_bits(vf_abs(vf_load(src + i))));
        amax = vi_reduce_max_u(largest);
        if (amax > 0x7f800000u) {
            wfs_encode_q5_0_c(src, block, Q5_ELEMS);
            continue;
        }
        for (; at < Q5_ELEMS; at += LANES) { /* the first value of that magnitude gives the sign */
            uint32_t equal = vi_equal(vf_bits(vf_abs(vf_load(src + at))), vi_set((int32_t)amax));

            if (equal) {
                at += __builtin_ctz(equal);
                break;
            }
        }
        d = (amax ? src[at] : 0) / -16.0f; /* with nothing but zeros no value was larger than 0: +0, so d is -0 */
        inverse = vf_set(d != 0 ? 1.0f / d : 0);
        put_u16(block, (uint16_t)_cvtss_sh(d, _MM_FROUND_TO_NEAREST_INT));
        for (int i = 0; i < Q5_ELEMS / 2; i += LANES) {
            vi low = vf_trunc(vf_add(vf_mul(vf_load(src + i), inverse), vf_set(16.5f)));
            vi high = vf_trunc(vf_add(vf_mul(vf_load(src + i + 16), inverse), vf_set(16.5f)));

            low = vi_min(vi_low_bytes(low), vi_set(31));
            high = vi_min(vi_low_bytes(high), vi_set(31));
            put_levels(low, high, i, block + Q5_0_QS, &qh);
        }
        memcpy(block + Q5_0_QH, &qh, sizeof qh);
    }
}

void VF_NAME(wfs_encode_q5_1)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q5_ELEMS; b++, src += Q5_ELEMS, block += Q5_1_BYTES) {
        vf lowest = vf_set(FLT_MAX), highest = vf_set(-FLT_MAX), inverse;
        vm nan = vm_none();
        float min, d;
        uint32_t qh = 0;

        for (int i = 0; i < Q5_ELEMS; i += LANES) {
            vf v = vf_load(src + i);

            nan = vm_or(nan, vf_nan(v));
            lowest = vf_min(v, lowest);
            highest = vf_max(v, highest);
        }
        min = vf_reduce_min(lowest);
        /* With zeros of both signs the first one's sign counts, which only plain C knows. */
        if (vm_bits(nan) || min == 0) {
            wfs_encode_q5_1_c(src, block, Q5_ELEMS);
            continue;
        }
        d = (vf_reduce_max(highest) - min) / 31.0f;
        inverse = vf_set(d != 0 ? 1.0f / d : 0);
        put_u16(block, (uint16_t)_cvtss_sh(d, _MM_FROUND_TO_NEAREST_INT));
        put_u16(block + Q5_1_M, (uint16_t)_cvtss_sh(min, _MM_FROUND_TO_NEAREST_INT));
        for (int i = 0; i < Q5_ELEMS / 2; i += LANES) {
            vf low = vf_mul(vf_sub(vf_load(src + i), vf_set(min)), inverse);
            vf high = vf_mul(vf_sub(vf_load(src + i + 16), vf_set(min)), inverse);

            put_levels(vf_trunc(vf_add(low, vf_set(0.5f))), vf_trunc(vf_add(high, vf_set(0.5f))), i, block + Q5_1_QS,
                       &qh);
        }
        memcpy(block + Q5_1_QH, &qh, sizeof qh);
    }
}
