/*
 * iq_nearest for x86, candidates side by side in the lanes: each lane sums its candidate's terms in the plain C
 * version's order. A term depends on a place and a level only, so a group's terms are computed once and looked up by
 * permutations. Of equal distances the first one in the list wins, as in plain C. For terms that are numbers.
 */
#ifndef WFS_KERNELS_IQ_GRID_NEAR_X86_H
#define WFS_KERNELS_IQ_GRID_NEAR_X86_H

#include "grid_search.h"

/* The lowest of 8 candidates' indexes j that are at the least distance. -1: none is below FLT_MAX. */
static inline int first_least_256(__m256 distance, __m256i j)
{
    __m128 m = _mm_min_ps(_mm256_castps256_ps128(distance), _mm256_extractf128_ps(distance, 1));
    __m128i low;
    __m256 least;
    unsigned at;

    m = _mm_min_ps(m, _mm_movehl_ps(m, m));
    m = _mm_min_ss(m, _mm_movehdup_ps(m));
    if (!(_mm_cvtss_f32(m) < FLT_MAX))
        return -1;
    least = _mm256_cmp_ps(distance, _mm256_broadcastss_ps(m), _CMP_EQ_OQ);
    at = (unsigned)_mm256_movemask_ps(least);
    if (!(at & (at - 1))) {
        uint32_t each[8];

        _mm256_storeu_si256((__m256i *)each, j);
        return (int)each[__builtin_ctz(at)];
    }
    j = _mm256_or_si256(j, _mm256_andnot_si256(_mm256_castps_si256(least), _mm256_set1_epi32(INT32_MAX)));
    low = _mm_min_epi32(_mm256_castsi256_si128(j), _mm256_extracti128_si256(j, 1));
    low = _mm_min_epi32(low, _mm_shuffle_epi32(low, 0x4e));
    low = _mm_min_epi32(low, _mm_shuffle_epi32(low, 0xb1));
    return _mm_cvtsi128_si32(low);
}

/* The best of a list by 8: `lookup` gives the distances for 8 codes. */
#define BEST_OF_256(near, count, code, lookup, ret)                                                                \
    do {                                                                                                           \
        __m256 best_ = _mm256_set1_ps(FLT_MAX);                                                                    \
        __m256i j_ = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), best_j_ = j_, n_ = _mm256_set1_epi32(count);       \
                                                                                                                   \
        for (int at_ = 0; at_ < (count); at_ += 8) {                                                               \
            __m256i code = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)((near) + at_)));                \
            __m256 d_ = (lookup);                                                                                  \
            __m256 better_ = _mm256_and_ps(_mm256_cmp_ps(d_, best_, _CMP_LT_OQ),                                   \
                                           _mm256_castsi256_ps(_mm256_cmpgt_epi32(n_, j_)));                       \
                                                                                                                   \
            best_ = _mm256_blendv_ps(best_, d_, better_);                                                          \
            best_j_ = _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(best_j_), _mm256_castsi256_ps(j_),  \
                                                           better_));                                              \
            j_ = _mm256_add_epi32(j_, _mm256_set1_epi32(8));                                                       \
        }                                                                                                          \
        (ret) = first_least_256(best_, best_j_);                                                                   \
    } while (0)

#if LANES == 16
static inline __mmask16 first_lanes(int n)
{
    return (__mmask16)((1u << (n < 16 ? n : 16)) - 1);
}

/* As BEST_OF_256, by 16. */
#define BEST_OF_512(near, count, code, lookup, ret)                                                                \
    do {                                                                                                           \
        __m512i code = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(near)));                         \
        __m512 best_ = _mm512_mask_mov_ps(_mm512_set1_ps(FLT_MAX), first_lanes(count), lookup);            \
        __m512i best_at_ = _mm512_setzero_si512();                                                                 \
                                                                                                                   \
        for (int at_ = 16; at_ < (count); at_ += 16) {                                                             \
            code = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)((near) + at_)));                     \
            __m512 d_ = (lookup);                                                                                  \
            __mmask16 better_ = _mm512_mask_cmp_ps_mask(first_lanes((count) - at_), d_, best_, _CMP_LT_OQ);        \
                                                                                                                   \
            best_ = _mm512_mask_mov_ps(best_, better_, d_);                                                        \
            best_at_ = _mm512_mask_mov_epi32(best_at_, better_, _mm512_set1_epi32(at_));                           \
        }                                                                                                          \
        (ret) = first_least_512(best_, best_at_, count);                                                           \
    } while (0)

