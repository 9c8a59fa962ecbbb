/* The vector words that the *_lanes.h templates are written in, for AVX2. */
#ifndef WFS_KERNELS_LANES_AVX2_H
#define WFS_KERNELS_LANES_AVX2_H

#include "lanes_front4.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define LANES 8
typedef __m256 vf;  /* LANES floats */
typedef __m256i vi; /* LANES int32 */
typedef __m256 vm;  /* a truth value per lane: all bits set or none */

#define VF_NAME(name) name##_avx2

static inline vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void vf_store(float *p, vf a) { _mm256_storeu_ps(p, a); }
static inline vf vf_set(float v) { return _mm256_set1_ps(v); }
static inline vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
static inline vf vf_div_where(vm m, vf a, vf b) { return _mm256_and_ps(m, _mm256_div_ps(a, b)); } /* 0 elsewhere */
static inline vf vf_sqrt(vf a) { return _mm256_sqrt_ps(a); }
static inline vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); } /* a < b ? a : b */
static inline vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); } /* a > b ? a : b */
static inline vi vf_bits(vf a) { return _mm256_castps_si256(a); }
static inline vf vi_floats(vi a) { return _mm256_castsi256_ps(a); }
static inline vf vf_abs(vf a) { return vi_floats(_mm256_and_si256(vf_bits(a), _mm256_set1_epi32(0x7fffffff))); }
static inline vf vf_neg(vf a) { return vi_floats(_mm256_xor_si256(vf_bits(a), _mm256_set1_epi32((int)0x80000000u))); }
static inline vf vf_round(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vm vf_gt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
static inline vm vf_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
static inline vm vf_le(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
static inline vm vf_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
static inline vm vf_nan(vf a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
static inline vm vm_none(void) { return _mm256_setzero_ps(); }
static inline vm vm_and(vm a, vm b) { return _mm256_and_ps(a, b); }
static inline vm vm_or(vm a, vm b) { return _mm256_or_ps(a, b); }
static inline vm vm_not(vm a) { return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1))); }
static inline uint32_t vm_bits(vm a) { return (uint32_t)_mm256_movemask_ps(a); } /* bit i = lane i */
static inline vf vf_pick(vm m, vf yes, vf no) { return _mm256_blendv_ps(no, yes, m); }

static inline vi vi_load(const void *p) { return _mm256_loadu_si256(p); }
static inline void vi_store(void *p, vi a) { _mm256_storeu_si256(p, a); }
static inline vi vi_set(int32_t v) { return _mm256_set1_epi32(v); }
static inline vi vi_pick(vm m, vi yes, vi no) { return _mm256_blendv_epi8(no, yes, vf_bits(m)); }
static inline vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
static inline vi vi_or(vi a, vi b) { return _mm256_or_si256(a, b); }
static inline vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
static inline vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
static inline vi vi_min(vi a, vi b) { return _mm256_min_epi32(a, b); }
static inline vi vi_max(vi a, vi b) { return _mm256_max_epi32(a, b); }
static inline vi vi_min_u(vi a, vi b) { return _mm256_min_epu32(a, b); }
static inline vi vi_max_u(vi a, vi b) { return _mm256_max_epu32(a, b); }
#define vi_shl(a, n) _mm256_slli_epi32(a, n)
#define vi_shr(a, n) _mm256_srli_epi32(a, n)
static inline vi vf_trunc(vf a) { return _mm256_cvttps_epi32(a); } /* out of range, NaN: 0x80000000 */
/* bit i = lane i is negative */
static inline uint32_t vi_signs(vi a) { return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(a)); }
static inline uint32_t vi_equal(vi a, vi b) { return vi_signs(_mm256_cmpeq_epi32(a, b)); }
static inline vi vi_low_bytes(vi a) { return _mm256_srai_epi32(_mm256_slli_epi32(a, 24), 24); } /* as int8 */

/* The low byte of each lane. */
static inline void vi_put_bytes(uint8_t *p, vi a)
{
    vi low = _mm256_and_si256(a, _mm256_set1_epi32(0xff));
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));

    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
}

/*
 * LANES 16-bit words from and to memory: widened with zeros, the low halves; and binary16 (nearest even; NaNs made
 * quiet).
 */
