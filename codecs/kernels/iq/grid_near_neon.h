/*
 * iq_nearest for NEON, candidates side by side in the lanes: each lane sums its candidate's terms in the plain C
 * version's order. A term depends on a place and a level only, so a group's terms are computed once and looked up. Of
 * equal distances the first one in the list wins, as in plain C. For terms that are numbers.
 */
#ifndef WFS_KERNELS_IQ_GRID_NEAR_NEON_H
#define WFS_KERNELS_IQ_GRID_NEAR_NEON_H

#include "grid_search.h"

/* The terms of a place, of eight levels or of four. */
static inline vf place_terms(float scale, const float *x, const float *root)
{
    static const float values[LANES] = { 1, 3, 5, 7, 9, 11, 13, 15 };
    vf diff = vf_sub(vf_mul(vf_set(scale), vf_load(values)), vf_set(*x));

    return vf_mul(vf_mul(vf_set(*root), diff), diff);
}

/* Of eight terms, those of the levels in the lowest bits of level. */
static inline float32x4_t term_of_8(uint8x16x2_t terms, int32x4_t level)
{
    int32x4_t bytes = vmlaq_n_s32(vdupq_n_s32(0x03020100), vandq_s32(level, vdupq_n_s32(7)), 0x04040404);

    return vreinterpretq_f32_u8(vqtbl2q_u8(terms, vreinterpretq_u8_s32(bytes)));
}

static inline vf distances_4(const uint8x16x2_t terms[4], vi code)
{
    vf d = { term_of_8(terms[0], code.a), term_of_8(terms[0], code.b) };

    for (int i = 1; i < 4; i++) {
        code = vi_shr(code, 4);
        d = vf_add(d, (vf){ term_of_8(terms[i], code.a), term_of_8(terms[i], code.b) });
    }
    return d;
}

static inline vf distances_8(const uint8x16_t terms[8], vi code)
{
    vf d = { neon_lookup4(terms[0], code.a), neon_lookup4(terms[0], code.b) };

    for (int i = 1; i < 8; i++) {
        code = vi_shr(code, 2);
        d = vf_add(d, (vf){ neon_lookup4(terms[i], code.a), neon_lookup4(terms[i], code.b) });
    }
    return d;
}

/* The least distance of each lane so far, and where in the list it was (exact as a float: lists are short). */
struct near_best {
    vf distance, at;
};

static inline struct near_best near_none(void)
{
    return (struct near_best){ vf_set(FLT_MAX), vf_set(0) };
}

/* Candidates first to first + LANES - 1 have these distances; those from count on do not exist. */
static inline void near_judge(struct near_best *best, vf distance, int first, int count)
{
    static const float lane[LANES] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    vf at = vf_add(vf_set((float)first), vf_load(lane));
    vm better = vm_and(vf_lt(distance, best->distance), vf_lt(at, vf_set((float)count)));

    best->distance = vf_pick(better, distance, best->distance);
    best->at = vf_pick(better, at, best->at);
}

/* The first candidate at the least distance. -1: none is below FLT_MAX. */
static inline int near_pick(const struct near_best *best, const uint16_t *near)
{
    float least = vf_reduce_min(best->distance);
    vm equal = vf_eq(best->distance, vf_set(least));

    return least < FLT_MAX ? near[(int)vf_reduce_min(vf_pick(equal, best->at, vf_set(IQG_COUNT)))] : -1;
}

static inline int nearest_4(const struct iq_kind *k, const struct iq_grid *g, unsigned code, const float *x,
                            const float *root, float scale)
{
    uint32_t place = g->place[code];
    const uint16_t *near = g->near + (place >> IQG_BEGIN_SHIFT);
    int count = place & IQG_COUNT;
    struct near_best best = near_none();
    uint8x16x2_t terms[4];

    (void)k;
    for (int i = 0; i < 4; i++) {
        vf t = place_terms(scale, x + i, root + i);

        terms[i].val[0] = vreinterpretq_u8_f32(t.a);
        terms[i].val[1] = vreinterpretq_u8_f32(t.b);
    }
    for (int at = 0; at < count; at += LANES)
        near_judge(&best, distances_4(terms, vi_get_words(near + at)), at, count);
    return near_pick(&best, near);
}

static inline int nearest_8(const struct iq_kind *k, const struct iq_grid *g, unsigned code, const float *x,
                            const float *root, float scale)
{
    uint32_t place = g->place[code];
    const uint16_t *near = g->near + (place >> IQG_BEGIN_SHIFT);
    int count = place & IQG_COUNT;
    struct near_best best = near_none();
    uint8x16_t terms[8];

    (void)k;
    for (int i = 0; i < 8; i++)
        terms[i] = vreinterpretq_u8_f32(place_terms(scale, x + i, root + i).a);
    for (int at = 0; at < count; at += LANES)
        near_judge(&best, distances_8(terms, vi_get_words(near + at)), at, count);
    return near_pick(&best, near);
}

#endif
