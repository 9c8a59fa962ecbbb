/*
 * The vector words that the *_lanes.h templates are written in, for NEON (aarch64). A lane word is two registers, so
 * that the templates find as many lanes as with AVX2. Minima, maxima and conversions give what x86's instructions give.
 */
#ifndef WFS_KERNELS_LANES_NEON_H
#define WFS_KERNELS_LANES_NEON_H

#include "lanes_front4.h"

#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANES 8
typedef struct { float32x4_t a, b; } vf; /* LANES floats */
typedef struct { int32x4_t a, b; } vi;   /* LANES int32 */
typedef struct { uint32x4_t a, b; } vm;  /* a truth value per lane: all bits set or none */

#define VF_NAME(name) name##_neon

/* Both registers of a word. */
#define NEON_1(ret, name, arg, op) \
    static inline ret name(arg x) { return (ret){ op(x.a), op(x.b) }; }
#define NEON_2(ret, name, arg, op) \
    static inline ret name(arg x, arg y) { return (ret){ op(x.a, y.a), op(x.b, y.b) }; }

/* a < b ? a : b, and a > b ? a : b: the second where one is NaN, and of two zeros */
static inline float32x4_t neon_min(float32x4_t a, float32x4_t b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
static inline float32x4_t neon_max(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
static inline int32x4_t neon_min_u(int32x4_t a, int32x4_t b)
{
    return vreinterpretq_s32_u32(vminq_u32(vreinterpretq_u32_s32(a), vreinterpretq_u32_s32(b)));
}
static inline int32x4_t neon_max_u(int32x4_t a, int32x4_t b)
{
    return vreinterpretq_s32_u32(vmaxq_u32(vreinterpretq_u32_s32(a), vreinterpretq_u32_s32(b)));
}

static inline vf vf_load(const float *p) { return (vf){ vld1q_f32(p), vld1q_f32(p + 4) }; }
static inline void vf_store(float *p, vf x)
{
    vst1q_f32(p, x.a);
    vst1q_f32(p + 4, x.b);
}
static inline vf vf_set(float v) { return (vf){ vdupq_n_f32(v), vdupq_n_f32(v) }; }
NEON_2(vf, vf_add, vf, vaddq_f32)
NEON_2(vf, vf_sub, vf, vsubq_f32)
NEON_2(vf, vf_mul, vf, vmulq_f32)
NEON_2(vf, vf_div, vf, vdivq_f32)
static inline vf vf_div_where(vm m, vf x, vf y) /* 0 elsewhere */
{
    float32x4_t zero = vdupq_n_f32(0);

    return (vf){ vbslq_f32(m.a, vdivq_f32(x.a, y.a), zero), vbslq_f32(m.b, vdivq_f32(x.b, y.b), zero) };
}
NEON_1(vf, vf_sqrt, vf, vsqrtq_f32)
NEON_2(vf, vf_min, vf, neon_min)
NEON_2(vf, vf_max, vf, neon_max)
NEON_1(vi, vf_bits, vf, vreinterpretq_s32_f32)
NEON_1(vf, vi_floats, vi, vreinterpretq_f32_s32)
NEON_1(vf, vf_abs, vf, vabsq_f32)
NEON_1(vf, vf_neg, vf, vnegq_f32)
NEON_1(vf, vf_round, vf, vrndnq_f32) /* halves to even */
NEON_2(vm, vf_gt, vf, vcgtq_f32)
NEON_2(vm, vf_lt, vf, vcltq_f32)
NEON_2(vm, vf_le, vf, vcleq_f32)
NEON_2(vm, vf_eq, vf, vceqq_f32)
static inline vm vf_nan(vf x) { return (vm){ vmvnq_u32(vceqq_f32(x.a, x.a)), vmvnq_u32(vceqq_f32(x.b, x.b)) }; }
static inline vm vm_none(void) { return (vm){ vdupq_n_u32(0), vdupq_n_u32(0) }; }
NEON_2(vm, vm_and, vm, vandq_u32)
NEON_2(vm, vm_or, vm, vorrq_u32)
NEON_1(vm, vm_not, vm, vmvnq_u32)
static inline uint32_t vm_bits(vm x) /* bit i = lane i */
{
    static const uint32_t bits[8] = { 1, 2, 4, 8, 16, 32, 64, 128 };

    return vaddvq_u32(vorrq_u32(vandq_u32(x.a, vld1q_u32(bits)), vandq_u32(x.b, vld1q_u32(bits + 4))));
}
static inline vf vf_pick(vm m, vf yes, vf no)
{
    return (vf){ vbslq_f32(m.a, yes.a, no.a), vbslq_f32(m.b, yes.b, no.b) };
}

static inline vi vi_load(const void *p)
{
    const uint8_t *bytes = p;

    return (vi){ vreinterpretq_s32_u8(vld1q_u8(bytes)), vreinterpretq_s32_u8(vld1q_u8(bytes + 16)) };
}
static inline void vi_store(void *p, vi x)
{
    uint8_t *bytes = p;

    vst1q_u8(bytes, vreinterpretq_u8_s32(x.a));
    vst1q_u8(bytes + 16, vreinterpretq_u8_s32(x.b));
}
static inline vi vi_set(int32_t v) { return (vi){ vdupq_n_s32(v), vdupq_n_s32(v) }; }
static inline vi vi_pick(vm m, vi yes, vi no)
{
    return (vi){ vbslq_s32(m.a, yes.a, no.a), vbslq_s32(m.b, yes.b, no.b) };
}
NEON_2(vi, vi_and, vi, vandq_s32)
NEON_2(vi, vi_or, vi, vorrq_s32)
NEON_2(vi, vi_add, vi, vaddq_s32)
NEON_2(vi, vi_sub, vi, vsubq_s32)
NEON_2(vi, vi_min, vi, vminq_s32)
NEON_2(vi, vi_max, vi, vmaxq_s32)
NEON_2(vi, vi_min_u, vi, neon_min_u)
NEON_2(vi, vi_max_u, vi, neon_max_u)
static inline vi vi_shl(vi x, int n) { return (vi){ vshlq_s32(x.a, vdupq_n_s32(n)), vshlq_s32(x.b, vdupq_n_s32(n)) }; }
static inline int32x4_t neon_shr(int32x4_t x, int32x4_t n) /* zeros come in */
{
    return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(x), vnegq_s32(n)));
}
static inline vi vi_shr(vi x, int n) { return (vi){ neon_shr(x.a, vdupq_n_s32(n)), neon_shr(x.b, vdupq_n_s32(n)) }; }
NEON_2(vi, vi_shr_each, vi, neon_shr)
static inline int32x4_t neon_trunc(float32x4_t x)
{
    uint32x4_t fits = vandq_u32(vcgeq_f32(x, vdupq_n_f32(-0x1p31f)), vcltq_f32(x, vdupq_n_f32(0x1p31f)));

    return vbslq_s32(fits, vcvtq_s32_f32(x), vdupq_n_s32(INT32_MIN));
}
NEON_1(vi, vf_trunc, vf, neon_trunc) /* out of range, NaN: 0x80000000 */
/* bit i = lane i is negative */
static inline uint32_t vi_signs(vi x) { return vm_bits((vm){ vcltzq_s32(x.a), vcltzq_s32(x.b) }); }
static inline uint32_t vi_equal(vi x, vi y) { return vm_bits((vm){ vceqq_s32(x.a, y.a), vceqq_s32(x.b, y.b) }); }
static inline vi vi_low_bytes(vi x) /* as int8 */
{
    return (vi){ vshrq_n_s32(vshlq_n_s32(x.a, 24), 24), vshrq_n_s32(vshlq_n_s32(x.b, 24), 24) };
}

