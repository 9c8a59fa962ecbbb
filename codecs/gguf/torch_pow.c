#include "torch_pow.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { VECTOR_STEP = 32 };

/*
 * Part one: Sleef's powf in double-float arithmetic (x = hi + lo), exp(log(base) * exponent). fmaf is an IEEE
 * operation, so any C library gives the same bits. Constants and operation order: Sleef 3.x, src/libm/sleefsimdsp.c and
 * common/df.h.
 */
struct df {
    float hi, lo;
};

static struct df df_add(struct df x, struct df y) /* |x| >= |y| */
{
    float s = x.hi + y.hi;

    return (struct df){ s, x.hi - s + y.hi + x.lo + y.lo };
}

static struct df df_add2(struct df x, struct df y)
{
    float s = x.hi + y.hi, v = s - x.hi;

    return (struct df){ s, (x.hi - (s - v)) + (y.hi - v) + (x.lo + y.lo) };
}

static struct df df_add2_float(struct df x, float y)
{
    float s = x.hi + y, v = s - x.hi;

    return (struct df){ s, (x.hi - (s - v)) + (y - v) + x.lo };
}

static struct df df_mul(struct df x, struct df y)
{
    float s = x.hi * y.hi;

    return (struct df){ s, fmaf(x.hi, y.lo, fmaf(x.lo, y.hi, fmaf(x.hi, y.hi, -s))) };
}

static struct df df_mul_float(struct df x, float y)
{
    float s = x.hi * y;

    return (struct df){ s, fmaf(x.lo, y, fmaf(x.hi, y, -s)) };
}

static struct df df_square(struct df x)
{
    float s = x.hi * x.hi;

    return (struct df){ s, fmaf(x.hi + x.hi, x.lo, fmaf(x.hi, x.hi, -s)) };
}

static struct df df_div(struct df n, struct df d)
{
    float t = 1.0f / d.hi, s = n.hi * t;
    float u = fmaf(t, n.hi, -s), v = fmaf(-d.lo, t, fmaf(-d.hi, t, 1.0f));

    return (struct df){ s, fmaf(s, v, fmaf(n.lo, t, u)) };
}

