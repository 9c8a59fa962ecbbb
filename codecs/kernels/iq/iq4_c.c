#include "iq4.h"
#include "../validate.h"
#include "slots.h"

/* The sums that give the least-squares scale for the levels of one slope. */
static void iq4_sums(const float *x, const float *w, float slope, float *ret_xl, float *ret_l2)
{
    float xl = 0, l2 = 0;

    for (int i = 0; i < IQ4_NL_ELEMS; i++) {
        float l = iq4_values[iq4_level_of(slope * x[i])];

        xl += w[i] * l * x[i];
        l2 += w[i] * l * l;
    }
    *ret_xl = xl;
    *ret_l2 = l2;
}

/* The scale for 32 values. */
static float iq4_find(const float *x, const float *w)
{
    float max = most_of(x, IQ4_NL_ELEMS), d, best, xl, l2;

    if (abs_of(max) < IQ4_TINY)
        return 0;
    iq4_sums(x, w, 1 / (-max / iq4_values[0]), &xl, &l2);
    d = l2 > 0 ? xl / l2 : 0;
    best = d * xl;
    for (int step = -IQ4_TRIES; step <= IQ4_TRIES; step++) {
        iq4_sums(x, w, ((float)step + iq4_values[0]) / max, &xl, &l2);
        if (l2 > 0 && xl * xl > best * l2) {
            d = xl / l2;
            best = d * xl;
        }
    }
    return d;
}

/* Each value's weight: from its importance, or its square. */
static void iq4_weigh(const float *x, const float *importance, float spread, float *ret_w)
{
    for (int i = 0; i < IQ4_NL_ELEMS; i++)
        ret_w[i] = importance ? importance[i] * __builtin_sqrtf(spread + x[i] * x[i]) : x[i] * x[i];
}

static void iq4_put_levels(uint8_t *qs, const float *x, float slope)
{
    for (int i = 0; i < IQ4_NL_ELEMS / 2; i++)
        qs[i] = (uint8_t)(iq4_level_of(slope * x[i]) | iq4_level_of(slope * x[i + 16]) << 4);
}

static void encode_iq4_nl(const float *x, const float *importance, uint8_t *block)
{
    float w[IQ4_NL_ELEMS], d;

    iq4_weigh(x, importance, importance ? iq4_spread(x, IQ4_NL_ELEMS) : 0, w);
    d = iq4_find(x, w);
    put_u16(block, f16_scale_of(d));
    iq4_put_levels(block + IQ4_NL_QS, x, d != 0 ? 1 / d : 0); /* a NaN is not zero */
}

static void encode_iq4_xs(const float *x, const float *importance, uint8_t *block)
{
    float w[IQ4_XS_SUB], scales[IQ4_XS_SUBS], slopes[IQ4_XS_SUBS];
    float spread = importance ? iq4_spread(x, IQ4_XS_ELEMS) : 0;

    for (int j = 0; j < IQ4_XS_SUBS; j++) {
        iq4_weigh(x + j * IQ4_XS_SUB, importance ? importance + j * IQ4_XS_SUB : NULL, spread, w);
        scales[j] = iq4_find(x + j * IQ4_XS_SUB, w);
    }
    iq4_put_scales(block, scales, slopes);
    for (int j = 0; j < IQ4_XS_SUBS; j++)
        iq4_put_levels(block + IQ4_XS_QS + j * IQ4_XS_SUB / 2, x + j * IQ4_XS_SUB, slopes[j]);
}

void wfs_encode_iq4_nl_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += IQ4_NL_ELEMS, block += IQ4_NL_BYTES)
        encode_iq4_nl(src + i, NULL, block);
}

void wfs_encode_weighted_iq4_nl_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += IQ4_NL_ELEMS, block += IQ4_NL_BYTES)
        encode_iq4_nl(src + i, weights + i, block);
}

void wfs_encode_iq4_xs_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += IQ4_XS_ELEMS, block += IQ4_XS_BYTES)
        encode_iq4_xs(src + i, NULL, block);
}

void wfs_encode_weighted_iq4_xs_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += IQ4_XS_ELEMS, block += IQ4_XS_BYTES)
        encode_iq4_xs(src + i, weights + i, block);
}

static void get_levels(const uint8_t *qs, float d, float *dst)
{
    for (int i = 0; i < IQ4_NL_ELEMS / 2; i++) {
        dst[i] = d * iq4_values[qs[i] & 15];
        dst[i + 16] = d * iq4_values[qs[i] >> 4];
    }
}

void wfs_dequantize_iq4_nl_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t i = 0; i < n_elems; i += IQ4_NL_ELEMS, block += IQ4_NL_BYTES)
        get_levels(block + IQ4_NL_QS, f16_scale(get_u16(block)), dst + i);
}

void wfs_dequantize_iq4_xs_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t i = 0; i < n_elems; i += IQ4_XS_ELEMS, block += IQ4_XS_BYTES) {
        for (int j = 0; j < IQ4_XS_SUBS; j++)
            get_levels(block + IQ4_XS_QS + j * 16, iq4_get_scale(block, j), dst + i + j * IQ4_XS_SUB);
    }
}

VALIDATE(iq4_nl, IQ4_NL_BYTES, f16_bad(p))
VALIDATE(iq4_xs, IQ4_XS_BYTES, f16_bad(p))