/* The low halves of the lanes, and back, widened with zeros. */
static inline uint16x8_t neon_words(vi x)
{
    return vcombine_u16(vmovn_u32(vreinterpretq_u32_s32(x.a)), vmovn_u32(vreinterpretq_u32_s32(x.b)));
}
static inline vi neon_widened(uint16x8_t w)
{
    return (vi){ vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(w))), vreinterpretq_s32_u32(vmovl_high_u16(w)) };
}

/* The low byte of each lane. */
static inline void vi_put_bytes(uint8_t *p, vi x) { vst1_u8(p, vmovn_u16(neon_words(x))); }

/*
 * LANES 16-bit words from and to memory: widened with zeros, the low halves; and binary16 (nearest even; NaNs made
 * quiet).
 */
static inline uint16x8_t neon_load_words(const void *p) { return vreinterpretq_u16_u8(vld1q_u8(p)); }
static inline void neon_store_words(void *p, uint16x8_t w) { vst1q_u8(p, vreinterpretq_u8_u16(w)); }
static inline vi vi_get_words(const void *p) { return neon_widened(neon_load_words(p)); }
static inline void vi_put_words(void *p, vi x) { neon_store_words(p, neon_words(x)); }
static inline vf vf_get_halves(const void *p)
{
    float16x8_t h = vreinterpretq_f16_u16(neon_load_words(p));

    return (vf){ vcvt_f32_f16(vget_low_f16(h)), vcvt_high_f32_f16(h) };
}
static inline void vf_put_halves(void *p, vf x)
{
    neon_store_words(p, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(x.a), x.b)));
}

