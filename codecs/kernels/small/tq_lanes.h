/*
 * Template of TQ1_0 and TQ2_0 for one instruction set; include a lanes_*.h first. Blocks with NaN or infinity, and
 * those whose largest magnitude has no finite inverse, are left to plain C: levels beyond -1..1 wrap there.
 */
#include "../block_lanes.h"
#include "slots.h"
#include "tq.h"

#include <stdbool.h>

/* Writes the scale at p. False: left to plain C. */
static inline bool tq_find(const float *x, uint8_t *p, vf *ret_inverse)
{
    uint32_t amax = lanes_amax(x, TQ_ELEMS);
    float d = float_of(amax), inverse = amax ? 1.0f / d : 0;

    if (amax >= 0x7f800000u || bits_of(inverse) == 0x7f800000u)
        return false;
    put_u16(p, half_bits(d));
    *ret_inverse = vf_set(inverse);
    return true;
}

/* LANES levels plus 1. */
static inline vi tq_levels(const float *x, vf inverse)
{
    return vi_add(lanes_round_away(vf_mul(vf_load(x), inverse)), vi_set(1));
}

/* LANES bytes of five digits each, which lie a stride apart; see tq1_0_fraction for the end (below, n / 243). */
static inline void tq1_0_put_lanes(const float *x, int stride, vf inverse, uint8_t *ret)
{
    vi number = tq_levels(x, inverse), over;

    for (int k = 1; k < 5; k++)
        number = vi_add(vi_add(number, vi_shl(number, 1)), tq_levels(x + k * stride, inverse));
    /* ceil(256 n / 243) = n + ceil(13 n / 243); the quotient by a product, exact for numbers this small */
    over = vi_add(vi_mul(number, vi_set(13)), vi_set(242));
    vi_put_bytes(ret, vi_add(number, vi_shr(vi_mul(over, vi_set(17261)), 22)));
}

void VF_NAME(wfs_encode_tq1_0)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / TQ_ELEMS; b++, src += TQ_ELEMS, block += TQ1_0_BYTES) {
        uint8_t last[16];
        vf inverse;

        if (!tq_find(src, block + TQ1_0_D, &inverse)) {
            wfs_encode_tq1_0_c(src, block, TQ_ELEMS);
            continue;
        }
        for (int i = 0; i < 32; i += LANES)
            tq1_0_put_lanes(src + i, 32, inverse, block + TQ1_0_QS + i);
        for (int i = 0; i < 16; i += LANES) {
            tq1_0_put_lanes(src + 160 + i, 16, inverse, block + TQ1_0_QS + 32 + i);
            vi_put_bytes(last + i, tq_levels(src + 240 + i, inverse));
        }
        tq1_0_put_digits(last, 4, 4, block + TQ1_0_QH);
    }
}

void VF_NAME(wfs_encode_tq2_0)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / TQ_ELEMS; b++, src += TQ_ELEMS, block += TQ2_0_BYTES) {
        vf inverse;

        if (!tq_find(src, block + TQ2_0_D, &inverse)) {
            wfs_encode_tq2_0_c(src, block, TQ_ELEMS);
            continue;
        }
        for (int i = 0; i < TQ_ELEMS / 4; i += LANES) {
            const float *x = src + i / 32 * 128 + i % 32;
            vi low = vi_or(tq_levels(x, inverse), vi_shl(tq_levels(x + 32, inverse), 2));
            vi high = vi_or(tq_levels(x + 64, inverse), vi_shl(tq_levels(x + 96, inverse), 2));

            vi_put_bytes(block + TQ2_0_QS + i, vi_or(low, vi_shl(high, 4)));
        }
    }
}

/* Level plus 1 to float. */
static inline vf tq_scaled(vi level, vf d)
{
    return vf_mul(vf_of_ints(vi_sub(level, vi_set(1))), d);
}

/* The five values of LANES bytes each. */
static inline void tq1_0_get_lanes(const uint8_t *p, int stride, vf d, float *dst)
{
    vi rest = vi_get_bytes(p);

    for (int k = 0; k < 5; k++) {
        vi three = vi_add(rest, vi_shl(rest, 1));

        vf_store(dst + k * stride, tq_scaled(vi_shr(three, 8), d));
        rest = vi_and(three, vi_set(255));
    }
}

/* The last 16 values: value 4 k + j is digit k of byte j. */
static inline void tq1_0_get_last(const uint8_t *p, vf d, float *dst)
{
    static const int32_t shifts[16] = { 0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24 };
    static const int32_t powers[16] = { 1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27 };
    vi bytes;
    int32_t four;

    memcpy(&four, p, sizeof four);
    bytes = vi_set(four);
    for (int i = 0; i < 16; i += LANES) {
        vi byte = vi_and(vi_shr_each(bytes, vi_load(shifts + i)), vi_set(255));
        vi rest = vi_and(vi_mul(byte, vi_load(powers + i)), vi_set(255));

        vf_store(dst + i, tq_scaled(vi_shr(vi_add(rest, vi_shl(rest, 1)), 8), d));
    }
}

void VF_NAME(wfs_dequantize_tq1_0)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / TQ_ELEMS; b++, dst += TQ_ELEMS, block += TQ1_0_BYTES) {
        vf d = vf_set(half_value(get_u16(block + TQ1_0_D)));

        for (int i = 0; i < 32; i += LANES)
            tq1_0_get_lanes(block + TQ1_0_QS + i, 32, d, dst + i);
        for (int i = 0; i < 16; i += LANES)
            tq1_0_get_lanes(block + TQ1_0_QS + 32 + i, 16, d, dst + 160 + i);
        tq1_0_get_last(block + TQ1_0_QH, d, dst + 240);
    }
}

void VF_NAME(wfs_dequantize_tq2_0)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / TQ_ELEMS; b++, dst += TQ_ELEMS, block += TQ2_0_BYTES) {
        vf d = vf_set(half_value(get_u16(block + TQ2_0_D)));

        for (int i = 0; i < TQ_ELEMS / 4; i += LANES) {
            float *to = dst + i / 32 * 128 + i % 32;
            vi four = vi_get_bytes(block + TQ2_0_QS + i), three = vi_set(3);

            vf_store(to, tq_scaled(vi_and(four, three), d));
            vf_store(to + 32, tq_scaled(vi_and(vi_shr(four, 2), three), d));
            vf_store(to + 64, tq_scaled(vi_and(vi_shr(four, 4), three), d));
            vf_store(to + 96, tq_scaled(vi_shr(four, 6), d));
        }
    }
}
