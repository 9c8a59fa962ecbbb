/*
 * Float bit work that the kernels share. Everything that decides a byte is defined here and not by libm or by undefined
 * conversions, so that every compiler gives the bytes that x86-64 gives.
 */
#ifndef WFS_KERNELS_BITS_H
#define WFS_KERNELS_BITS_H

#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "the kernels promise bytes: not with -ffast-math"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the kernels are written for little-endian machines"
#endif

static inline uint32_t bits_of(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline float abs_of(float v)
{
    return float_of(bits_of(v) & 0x7fffffffu);
}

/*
 * To the nearest integer, ties to even, as ggml does it: adding 1.5 * 2^23 leaves the integer in the mantissa. Beyond
 * +-2^22 the result wraps modulo 2^23, and a NaN gives its payload; both are kept.
 */
static inline int32_t nearest_int(float v)
{
    return (int32_t)(bits_of(v + 12582912.0f) & 0x007fffffu) - 0x00400000;
}

static inline int32_t clamp_int(int32_t v, int32_t lo, int32_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* Towards zero; what does not fit, and NaN, gives 0x80000000 (the x86 instruction cvttss2si; undefined in C). */
static inline int32_t trunc_int(float v)
{
    return v >= -2147483648.0f && v < 2147483648.0f ? (int32_t)v : INT32_MIN;
}

/* roundf (halves away from zero) and then trunc_int. */
static inline int32_t round_int(float v)
{
    int32_t whole = trunc_int(v);
    float rest;

    if (!(abs_of(v) < 8388608.0f)) /* already whole, or not a number */
        return whole;
    rest = v - (float)whole; /* exact */
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/*
 * The low half of lroundf's 64-bit result (halves away from zero), what does not fit giving 0 (the x86 instruction
 * cvttss2si with a 64-bit destination gives 2^63).
 */
static inline int32_t round_long_low(float v)
{
    if (abs_of(v) < 2147483648.0f)
        return round_int(v);
    return v >= -9223372036854775808.0f && v < 9223372036854775808.0f ? (int32_t)(uint32_t)(uint64_t)(int64_t)v : 0;
}

/*
 * IEEE binary16, nearest even, overflow to infinity. A NaN keeps its sign and the upper ten bits of its payload, and
 * stays signalling, as numpy's astype(float16) does it (the converter's way; the quantiser refuses NaN).
 */
static inline uint16_t f16_of(float v)
{
    uint32_t bits = bits_of(v), sign = bits >> 16 & 0x8000u, a = bits & 0x7fffffffu, h, m, shift;

    if (a > 0x7f800000u) {
        h = (a & 0x007fffffu) >> 13;
        return (uint16_t)(sign | 0x7c00u | (h ? h : 1));
    }
    if (a >= 0x47800000u) /* 65536 and more */
        return (uint16_t)(sign | 0x7c00u);
    if (a >= 0x38800000u) { /* normal in binary16; a carry out of the mantissa is right, also the one to infinity */
        a -= 0x38000000u;
        return (uint16_t)(sign | (a + 0xfffu + (a >> 13 & 1)) >> 13);
    }
    if (a <= 0x33000000u) /* 2^-25 ties to zero */
        return (uint16_t)sign;
    m = (a & 0x007fffffu) | 0x00800000u;
    shift = 126 - (a >> 23); /* the unit is 2^-24 */
    return (uint16_t)(sign | (m + (1u << (shift - 1)) - 1 + (m >> shift & 1)) >> shift);
}

/* Exact. A NaN keeps sign and payload and stays signalling, as numpy's astype(float32) does it. */
static inline uint32_t f16_widen(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, a = h & 0x7fffu;

    if (a >= 0x7c00u)
        return sign | 0x7f800000u | (a & 0x3ffu) << 13;
    if (a < 0x0400u)
        return sign | bits_of((float)a * 0x1p-24f);
    return sign | ((a << 13) + 0x38000000u);
}

/* As ggml stores scales: f16_of, but of a NaN only the sign is kept. */
static inline uint16_t f16_scale_of(float v)
{
    return v != v ? (uint16_t)(0x7e00u | (bits_of(v) >> 16 & 0x8000u)) : f16_of(v);
}

/* As ggml reads binary16: f16_widen with NaNs made quiet. */
static inline float f16_scale(uint16_t h)
{
    return float_of(f16_widen(h) | ((h & 0x7fffu) > 0x7c00u ? 0x00400000u : 0));
}

/* bfloat16, nearest even, NaN made quiet (ggml and gguf-py agree). */
static inline uint16_t bf16_of(uint32_t bits)
{
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

static inline void put_u16(uint8_t *dst, uint16_t v)
{
    memcpy(dst, &v, sizeof v);
}

static inline uint16_t get_u16(const uint8_t *src)
{
    uint16_t v;

    memcpy(&v, src, sizeof v);
    return v;
}

#endif
