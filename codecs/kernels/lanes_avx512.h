/* The vector words that the *_lanes.h templates are written in, for AVX-512 (F, BW, DQ, VL). */
#ifndef WFS_KERNELS_LANES_AVX512_H
#define WFS_KERNELS_LANES_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define LANES 16
typedef __m512 vf;     /* LANES floats */
typedef __m512i vi;    /* LANES int32 */
typedef __mmask16 vm;  /* a truth value per lane */

#define VF_NAME(name) name##_avx512

static inline vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void vf_store(float *p, vf a) { _mm512_storeu_ps(p, a); }
static inline vf vf_set(float v) { return _mm512_set1_ps(v); }
static inline vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
static inline vf vf_div_where(vm m, vf a, vf b) { return _mm512_maskz_div_ps(m, a, b); } /* 0 elsewhere */
static inline vf vf_sqrt(vf a) { return _mm512_sqrt_ps(a); }
static inline vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); } /* a < b ? a : b */
static inline vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); } /* a > b ? a : b */
static inline vi vf_bits(vf a) { return _mm512_castps_si512(a); }
static inline vf vi_floats(vi a) { return _mm512_castsi512_ps(a); }
static inline vf vf_abs(vf a) { return vi_floats(_mm512_and_si512(vf_bits(a), _mm512_set1_epi32(0x7fffffff))); }
static inline vf vf_neg(vf a) { return vi_floats(_mm512_xor_si512(vf_bits(a), _mm512_set1_epi32((int)0x80000000u))); }
static inline vf vf_round(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vm vf_gt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
static inline vm vf_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline vm vf_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
static inline vm vf_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline vm vf_nan(vf a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
static inline vm vm_none(void) { return 0; }
static inline vm vm_and(vm a, vm b) { return _kand_mask16(a, b); } /* & would take them to other registers */
static inline vm vm_or(vm a, vm b) { return _kor_mask16(a, b); }
static inline vm vm_not(vm a) { return _knot_mask16(a); }
static inline uint32_t vm_bits(vm a) { return a; } /* bit i = lane i */
static inline vf vf_pick(vm m, vf yes, vf no) { return _mm512_mask_blend_ps(m, no, yes); }

static inline vi vi_load(const void *p) { return _mm512_loadu_si512(p); }
static inline void vi_store(void *p, vi a) { _mm512_storeu_si512(p, a); }
static inline vi vi_set(int32_t v) { return _mm512_set1_epi32(v); }
static inline vi vi_pick(vm m, vi yes, vi no) { return _mm512_mask_blend_epi32(m, no, yes); }
static inline vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
static inline vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
static inline vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
static inline vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
static inline vi vi_min(vi a, vi b) { return _mm512_min_epi32(a, b); }
static inline vi vi_max(vi a, vi b) { return _mm512_max_epi32(a, b); }
static inline vi vi_min_u(vi a, vi b) { return _mm512_min_epu32(a, b); }
static inline vi vi_max_u(vi a, vi b) { return _mm512_max_epu32(a, b); }
#define vi_shl(a, n) _mm512_slli_epi32(a, n)
#define vi_shr(a, n) _mm512_srli_epi32(a, n)
static inline vi vf_trunc(vf a) { return _mm512_cvttps_epi32(a); } /* out of range, NaN: 0x80000000 */
static inline uint32_t vi_signs(vi a) { return _mm512_movepi32_mask(a); } /* bit i = lane i is negative */
static inline uint32_t vi_equal(vi a, vi b) { return _mm512_cmpeq_epi32_mask(a, b); }
static inline vi vi_low_bytes(vi a) { return _mm512_srai_epi32(_mm512_slli_epi32(a, 24), 24); } /* as int8 */

/* The low byte of each lane. */
static inline void vi_put_bytes(uint8_t *p, vi a) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(a)); }

/*
 * LANES 16-bit words from and to memory: widened with zeros, the low halves; and binary16 (nearest even; NaNs made
 * quiet).
 */
static inline vi vi_get_words(const void *p) { return _mm512_cvtepu16_epi32(_mm256_loadu_si256(p)); }
static inline void vi_put_words(void *p, vi a) { _mm256_storeu_si256(p, _mm512_cvtepi32_epi16(a)); }
static inline vf vf_get_halves(const void *p) { return _mm512_cvtph_ps(_mm256_loadu_si256(p)); }
static inline void vf_put_halves(void *p, vf a)
{
    _mm256_storeu_si256(p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* One float to and from binary16, as above. */
static inline uint16_t half_bits(float v) { return (uint16_t)_cvtss_sh(v, _MM_FROUND_TO_NEAREST_INT); }
static inline float half_value(uint16_t h) { return _cvtsh_ss(h); }

/* LANES bytes from memory, widened with zeros or with their signs. */
static inline vi vi_get_bytes(const void *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128(p)); }
static inline vi vi_get_signed_bytes(const void *p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128(p)); }

