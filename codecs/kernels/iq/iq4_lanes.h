/*
 * Template of IQ4_NL and IQ4_XS for one instruction set; include a lanes_*.h first. 32 values share a lane: each lane
 * does the plain C version's operations in its order, for LANES blocks of IQ4_NL or LANES / 8 of IQ4_XS at a time.
 *
 * The level of a value: buckets 14 wide, the first one up to -96, hold one border between levels each. Which bucket it
 * is need not be exact (no border is nearer than 1.5 to a bucket's end), the comparison with the border is. Blocks with
 * a scale that is no number are left to plain C, for the NaN's sign.
 */
#include "iq4.h"
#include "slots.h"

#include <stdbool.h>
#include <stddef.h>

enum { IQ4_SUB = 32, IQ4_SPREADS = 8 };

/* LANES times 32 values, value i of all lanes together, and their weights. */
struct iq4_lanes {
    vf x[IQ4_SUB], w[IQ4_SUB];
};

static inline vi iq4_level_lanes(vf v)
{
    static const float borders[16] = {
        -115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f, 7, 19, 31.5f, 45.5f, 61, 79, 101, 101,
    };
    vf near = vf_max(vf_min(v, vf_set(90)), vf_set(-105)); /* of a NaN 90 */
    vi bucket = vf_trunc(vf_mul(vf_add(near, vf_set(110)), vf_set(1.0f / 14)));

    return vi_add(bucket, vm_ints(vm_not(vf_lt(v, vf_lookup(borders, bucket))), vi_set(1)));
}

/* The sums that give the least-squares scales for the levels of one slope per lane. */
static inline void iq4_sum_lanes(const struct iq4_lanes *s, vf slope, vf *ret_xl, vf *ret_l2)
{
    vf xl = vf_set(0), l2 = vf_set(0);

    for (int i = 0; i < IQ4_SUB; i++) {
        vf l = vf_lookup(iq4_values, iq4_level_lanes(vf_mul(slope, s->x[i]))), wl = vf_mul(s->w[i], l);

        xl = vf_add(xl, vf_mul(wl, s->x[i]));
        l2 = vf_add(l2, vf_mul(wl, l));
    }
    *ret_xl = xl;
    *ret_l2 = l2;
}

/* The scale of each lane. */
static inline vf iq4_find_lanes(const struct iq4_lanes *s)
{
    vf amax = vf_set(0), max = vf_set(0), d, best, xl, l2;

    for (int i = 0; i < IQ4_SUB; i++) {
        vm larger = vf_gt(vf_abs(s->x[i]), amax);

        amax = vf_pick(larger, vf_abs(s->x[i]), amax);
        max = vf_pick(larger, s->x[i], max);
    }
    iq4_sum_lanes(s, vf_div(vf_set(1), vf_div(vf_neg(max), vf_set(iq4_values[0]))), &xl, &l2);
    d = vf_pick(vf_gt(l2, vf_set(0)), vf_div(xl, l2), vf_set(0));
    best = vf_mul(d, xl);
    for (int step = -IQ4_TRIES; step <= IQ4_TRIES; step++) {
        vm better;

        iq4_sum_lanes(s, vf_div(vf_set((float)step + iq4_values[0]), max), &xl, &l2);
        better = vm_and(vf_gt(l2, vf_set(0)), vf_gt(vf_mul(xl, xl), vf_mul(best, l2)));
        d = vf_pick(better, vf_div(xl, l2), d);
        best = vf_pick(better, vf_mul(d, xl), best);
    }
    return vf_pick(vf_lt(amax, vf_set(IQ4_TINY)), vf_set(0), d);
}

/* Loads values and weighs them; spread: of each lane, with importance. */
static inline void iq4_load(struct iq4_lanes *s, const float *x, const float *importance, const float *spread)
{
    for (int i = 0; i < IQ4_SUB; i += LANES) {
        vf_transpose(x + i, IQ4_SUB, s->x + i);
        if (importance)
            vf_transpose(importance + i, IQ4_SUB, s->w + i);
    }
    for (int i = 0; i < IQ4_SUB; i++) {
        vf square = vf_mul(s->x[i], s->x[i]);

        s->w[i] = importance ? vf_mul(s->w[i], vf_sqrt(vf_add(vf_load(spread), square))) : square;
    }
}

