/*
 * What MXFP4 and NVFP4 share: values of 1 sign, 2 exponent and 1 mantissa bit (E2M1 of the OCP Microscaling formats),
 * kept doubled so that they are whole, under scales that are halved. The first scale is a power of two, the second has
 * 4 bits of exponent and 3 of mantissa. Source: ggml-impl.h and ggml-quants.c.
 */
#ifndef WFS_KERNELS_SMALL_FP4_H
#define WFS_KERNELS_SMALL_FP4_H

#include "../bits.h"
#include "../blocks.h"

/* By index; 8 is a zero too, without a sign. */
#define FP4_VALUES 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12

/*
 * floorf(log2f(v)) for finite v > 0. log2f rounds up to a whole number k from where k - log2(v) is at most half the
 * distance of floats below k; in units of 2^-24 of 2^k these are ln 2 times a power of two.
 * (tests/unit/test_fp4.c compares with libm at every such place.)
 */
static inline int fp4_log2_floor(float v)
{
    uint32_t bits = bits_of(v), mantissa = (bits & 0x007fffffu) | 0x00800000u, magnitude;
    int k = (int)(bits >> 23) - 127, power;

    if (bits < 0x00800000u) {
        int shift = __builtin_clz(bits) - 8;

        mantissa = bits << shift;
        k = -126 - shift;
    }
    if (k == -1) /* the logarithms below 0 come as near to it as need be */
        return k;
    magnitude = k < 0 ? (uint32_t)-(k + 1) : (uint32_t)k; /* of floats just below a power of two, 2^n - 1 decides */
    if (magnitude == 0)
        return k;
    power = 31 - __builtin_clz(magnitude);
    return k + (0x01000000u - mantissa <= 45426u << power >> 16);
}

/* The exponent byte of MXFP4; what does not fit wraps, and infinity gives 0, as the x86 conversion has it. */
static inline uint8_t mxfp4_exponent(float amax)
{
    if (!(amax > 0) || bits_of(amax) == 0x7f800000u)
        return 0;
    return (uint8_t)(fp4_log2_floor(amax) - 2 + 127);
}

/* Half of 2^(e - 127). */
static inline float mxfp4_scale(uint8_t e)
{
    return float_of(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

/* Half of the scale. 0x7f would be NaN; the upper bit counts for nothing. */
static inline float nvfp4_scale(uint8_t e)
{
    if (e == 0x7f)
        return 0;
    if ((e & 0x78) == 0)
        return (float)(e & 7) * 0x1p-10f;
    return float_of(((uint32_t)(e & 0x7f) << 20) + 0x3b800000u);
}

/* The byte for scale v; halves are rounded up, and so is nothing above 448. */
static inline uint8_t nvfp4_scale_of(float v)
{
    uint32_t code;

    if (!(v > 0))
        return 0;
    if (bits_of(v) < 0x3c800000u) { /* below 2^-6: subnormal, or nothing */
        int man = (int)(v * 512.0f + 0.5f);

        return (uint8_t)(man < 7 ? man : 7);
    }
    code = ((bits_of(v) + 0x00080000u) >> 20) - 0x3c0u;
    return (uint8_t)(code < 0x78 ? code : 0x7e);
}

#endif