static inline vi vi_get_words(const void *p) { return _mm256_cvtepu16_epi32(_mm_loadu_si128(p)); }
static inline vf vf_get_halves(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128(p)); }
static inline void vf_put_halves(void *p, vf a) { _mm_storeu_si128(p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT)); }
static inline void vi_put_words(void *p, vi a)
{
    vi low = _mm256_and_si256(a, _mm256_set1_epi32(0xffff));

    _mm_storeu_si128(p, _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}

/* One float to and from binary16, as above. */
static inline uint16_t half_bits(float v) { return (uint16_t)_cvtss_sh(v, _MM_FROUND_TO_NEAREST_INT); }
static inline float half_value(uint16_t h) { return _cvtsh_ss(h); }

/* LANES bytes from memory, widened with zeros or with their signs. */
static inline vi vi_get_bytes(const void *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64(p)); }
static inline vi vi_get_signed_bytes(const void *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64(p)); }

static inline vf vf_of_ints(vi a) { return _mm256_cvtepi32_ps(a); }
static inline vi vi_mul(vi a, vi b) { return _mm256_mullo_epi32(a, b); } /* the low 32 bits */
static inline vi vi_shr_each(vi a, vi counts) { return _mm256_srlv_epi32(a, counts); }
static inline vi vm_ints(vm m, vi yes) { return _mm256_and_si256(vf_bits(m), yes); } /* 0 where not */
static inline vm vm_of_bits(uint32_t bits) /* the inverse of vm_bits; bits beyond LANES count for nothing */
{
    vi each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);

    return vi_floats(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), each), each));
}
static inline vf vf_lookup(const float table[16], vi index) /* 0 to 15 */
{
    vf low = _mm256_permutevar8x32_ps(vf_load(table), index);
    vf high = _mm256_permutevar8x32_ps(vf_load(table + 8), index);

    return _mm256_blendv_ps(low, high, vi_floats(_mm256_slli_epi32(index, 28)));
}
static inline vf vf_lookup4(const float table[4], vi index) /* its low two bits count */
{
    return _mm256_permutevar_ps(_mm256_broadcast_ps((const __m128 *)table), index);
}

/* a * b + c, rounded once or twice: where a bit does not count. */
static inline vf vf_mul_add(vf a, vf b, vf c) { return vf_add(vf_mul(a, b), c); }
/* On 16-bit words: signed, signed, unsigned; the upper word of each lane of a, and of b above it. */
static inline vi vi_min_words(vi a, vi b) { return _mm256_min_epi16(a, b); }
static inline vi vi_max_words(vi a, vi b) { return _mm256_max_epi16(a, b); }
static inline vi vi_max_words_u(vi a, vi b) { return _mm256_max_epu16(a, b); }
static inline vi vi_high_words(vi a, vi b) { return _mm256_blend_epi16(vi_shr(a, 16), b, 0xaa); }

/* Has any 16-bit word, or int32, all bits of mask set? */
static inline bool vi_any_word_has(vi a, vi mask)
{
    return _mm256_movemask_epi8(_mm256_cmpeq_epi16(vi_and(a, mask), mask)) != 0;
}
static inline bool vi_any_has(vi a, vi mask)
{
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(vi_and(a, mask), mask)) != 0;
}

static inline uint32_t vi_reduce_max_u(vi a)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));

    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

static inline float vf_reduce_min(vf a)
{
    __m128 m = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    m = _mm_min_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_min_ss(m, _mm_movehdup_ps(m)));
}

static inline float vf_reduce_max(vf a)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

/* The lanes where m, one after the other, from p on; LANES may be written. */
static inline __m128i avx2_front(__m128i a, uint32_t chosen)
{
    return _mm_shuffle_epi8(a, _mm_loadu_si128((const __m128i *)lanes_front4[chosen]));
}
static inline void vi_put_where(void *p, vm m, vi a)
{
    uint32_t chosen = vm_bits(m);
    uint8_t *behind = (uint8_t *)p + 4 * __builtin_popcount(chosen & 15);

    _mm_storeu_si128(p, avx2_front(_mm256_castsi256_si128(a), chosen & 15));
    _mm_storeu_si128((__m128i *)behind, avx2_front(_mm256_extracti128_si256(a, 1), chosen >> 4));
}
static inline void vf_put_where(float *p, vm m, vf a) { vi_put_where(p, m, vf_bits(a)); }

/* ret[i] lane j = a[j] lane i; a is used up. */
static inline void vf_transpose_rows(vf a[LANES], vf ret[LANES])
{
    vf b[8];

    for (int i = 0; i < 8; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
        a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
        a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
        a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
    }
    for (int c = 0; c < 4; c++) {
        ret[c] = _mm256_permute2f128_ps(a[c], a[4 + c], 0x20);
        ret[4 + c] = _mm256_permute2f128_ps(a[c], a[4 + c], 0x31);
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

#endif