/* The nibbles of all lanes: of lane k 16 bytes at qs + k / subs * stride + k % subs * 16. */
static inline void iq4_put_lanes(const struct iq4_lanes *s, vf slope, int n, int subs, size_t stride, uint8_t *qs)
{
    uint32_t words[4][LANES];

    for (int i = 0; i < 4; i++) {
        vi word = vi_set(0);

        for (int k = 0; k < 4; k++) {
            vi low = iq4_level_lanes(vf_mul(slope, s->x[4 * i + k]));
            vi high = iq4_level_lanes(vf_mul(slope, s->x[4 * i + k + 16]));
            vi byte = vi_or(low, vi_shl(high, 4));

            word = k == 0 ? byte : k == 1 ? vi_or(word, vi_shl(byte, 8))
                : k == 2 ? vi_or(word, vi_shl(byte, 16)) : vi_or(word, vi_shl(byte, 24));
        }
        vi_store(words[i], word);
    }
    for (int lane = 0; lane < n; lane++) {
        for (int i = 0; i < 4; i++)
            memcpy(qs + (size_t)(lane / subs) * stride + lane % subs * 16 + 4 * i, &words[i][lane], 4);
    }
}

/* n (to LANES) blocks of IQ4_NL; x and importance of LANES can be read. */
static inline void encode_iq4_nl_batch(const float *x, const float *importance, uint8_t *dst, int n)
{
    struct iq4_lanes s;
    float spread[LANES] = { 0 }, scales[LANES];
    vf d;

    if (importance) {
        vf sum = vf_set(0);

        iq4_load(&s, x, NULL, NULL);
        for (int i = 0; i < IQ4_SUB; i++)
            sum = vf_add(sum, s.w[i]);
        vf_store(spread, vf_mul(sum, vf_set(2.0f / IQ4_NL_ELEMS)));
    }
    iq4_load(&s, x, importance, spread);
    d = iq4_find_lanes(&s);
    vf_store(scales, d);
    d = vf_pick(vf_eq(d, vf_set(0)), vf_set(0), vf_div(vf_set(1), d));
    iq4_put_lanes(&s, d, n, 1, IQ4_NL_BYTES, dst + IQ4_NL_QS);
    for (int b = 0; b < n; b++) {
        if (scales[b] == scales[b])
            put_u16(dst + b * IQ4_NL_BYTES, f16_of(scales[b]));
        else if (importance)
            wfs_encode_weighted_iq4_nl_c(x + b * IQ4_SUB, importance + b * IQ4_SUB, dst + b * IQ4_NL_BYTES, IQ4_SUB);
        else
            wfs_encode_iq4_nl_c(x + b * IQ4_SUB, dst + b * IQ4_NL_BYTES, IQ4_SUB);
    }
}

enum { IQ4_XS_BATCH = LANES / IQ4_XS_SUBS };

/* n (to IQ4_XS_BATCH) blocks of IQ4_XS; spreads: of each block, with importance. */
static inline void encode_iq4_xs_batch(const float *x, const float *importance, const float *spreads, uint8_t *dst,
                                       int n)
{
    struct iq4_lanes s;
    float spread[LANES] = { 0 }, scales[LANES], slopes[LANES];
    uint32_t odd;
    vf d;

    for (int lane = 0; lane < LANES && importance; lane++)
        spread[lane] = spreads[lane / IQ4_XS_SUBS];
    iq4_load(&s, x, importance, spread);
    d = iq4_find_lanes(&s);
    odd = vm_bits(vf_nan(d));
    vf_store(scales, d);
    for (int b = 0; b < IQ4_XS_BATCH; b++) {
        uint8_t unused[IQ4_XS_QS];

        iq4_put_scales(b < n ? dst + b * IQ4_XS_BYTES : unused, scales + b * IQ4_XS_SUBS, slopes + b * IQ4_XS_SUBS);
    }
    iq4_put_lanes(&s, vf_load(slopes), n * IQ4_XS_SUBS, IQ4_XS_SUBS, IQ4_XS_BYTES, dst + IQ4_XS_QS);
    for (int b = 0; b < n; b++) {
        const float *xb = x + b * IQ4_XS_ELEMS;

        if (!(odd >> b * IQ4_XS_SUBS & 0xff))
            continue;
        if (importance)
            wfs_encode_weighted_iq4_xs_c(xb, importance + b * IQ4_XS_ELEMS, dst + b * IQ4_XS_BYTES, IQ4_XS_ELEMS);
        else
            wfs_encode_iq4_xs_c(xb, dst + b * IQ4_XS_BYTES, IQ4_XS_ELEMS);
    }
}

/* The values, and importances, of what does not fill a batch, with zeros behind. */
struct iq4_rest {
    float x[LANES * IQ4_SUB], importance[LANES * IQ4_SUB];
};

static inline void iq4_copy_rest(struct iq4_rest *rest, const float *x, const float *importance, size_t n)
{
    memset(rest, 0, sizeof *rest);
    memcpy(rest->x, x, n * sizeof *x);
    if (importance)
        memcpy(rest->importance, importance, n * sizeof *x);
}