/* One float to and from binary16, as above. */
static inline uint16_t half_bits(float v)
{
    return vget_lane_u16(vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(v))), 0);
}
static inline float half_value(uint16_t h)
{
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h))), 0);
}

/* LANES bytes from memory, widened with zeros or with their signs. */
static inline vi vi_get_bytes(const void *p) { return neon_widened(vmovl_u8(vld1_u8(p))); }
static inline vi vi_get_signed_bytes(const void *p)
{
    int16x8_t w = vmovl_s8(vld1_s8(p));

    return (vi){ vmovl_s16(vget_low_s16(w)), vmovl_high_s16(w) };
}

NEON_1(vf, vf_of_ints, vi, vcvtq_f32_s32)
NEON_2(vi, vi_mul, vi, vmulq_s32) /* the low 32 bits */
static inline vi vm_ints(vm m, vi yes) /* 0 where not */
{
    return (vi){ vandq_s32(vreinterpretq_s32_u32(m.a), yes.a), vandq_s32(vreinterpretq_s32_u32(m.b), yes.b) };
}
static inline vm vm_of_bits(uint32_t bits) /* the inverse of vm_bits; bits beyond LANES count for nothing */
{
    static const uint32_t each[8] = { 1, 2, 4, 8, 16, 32, 64, 128 };

    return (vm){ vtstq_u32(vdupq_n_u32(bits), vld1q_u32(each)), vtstq_u32(vdupq_n_u32(bits), vld1q_u32(each + 4)) };
}
static inline float32x4_t neon_lookup(uint8x16x4_t table, int32x4_t index)
{
    int32x4_t bytes = vmlaq_n_s32(vdupq_n_s32(0x03020100), index, 0x04040404); /* 4 * index + 0, 1, 2, 3 */

    return vreinterpretq_f32_u8(vqtbl4q_u8(table, vreinterpretq_u8_s32(bytes)));
}
static inline vf vf_lookup(const float table[16], vi index) /* 0 to 15 */
{
    uint8x16x4_t t;

    for (int i = 0; i < 4; i++)
        t.val[i] = vreinterpretq_u8_f32(vld1q_f32(table + 4 * i));
    return (vf){ neon_lookup(t, index.a), neon_lookup(t, index.b) };
}
static inline float32x4_t neon_lookup4(uint8x16_t table, int32x4_t index)
{
    int32x4_t bytes = vmlaq_n_s32(vdupq_n_s32(0x03020100), vandq_s32(index, vdupq_n_s32(3)), 0x04040404);

    return vreinterpretq_f32_u8(vqtbl1q_u8(table, vreinterpretq_u8_s32(bytes)));
}
static inline vf vf_lookup4(const float table[4], vi index) /* its low two bits count */
{
    uint8x16_t t = vreinterpretq_u8_f32(vld1q_f32(table));

    return (vf){ neon_lookup4(t, index.a), neon_lookup4(t, index.b) };
}

/* a * b + c, rounded once or twice: where a bit does not count. */
static inline vf vf_mul_add(vf x, vf y, vf z) { return vf_add(vf_mul(x, y), z); }
/* On 16-bit words: signed, signed, unsigned; the upper word of each lane of a, and of b above it. */
#define NEON_WORDS(ret, op, x, y) \
    vreinterpretq_s32_##ret(op(vreinterpretq_##ret##_s32(x), vreinterpretq_##ret##_s32(y)))
static inline vi vi_min_words(vi x, vi y)
{
    return (vi){ NEON_WORDS(s16, vminq_s16, x.a, y.a), NEON_WORDS(s16, vminq_s16, x.b, y.b) };
}
static inline vi vi_max_words(vi x, vi y)
{
    return (vi){ NEON_WORDS(s16, vmaxq_s16, x.a, y.a), NEON_WORDS(s16, vmaxq_s16, x.b, y.b) };
}
static inline vi vi_max_words_u(vi x, vi y)
{
    return (vi){ NEON_WORDS(u16, vmaxq_u16, x.a, y.a), NEON_WORDS(u16, vmaxq_u16, x.b, y.b) };
}
static inline vi vi_high_words(vi x, vi y)
{
    return (vi){ NEON_WORDS(s16, vtrn2q_s16, x.a, y.a), NEON_WORDS(s16, vtrn2q_s16, x.b, y.b) };
}
#undef NEON_WORDS

