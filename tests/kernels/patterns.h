/* Values chosen to hurt, for the checks of the kernels: rows of floats, importance weights, bytes of blocks. */
#ifndef WFS_TEST_KERNELS_PATTERNS_H
#define WFS_TEST_KERNELS_PATTERNS_H

#include "kernels/bits.h"
#include "kernels/kernels.h"

#include <stddef.h>
#include <stdint.h>

static uint64_t rng;

static inline void seed_rng(uint64_t seed)
{
    rng = seed * 0x9e3779b97f4a7c15u + 1;
}

static inline uint64_t next(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    return rng ^= rng << 17;
}

static inline float ulps(float v, int n)
{
    return float_of(bits_of(v) + (uint32_t)n);
}

/* Near normal, deviation 0.018. */
static inline float normal(void)
{
    uint64_t r = next();

    int sum = (int)(r & 0xffff) + (int)(r >> 16 & 0xffff) + (int)(r >> 32 & 0xffff) + (int)(r >> 48);

    return (float)(sum - 131070) * 0x1p-21f;
}

/* 0 to 1. */
static inline float uniform(void)
{
    return (float)(next() >> 40) * 0x1p-24f;
}

/* The first N_FINITE hold neither infinities nor NaNs. */
static const char *const patterns[] = {
    "normal", "zero", "constant", "halves", "powers", "zeros of both signs", "subnormal", "huge", "outliers",
    "alternating", "any finite", "as bf16", "as f16", "scale per sub-block", "near 1e-15", "small range on an offset",
    "integers", "sparse", "one sign", "squares overflow", "a few ulps apart", "halves of Q8_0", "mantissas", "steps",
    "any bits", "some NaN", "some Inf", "NaN first", "all NaN",
};
enum { N_PATTERNS = sizeof patterns / sizeof *patterns, N_FINITE = N_PATTERNS - 5 };

static inline float value_of(int pattern, size_t i, uint64_t salt)
{
    uint64_t r = next();
    float v = normal(), sign = r >> 63 ? -1.0f : 1.0f;

    switch (pattern) {
    case 1: return 0;
    case 2: return (float)(int)(salt % 7) * 0.25f - 0.75f;
    case 3: return sign * ulps((float)(r % 40) + 0.5f, (int)(r >> 20) % 3 - 1);
    case 4: return sign * ulps(float_of((uint32_t)(r % 253 + 1) << 23), (int)(r >> 20 & 7) % 7 - 3);
    case 5: return r & 1 ? -0.0f : 0.0f;
    case 6: return float_of((uint32_t)r & 0x807fffffu);
    case 7: return v * 0x1p127f * 16;
    case 8: return r % 300 == 0 ? sign * 100 : v;
    case 9: return i & 1 ? -abs_of(v) : abs_of(v);
    case 10: return float_of((uint32_t)r % 0x7f800000u | (uint32_t)(r >> 32 & 0x80000000u));
    case 11: return float_of((uint32_t)bf16_of(bits_of(v)) << 16);
    case 12: return float_of(f16_widen(f16_of(v)));
    case 13: return v * float_of((uint32_t)(64 + (salt >> i / 16 % 32) % 128) << 23);
    case 14: return v * 0x1p-44f;
    case 15: return 1 + v * 0x1p-12f * (float)(salt % 5);
    case 16: return (float)((int)(r % 33) - 16);
    case 17: return r % 16 == 0 ? v : 0;
    case 18: return salt & 1 ? abs_of(v) : -abs_of(v);
    case 19: return v * 0x1p70f;
    case 20: return ulps(-1.0f, (int)(r % (2 + salt % 6)));
    case 21: return i % 32 == 0 ? 127 : sign * ulps((float)(r % 4) + 0.5f, (int)(r >> 20) % 3 - 1); /* the scale is 1 */
    case 22: return sign * float_of((uint32_t)(r & 0xffffff) + ((uint32_t)(100 + salt % 40) << 23));
    case 23: return sign * (float)(r % 8) * float_of((uint32_t)(90 + salt % 60) << 23); /* ties in plenty */
    case 24: return float_of((uint32_t)r);
    case 25: return r % 50 == 0 ? float_of(0x7f800001u | (uint32_t)(r >> 32)) : v;
    case 26: return r % 50 == 0 ? sign * float_of(0x7f800000u) : v;
    case 27: return i % 16 == 0 && r % 8 == 0 ? float_of(0xff800001u | (uint32_t)(r >> 32)) : v;
    case 28: return float_of(0x7f800001u | (uint32_t)r);
    default: return v;
    }
}

static inline void fill_pattern(int pattern, float *x, size_t n)
{
    uint64_t salt = next();

    for (size_t i = 0; i < n; i++)
        x[i] = value_of(pattern, i, salt);
}

/* The first N_USUAL are as an importance matrix may hold them: nothing negative, nothing that overflows. */
static const char *const weight_patterns[] = {
    "random", "zero", "one-hot", "constant", "squares", "spread", "sparse", "tiny", "subnormal", "huge", "signed",
    "some NaN", "some Inf",
};
enum { N_WEIGHT_PATTERNS = sizeof weight_patterns / sizeof *weight_patterns, N_USUAL = 9 };

static inline float weight_of(int pattern, size_t i, uint64_t salt)
{
    uint64_t r = next();
    float u = uniform(), v = normal();

    switch (pattern) {
    case 1: return 0;
    case 2: return i % 256 == salt % 256;
    case 3: return (float)(salt % 5 + 1) * 0.25f;
    case 4: return v * v;
    case 5: return u * float_of((uint32_t)(120 - r % 60) << 23);
    case 6: return r % 8 == 0 ? u : 0;
    case 7: return u * 0x1p-100f;
    case 8: return float_of((uint32_t)r & 0x007fffffu);
    case 9: return u * 0x1p120f;
    case 10: return u - 0.5f;
    case 11: return r % 50 == 0 ? float_of(0x7f800001u | (uint32_t)(r >> 32)) : u;
    case 12: return r % 50 == 0 ? float_of(0x7f800000u) : u;
    default: return u;
    }
}

static inline void fill_weight_pattern(int pattern, float *w, size_t n)
{
    uint64_t salt = next();

    for (size_t i = 0; i < n; i++)
        w[i] = weight_of(pattern, i, salt);
}

static inline size_t block_bytes_of(int type, size_t n_elems)
{
    return n_elems / wfs_ggml_types[type].block_elems * wfs_ggml_types[type].block_bytes;
}

/* Random bytes without an infinity or a NaN, as far as c's validation looks for them. */
static inline void fill_blocks(const struct wfs_kernels *c, int type, uint8_t *blocks, size_t n_blocks)
{
    size_t size = wfs_ggml_types[type].block_bytes;

    for (size_t b = 0; b < n_blocks; b++, blocks += size) {
        do {
            for (size_t i = 0; i < size; i++)
                blocks[i] = (uint8_t)(next() >> 20);
        } while (c->validate[type](blocks, 1) == 0);
    }
}

#endif