static inline void encode_iq4_nl(const float *x, const float *importance, uint8_t *dst, size_t n_elems)
{
    size_t n = n_elems / IQ4_SUB, b = 0;
    struct iq4_rest rest;

    for (; b + LANES <= n; b += LANES)
        encode_iq4_nl_batch(x + b * IQ4_SUB, importance ? importance + b * IQ4_SUB : NULL, dst + b * IQ4_NL_BYTES,
                            LANES);
    if (b == n)
        return;
    iq4_copy_rest(&rest, x + b * IQ4_SUB, importance ? importance + b * IQ4_SUB : NULL, (n - b) * IQ4_SUB);
    encode_iq4_nl_batch(rest.x, importance ? rest.importance : NULL, dst + b * IQ4_NL_BYTES, (int)(n - b));
}

/* Twice the mean squares of n (to IQ4_SPREADS) blocks; their sums, each in order, go side by side. */
static inline void iq4_spread_blocks(const float *x, size_t n, float ret[IQ4_SPREADS])
{
    float sum[IQ4_SPREADS] = { 0 };

    if (n == IQ4_SPREADS) {
        for (int i = 0; i < IQ4_XS_ELEMS; i++) {
            for (int b = 0; b < IQ4_SPREADS; b++)
                sum[b] += x[b * IQ4_XS_ELEMS + i] * x[b * IQ4_XS_ELEMS + i];
        }
    } else {
        for (size_t b = 0; b < n; b++) {
            for (int i = 0; i < IQ4_XS_ELEMS; i++)
                sum[b] += x[b * IQ4_XS_ELEMS + (size_t)i] * x[b * IQ4_XS_ELEMS + (size_t)i];
        }
    }
    for (int b = 0; b < IQ4_SPREADS; b++)
        ret[b] = sum[b] * (2.0f / IQ4_XS_ELEMS);
}

static inline void encode_iq4_xs(const float *x, const float *importance, uint8_t *dst, size_t n_elems)
{
    size_t n = n_elems / IQ4_XS_ELEMS, b = 0;
    float spreads[IQ4_SPREADS] = { 0 };
    struct iq4_rest rest;

    for (; b < n; b += IQ4_XS_BATCH) {
        const float *xb = x + b * IQ4_XS_ELEMS, *ib = importance ? importance + b * IQ4_XS_ELEMS : NULL;

        if (importance && b % IQ4_SPREADS == 0)
            iq4_spread_blocks(xb, n - b < IQ4_SPREADS ? n - b : IQ4_SPREADS, spreads);
        if (n - b < IQ4_XS_BATCH) {
            iq4_copy_rest(&rest, xb, ib, (n - b) * IQ4_XS_ELEMS);
            encode_iq4_xs_batch(rest.x, ib ? rest.importance : NULL, spreads + b % IQ4_SPREADS,
                                dst + b * IQ4_XS_BYTES, (int)(n - b));
            return;
        }
        encode_iq4_xs_batch(xb, ib, spreads + b % IQ4_SPREADS, dst + b * IQ4_XS_BYTES, IQ4_XS_BATCH);
    }
}

void VF_NAME(wfs_encode_iq4_nl)(const float *src, void *dst, size_t n_elems)
{
    encode_iq4_nl(src, NULL, dst, n_elems);
}

void VF_NAME(wfs_encode_weighted_iq4_nl)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    encode_iq4_nl(src, weights, dst, n_elems);
}

void VF_NAME(wfs_encode_iq4_xs)(const float *src, void *dst, size_t n_elems)
{
    encode_iq4_xs(src, NULL, dst, n_elems);
}

void VF_NAME(wfs_encode_weighted_iq4_xs)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    encode_iq4_xs(src, weights, dst, n_elems);
}

/* 32 values from their nibbles. */
static inline void iq4_get_levels(const uint8_t *qs, float d, float *dst)
{
    for (int i = 0; i < IQ4_SUB / 2; i += LANES) {
        vi bytes = vi_get_bytes(qs + i);

        vf_store(dst + i, vf_mul(vf_set(d), vf_lookup(iq4_values, vi_and(bytes, vi_set(15)))));
        vf_store(dst + i + 16, vf_mul(vf_set(d), vf_lookup(iq4_values, vi_shr(bytes, 4))));
    }
}

void VF_NAME(wfs_dequantize_iq4_nl)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t i = 0; i < n_elems; i += IQ4_NL_ELEMS, block += IQ4_NL_BYTES)
        iq4_get_levels(block + IQ4_NL_QS, half_value(get_u16(block)), dst + i);
}

void VF_NAME(wfs_dequantize_iq4_xs)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t i = 0; i < n_elems; i += IQ4_XS_ELEMS, block += IQ4_XS_BYTES) {
        float d = half_value(get_u16(block));
        unsigned low, high = get_u16(block + IQ4_XS_SCALES_H);

        memcpy(&low, block + IQ4_XS_SCALES_L, sizeof low);
        for (int j = 0; j < IQ4_XS_SUBS; j++, low >>= 4, high >>= 2)
            iq4_get_levels(block + IQ4_XS_QS + j * 16, d * (float)((int)((low & 15) | (high & 3) << 4) - 32),
                           dst + i + j * IQ4_XS_SUB);
    }
}