/* at: of each lane, the index in the list where its 16 candidates began. */
static inline int first_least_512(__m512 distance, __m512i at, int count)
{
    float least = _mm512_reduce_min_ps(distance);
    __mmask16 lanes = _mm512_cmp_ps_mask(distance, _mm512_set1_ps(least), _CMP_EQ_OQ);

    if (!(least < FLT_MAX))
        return -1;
    if (count <= 16)
        return __builtin_ctz(lanes);
    at = _mm512_add_epi32(at, _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    return _mm512_mask_reduce_min_epi32(lanes, at);
}
#endif

/* Of one place of IQ3, 8 levels. */
static inline __m256 place_terms_4(__m256 scaled, const float *x, const float *root)
{
    __m256 diff = _mm256_sub_ps(scaled, _mm256_broadcast_ss(x));

    return _mm256_mul_ps(_mm256_mul_ps(_mm256_broadcast_ss(root), diff), diff);
}

#if LANES == 16
/* The levels are below 8, so that the upper halves do not count. */
static inline __m512 distances_4(const __m512 t[4], __m512i code)
{
    __m512 d = _mm512_permutexvar_ps(code, t[0]);

    d = _mm512_add_ps(d, _mm512_permutexvar_ps(_mm512_srli_epi32(code, 4), t[1]));
    d = _mm512_add_ps(d, _mm512_permutexvar_ps(_mm512_srli_epi32(code, 8), t[2]));
    return _mm512_add_ps(d, _mm512_permutexvar_ps(_mm512_srli_epi32(code, 12), t[3]));
}

static inline int nearest_4(const struct iq_kind *k, const struct iq_grid *g, unsigned code, const float *x,
                            const float *root, float scale)
{
    uint32_t place = g->place[code];
    const uint16_t *near = g->near + (place >> IQG_BEGIN_SHIFT);
    int count = place & IQG_COUNT, j;
    __m256 scaled = _mm256_mul_ps(_mm256_set1_ps(scale), _mm256_setr_ps(1, 3, 5, 7, 9, 11, 13, 15));
    __m512 t[4];

    (void)k;
    for (int i = 0; i < 4; i++)
        t[i] = _mm512_castps256_ps512(place_terms_4(scaled, x + i, root + i));
    BEST_OF_512(near, count, codes, distances_4(t, codes), j);
    return j < 0 ? -1 : near[j];
}
#else
static inline __m256 distances_4(const __m256 t[4], __m256i code)
{
    __m256 d = _mm256_permutevar8x32_ps(t[0], code);

    d = _mm256_add_ps(d, _mm256_permutevar8x32_ps(t[1], _mm256_srli_epi32(code, 4)));
    d = _mm256_add_ps(d, _mm256_permutevar8x32_ps(t[2], _mm256_srli_epi32(code, 8)));
    return _mm256_add_ps(d, _mm256_permutevar8x32_ps(t[3], _mm256_srli_epi32(code, 12)));
}

static inline int nearest_4(const struct iq_kind *k, const struct iq_grid *g, unsigned code, const float *x,
                            const float *root, float scale)
{
    uint32_t place = g->place[code];
    const uint16_t *near = g->near + (place >> IQG_BEGIN_SHIFT);
    int count = place & IQG_COUNT, j;
    __m256 scaled, t[4];

    (void)k;
    scaled = _mm256_mul_ps(_mm256_set1_ps(scale), _mm256_setr_ps(1, 3, 5, 7, 9, 11, 13, 15));
    for (int i = 0; i < 4; i++)
        t[i] = place_terms_4(scaled, x + i, root + i);
    BEST_OF_256(near, count, codes, distances_4(t, codes), j);
    return j < 0 ? -1 : near[j];
}
#endif

#if LANES == 16
/* The terms of 4 places of IQ2, 4 levels each (of which the fourth does not occur). */
static inline __m512 place_terms_8(__m512 scaled, const float *x, const float *root)
{
    __m512i each = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    __m512 xs = _mm512_permutexvar_ps(each, _mm512_castps128_ps512(_mm_loadu_ps(x)));
    __m512 ws = _mm512_permutexvar_ps(each, _mm512_castps128_ps512(_mm_loadu_ps(root)));
    __m512 diff = _mm512_sub_ps(scaled, xs);

    return _mm512_mul_ps(_mm512_mul_ps(ws, diff), diff);
}

/* t[0] holds the sums of the terms of the first two places, of all pairs of levels; t[i], i > 1, those of place i. */
static inline __m512 distances_8(const __m512 t[8], __m512i code)
{
    __m512 d = _mm512_permutexvar_ps(code, t[0]);

    d = _mm512_add_ps(d, _mm512_permutevar_ps(t[2], _mm512_srli_epi32(code, 4)));
    d = _mm512_add_ps(d, _mm512_permutevar_ps(t[3], _mm512_srli_epi32(code, 6)));
    d = _mm512_add_ps(d, _mm512_permutevar_ps(t[4], _mm512_srli_epi32(code, 8)));
    d = _mm512_add_ps(d, _mm512_permutevar_ps(t[5], _mm512_srli_epi32(code, 10)));
    d = _mm512_add_ps(d, _mm512_permutevar_ps(t[6], _mm512_srli_epi32(code, 12)));
    return _mm512_add_ps(d, _mm512_permutevar_ps(t[7], _mm512_srli_epi32(code, 14)));
}

static inline void all_terms_8(float scale, const float *x, const float *root, __m512 t[8])
{
    __m512 q = _mm512_setr_ps(1, 3, 5, 7, 1, 3, 5, 7, 1, 3, 5, 7, 1, 3, 5, 7);
    __m512 scaled = _mm512_mul_ps(_mm512_set1_ps(scale), q), low, high;

    low = place_terms_8(scaled, x, root);
    high = place_terms_8(scaled, x + 4, root + 4);
    t[0] = _mm512_add_ps(_mm512_shuffle_f32x4(low, low, 0x00),
                         _mm512_permutexvar_ps(
                             _mm512_setr_epi32(4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7), low));
    t[2] = _mm512_shuffle_f32x4(low, low, 0xaa);
    t[3] = _mm512_shuffle_f32x4(low, low, 0xff);
    t[4] = _mm512_shuffle_f32x4(high, high, 0x00);
    t[5] = _mm512_shuffle_f32x4(high, high, 0x55);
    t[6] = _mm512_shuffle_f32x4(high, high, 0xaa);
    t[7] = _mm512_shuffle_f32x4(high, high, 0xff);
}

static inline int nearest_8(const struct iq_kind *k, const struct iq_grid *g, unsigned code, const float *x,
                            const float *root, float scale)
{
    uint32_t place = g->place[code];
    const uint16_t *near = g->near + (place >> IQG_BEGIN_SHIFT);
    int count = place & IQG_COUNT;
    __m512 t[8];
    int j;

    (void)k;
    all_terms_8(scale, x, root, t);
    BEST_OF_512(near, count, codes, distances_8(t, codes), j);
    return j < 0 ? -1 : near[j];
}
#else
static inline __m256 distances_8(const __m256 t[8], __m256i code)
{
    __m256 d = _mm256_permutevar_ps(t[0], code);

    d = _mm256_add_ps(d, _mm256_permutevar_ps(t[1], _mm256_srli_epi32(code, 2)));
    d = _mm256_add_ps(d, _mm256_permutevar_ps(t[2], _mm256_srli_epi32(code, 4)));
    d = _mm256_add_ps(d, _mm256_permutevar_ps(t[3], _mm256_srli_epi32(code, 6)));
    d = _mm256_add_ps(d, _mm256_permutevar_ps(t[4], _mm256_srli_epi32(code, 8)));
    d = _mm256_add_ps(d, _mm256_permutevar_ps(t[5], _mm256_srli_epi32(code, 10)));
    d = _mm256_add_ps(d, _mm256_permutevar_ps(t[6], _mm256_srli_epi32(code, 12)));
    return _mm256_add_ps(d, _mm256_permutevar_ps(t[7], _mm256_srli_epi32(code, 14)));
}

static inline int nearest_8(const struct iq_kind *k, const struct iq_grid *g, unsigned code, const float *x,
                            const float *root, float scale)
{
    uint32_t place = g->place[code];
    const uint16_t *near = g->near + (place >> IQG_BEGIN_SHIFT);
    int count = place & IQG_COUNT, j;
    __m256 scaled, t[8];

    (void)k;
    scaled = _mm256_mul_ps(_mm256_set1_ps(scale), _mm256_setr_ps(1, 3, 5, 7, 1, 3, 5, 7));
    for (int i = 0; i < 8; i += 2) { /* two places, 4 levels each */
        __m256 xs = _mm256_set_m128(_mm_broadcast_ss(x + i + 1), _mm_broadcast_ss(x + i));
        __m256 ws = _mm256_set_m128(_mm_broadcast_ss(root + i + 1), _mm_broadcast_ss(root + i));
        __m256 diff = _mm256_sub_ps(scaled, xs), both = _mm256_mul_ps(_mm256_mul_ps(ws, diff), diff);

        t[i] = _mm256_permute2f128_ps(both, both, 0x00);
        t[i + 1] = _mm256_permute2f128_ps(both, both, 0x11);
    }
    BEST_OF_256(near, count, codes, distances_8(t, codes), j);
    return j < 0 ? -1 : near[j];
}
#endif

#endif