/* Has any 16-bit word, or int32, all bits of mask set? */
static inline uint16x8_t neon_words_have(int32x4_t x, int32x4_t mask)
{
    return vceqq_u16(vreinterpretq_u16_s32(vandq_s32(x, mask)), vreinterpretq_u16_s32(mask));
}
static inline bool vi_any_word_has(vi x, vi mask)
{
    return vmaxvq_u16(vorrq_u16(neon_words_have(x.a, mask.a), neon_words_have(x.b, mask.b))) != 0;
}
static inline bool vi_any_has(vi x, vi mask)
{
    return vmaxvq_u32(vorrq_u32(vceqq_s32(vandq_s32(x.a, mask.a), mask.a),
                                vceqq_s32(vandq_s32(x.b, mask.b), mask.b))) != 0;
}

static inline uint32_t vi_reduce_max_u(vi x) { return vmaxvq_u32(vreinterpretq_u32_s32(neon_max_u(x.a, x.b))); }

/* Of numbers. Which one of two zeros comes out is not told. */
static inline float vf_reduce_min(vf x) { return vminnmvq_f32(vminnmq_f32(x.a, x.b)); }
static inline float vf_reduce_max(vf x) { return vmaxnmvq_f32(vmaxnmq_f32(x.a, x.b)); }

static inline void neon_transpose(const float32x4_t in[4], float32x4_t ret[4])
{
    float32x4_t even0 = vtrn1q_f32(in[0], in[1]), odd0 = vtrn2q_f32(in[0], in[1]);
    float32x4_t even1 = vtrn1q_f32(in[2], in[3]), odd1 = vtrn2q_f32(in[2], in[3]);

    ret[0] = vcombine_f32(vget_low_f32(even0), vget_low_f32(even1));
    ret[1] = vcombine_f32(vget_low_f32(odd0), vget_low_f32(odd1));
    ret[2] = vcombine_f32(vget_high_f32(even0), vget_high_f32(even1));
    ret[3] = vcombine_f32(vget_high_f32(odd0), vget_high_f32(odd1));
}

/* The lanes where m, one after the other, from p on; LANES may be written. */
static inline uint8x16_t neon_front(int32x4_t x, uint32_t chosen)
{
    return vqtbl1q_u8(vreinterpretq_u8_s32(x), vld1q_u8(lanes_front4[chosen]));
}
static inline void vi_put_where(void *p, vm m, vi x)
{
    uint32_t chosen = vm_bits(m);

    vst1q_u8(p, neon_front(x.a, chosen & 15));
    vst1q_u8((uint8_t *)p + 4 * __builtin_popcount(chosen & 15), neon_front(x.b, chosen >> 4));
}
static inline void vf_put_where(float *p, vm m, vf x) { vi_put_where(p, m, vf_bits(x)); }

/* ret[i] lane j = a[j] lane i; a is used up. */
static inline void vf_transpose_rows(vf a[LANES], vf ret[LANES])
{
    for (int column = 0; column < 8; column += 4) {
        float32x4_t rows[8], out[8];

        for (int row = 0; row < 8; row++)
            rows[row] = column ? a[row].b : a[row].a;
        neon_transpose(rows, out);
        neon_transpose(rows + 4, out + 4);
        for (int i = 0; i < 4; i++)
            ret[column + i] = (vf){ out[i], out[4 + i] };
    }
}

#include "lanes_transpose.h"

/* Words for where there may not be enough for many lanes (with AVX-512 they have half as many): the same here. */
#define SHORT_LANES LANES
typedef vf vs;
typedef vm vsm;

static inline vs vs_load(const float *p) { return vf_load(p); }
static inline void vs_store(float *p, vs a) { vf_store(p, a); }
static inline vs vs_set(float v) { return vf_set(v); }
static inline vs vs_add(vs a, vs b) { return vf_add(a, b); }
static inline vs vs_sub(vs a, vs b) { return vf_sub(a, b); }
static inline vs vs_mul(vs a, vs b) { return vf_mul(a, b); }
static inline vs vs_div(vs a, vs b) { return vf_div(a, b); }
static inline vs vs_min(vs a, vs b) { return vf_min(a, b); }
static inline vsm vs_lt(vs a, vs b) { return vf_lt(a, b); }
static inline vs vs_pick(vsm m, vs yes, vs no) { return vf_pick(m, yes, no); }

#undef NEON_1
#undef NEON_2

#endif