static uint32_t bits_of(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

/* ln(d) for a positive normal d. */
static struct df sleef_log(float d)
{
    const struct df ln2 = { 0.69314718246459960938f, -1.904654323148236017e-09f };
    const struct df c = { 0.66666662693023681640625f, 3.69183861259614332084311e-09f };
    int e = (int)(bits_of(d * (1.0f / 0.75f)) >> 23 & 0xff) - 127;
    float m = float_of(bits_of(d) - (uint32_t)e * (1u << 23)); /* d / 2^e, in 0.75 to 1.5 */
    struct df x = df_div(df_add2((struct df){ -1, 0 }, (struct df){ m, 0 }),
                         df_add2((struct df){ 1, 0 }, (struct df){ m, 0 }));
    struct df x2 = df_square(x), s;
    float t = 0.240320354700088500976562f;

    t = fmaf(t, x2.hi, 0.285112679004669189453125f);
    t = fmaf(t, x2.hi, 0.400007992982864379882812f);
    s = df_mul_float(ln2, (float)e);
    s = df_add(s, (struct df){ x.hi * 2, x.lo * 2 });
    return df_add(s, df_mul(df_mul(x2, x), df_add2(df_mul_float(x2, t), c)));
}

static float sleef_exp(struct df d)
{
    float u = (d.hi + d.lo) * 1.442695040888963407359924681001892137426645954152985934135449406931f;
    float q = rintf(u);
    struct df s = df_add2_float(d, q * -0.693145751953125f), t;

    s = df_add2_float(s, q * -1.428606765330187045e-06f);
    s = (struct df){ s.hi + s.lo, s.hi - (s.hi + s.lo) + s.lo };
    u = 0.00136324646882712841033936f;
    u = fmaf(u, s.hi, 0.00836596917361021041870117f);
    u = fmaf(u, s.hi, 0.0416710823774337768554688f);
    u = fmaf(u, s.hi, 0.166665524244308471679688f);
    u = fmaf(u, s.hi, 0.499999850988388061523438f);
    t = df_add(s, df_mul_float(df_square(s), u));
    t = df_add((struct df){ 1, 0 }, t);
    return ldexpf(t.hi + t.lo, (int)q);
}

static float sleef_pow(float base, float exponent)
{
    return sleef_exp(df_mul_float(sleef_log(base), exponent));
}

/*
 * Part two: the C library's powf (glibc 2.28 and later, which is that of Arm's optimized-routines): 2^(exponent *
 * log2(base)) in double. Tables and polynomials are data from math/powf_log2_data.c and math/exp2f_data.c there.
 */
static const struct {
    double inverse, log2;
} log2_table[16] = {
    { 0x1.661ec79f8f3bep+0, -0x1.efec65b963019p-2 }, { 0x1.571ed4aaf883dp+0, -0x1.b0b6832d4fca4p-2 },
    { 0x1.49539f0f010bp+0, -0x1.7418b0a1fb77bp-2 },  { 0x1.3c995b0b80385p+0, -0x1.39de91a6dcf7bp-2 },
    { 0x1.30d190c8864a5p+0, -0x1.01d9bf3f2b631p-2 }, { 0x1.25e227b0b8eap+0, -0x1.97c1d1b3b7afp-3 },
    { 0x1.1bb4a4a1a343fp+0, -0x1.2f9e393af3c9fp-3 }, { 0x1.12358f08ae5bap+0, -0x1.960cbbf788d5cp-4 },
    { 0x1.0953f419900a7p+0, -0x1.a6f9db6475fcep-5 }, { 0x1p+0, 0x0p+0 },
    { 0x1.e608cfd9a47acp-1, 0x1.338ca9f24f53dp-4 },  { 0x1.ca4b31f026aap-1, 0x1.476a9543891bap-3 },
    { 0x1.b2036576afce6p-1, 0x1.e840b4ac4e4d2p-3 },  { 0x1.9c2d163a1aa2dp-1, 0x1.40645f0c6651cp-2 },
    { 0x1.886e6037841edp-1, 0x1.88e9c2c1b9ff8p-2 },  { 0x1.767dcf5534862p-1, 0x1.ce0a44eb17bccp-2 },
};

/* The bits of 2^(i/32), less i << 47. */
static const uint64_t exp2_table[32] = {
    0x3ff0000000000000, 0x3fefd9b0d3158574, 0x3fefb5586cf9890f, 0x3fef9301d0125b51, 0x3fef72b83c7d517b,
    0x3fef54873168b9aa, 0x3fef387a6e756238, 0x3fef1e9df51fdee1, 0x3fef06fe0a31b715, 0x3feef1a7373aa9cb,
    0x3feedea64c123422, 0x3feece086061892d, 0x3feebfdad5362a27, 0x3feeb42b569d4f82, 0x3feeab07dd485429,
    0x3feea47eb03a5585, 0x3feea09e667f3bcd, 0x3fee9f75e8ec5f74, 0x3feea11473eb0187, 0x3feea589994cce13,
    0x3feeace5422aa0db, 0x3feeb737b0cdc5e5, 0x3feec49182a3f090, 0x3feed503b23e255d, 0x3feee89f995ad3ad,
    0x3feeff76f2fb5e47, 0x3fef199bdd85529c, 0x3fef3720dcef9069, 0x3fef5818dcfba487, 0x3fef7c97337b9b5f,
    0x3fefa4afa2a490da, 0x3fefd0765b6e4540,
};

static double libc_log2(float base)
{
    uint32_t from = bits_of(base) - 0x3f330000, top = from & 0xff800000, i = from >> 19 & 15;
    double z = float_of(bits_of(base) - top);
    double r = z * log2_table[i].inverse - 1, r2 = r * r;
    double high = 0x1.27616c9496e0bp-2 * r + -0x1.71969a075c67ap-2;
    double low = 0x1.ec70a6ca7baddp-2 * r + -0x1.7154748bef6c8p-1;
    double y = 0x1.71547652ab82bp0 * r + (log2_table[i].log2 + (double)((int32_t)top / (1 << 23)));

    return high * (r2 * r2) + (low * r2 + y);
}

static float libc_pow(float base, float exponent)
{
    double x = (double)exponent * libc_log2(base);
    double steps = rint(x * 32), r = x - steps / 32, z, scale;
    int64_t k = (int64_t)steps;
    uint64_t scale_bits = exp2_table[k & 31] + ((uint64_t)k << 47);

    memcpy(&scale, &scale_bits, sizeof scale);
    z = 0x1.c6af84b912394p-5 * r + 0x1.ebfce50fac4f3p-3;
    return (float)((z * (r * r) + (0x1.62e42ff0c52d6p-1 * r + 1)) * scale);
}

void wfs_torch_pow(float base, const float *exponents, float *out, size_t n)
{
    size_t in_vectors = n - n % VECTOR_STEP;

    for (size_t i = 0; i < n; i++)
        out[i] = base == 1 ? 1 : i < in_vectors ? sleef_pow(base, exponents[i]) : libc_pow(base, exponents[i]);
}