static inline vf vf_of_ints(vi a) { return _mm512_cvtepi32_ps(a); }
static inline vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); } /* the low 32 bits */
static inline vi vi_shr_each(vi a, vi counts) { return _mm512_srlv_epi32(a, counts); }
static inline vi vm_ints(vm m, vi yes) { return _mm512_maskz_mov_epi32(m, yes); } /* 0 where not */
static inline vm vm_of_bits(uint32_t bits) { return (vm)bits; } /* the inverse of vm_bits; drops bits beyond LANES */
static inline vf vf_lookup(const float table[16], vi index) /* 0 to 15 */
{
    return _mm512_permutexvar_ps(index, vf_load(table));
}
static inline vf vf_lookup4(const float table[4], vi index) /* its low two bits count */
{
    return _mm512_permutevar_ps(_mm512_broadcast_f32x4(_mm_loadu_ps(table)), index);
}

/* a * b + c, rounded once or twice: where a bit does not count. */
static inline vf vf_mul_add(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
/* On 16-bit words: signed, signed, unsigned; the upper word of each lane of a, and of b above it. */
static inline vi vi_min_words(vi a, vi b) { return _mm512_min_epi16(a, b); }
static inline vi vi_max_words(vi a, vi b) { return _mm512_max_epi16(a, b); }
static inline vi vi_max_words_u(vi a, vi b) { return _mm512_max_epu16(a, b); }
static inline vi vi_high_words(vi a, vi b) { return _mm512_mask_mov_epi16(vi_shr(a, 16), 0xaaaaaaaa, b); }

/* Has any 16-bit word, or int32, all bits of mask set? */
static inline bool vi_any_word_has(vi a, vi mask) { return _mm512_cmpeq_epi16_mask(vi_and(a, mask), mask); }
static inline bool vi_any_has(vi a, vi mask) { return _mm512_cmpeq_epi32_mask(vi_and(a, mask), mask); }

static inline uint32_t vi_reduce_max_u(vi a) { return _mm512_reduce_max_epu32(a); }
static inline float vf_reduce_min(vf a) { return _mm512_reduce_min_ps(a); }
static inline float vf_reduce_max(vf a) { return _mm512_reduce_max_ps(a); }

/* The lanes where m, one after the other, from p on; LANES may be written. */
static inline void vi_put_where(void *p, vm m, vi a) { vi_store(p, _mm512_maskz_compress_epi32(m, a)); }
static inline void vf_put_where(float *p, vm m, vf a) { vf_store(p, _mm512_maskz_compress_ps(m, a)); }

/* ret[i] lane j = a[j] lane i; a is used up. */
static inline void vf_transpose_rows(vf a[LANES], vf ret[LANES])
{
    vf b[16];

    for (int i = 0; i < 16; i += 2) { /* pairs of rows: 1-element then 2-element interleave within 128 bits */
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        __m512d lo0 = _mm512_castps_pd(b[i]), hi0 = _mm512_castps_pd(b[i + 1]);
        __m512d lo1 = _mm512_castps_pd(b[i + 2]), hi1 = _mm512_castps_pd(b[i + 3]);

        a[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(lo0, lo1));
        a[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(lo0, lo1));
        a[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(hi0, hi1));
        a[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(hi0, hi1));
    }
    /* a[4g + c]: 128-bit part k holds column 4k + c of rows 4g..4g+3; now the 4 x 4 of parts is transposed */
    for (int c = 0; c < 4; c++) {
        vf p01 = _mm512_shuffle_f32x4(a[c], a[4 + c], 0x44), q01 = _mm512_shuffle_f32x4(a[c], a[4 + c], 0xee);
        vf p23 = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0x44), q23 = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0xee);

        ret[c] = _mm512_shuffle_f32x4(p01, p23, 0x88);
        ret[4 + c] = _mm512_shuffle_f32x4(p01, p23, 0xdd);
        ret[8 + c] = _mm512_shuffle_f32x4(q01, q23, 0x88);
        ret[12 + c] = _mm512_shuffle_f32x4(q01, q23, 0xdd);
    }
}

#include "lanes_transpose.h"

/* Words of half as many lanes, where there is not enough for LANES. */
#define SHORT_LANES 8
typedef __m256 vs;
typedef __mmask8 vsm;

static inline vs vs_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void vs_store(float *p, vs a) { _mm256_storeu_ps(p, a); }
static inline vs vs_set(float v) { return _mm256_set1_ps(v); }
static inline vs vs_add(vs a, vs b) { return _mm256_add_ps(a, b); }
static inline vs vs_sub(vs a, vs b) { return _mm256_sub_ps(a, b); }
static inline vs vs_mul(vs a, vs b) { return _mm256_mul_ps(a, b); }
static inline vs vs_div(vs a, vs b) { return _mm256_div_ps(a, b); }
static inline vs vs_min(vs a, vs b) { return _mm256_min_ps(a, b); } /* a < b ? a : b */
static inline vsm vs_lt(vs a, vs b) { return _mm256_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline vs vs_pick(vsm m, vs yes, vs no) { return _mm256_mask_blend_ps(m, no, yes); }

#endif
