/*
 * Template of the search of the grid types for one instruction set; include a lanes_*.h first. One sub-block per lane
 * for levels, sums and decisions: each lane does the plain C version's operations in its order. The neighbours of a
 * group are sought for all slopes together (grid_runs_lanes.h), and once more for the best scale, where they are
 * compared side by side (grid_near_x86.h, grid_near_neon.h).
 *
 * Left to plain C, sub-block by sub-block: what is no number, weights below zero, magnitudes for which a sum could
 * become infinite, and slopes for which ggml's rounding could wrap.
 */
#ifndef WFS_KERNELS_IQ_GRID_LANES_H
#define WFS_KERNELS_IQ_GRID_LANES_H

#if defined(__x86_64__)
#include "grid_near_x86.h"
#else
#include "grid_near_neon.h"
#endif

#include "grid_runs_lanes.h"

enum { IQ_LANE_STRIDE = sizeof(struct iq_sub) / sizeof(float) };

/* The blocks of a row that are taken at once: as many as fill the lanes with sub-blocks of 32. */
enum { IQ_AT_ONCE = 2 };

struct iq_blocks {
    const float *x, *importance; /* importance may be NULL */
    float mean_square[IQ_AT_ONCE];
    int n_subs;
    struct iq_found found[IQ_AT_ONCE];
    uint32_t bad; /* bit b: block b is to be refused */
};

/* LANES sub-blocks. */
struct iq_lanes {
    struct iq_sub sub[LANES];
    int first;          /* which one of the blocks' is in lane 0 */
    uint32_t live, odd; /* lanes that are searched here, and those that are left to plain C */
    float max[LANES], range[LANES], scales[LANES];
    vf x[IQG_MAX_SUB], w[IQG_MAX_SUB], wx[IQG_MAX_SUB];
    struct iq_codes codes;
    vi best_slope; /* its number, or -1 */
    vf best, scale;
};

/* Is all of a sub-block within what the lanes do as plain C does it? */
static inline bool iq_plain(const struct iq_kind *k, const struct iq_sub *s, float range)
{
    float most = 0, weight = 0;
    bool sound = true;

    for (int i = 0; i < k->sub; i++) {
        float a = abs_of(s->x[i]), w = s->w[i];

        sound = sound && a <= 1e9f && w >= 0 && w <= 1e20f;
        most = a > most ? a : most;
        weight = w > weight ? w : weight;
    }
    return sound && range > 1e-30f && range < 1e10f && most / range < 1e4f;
}

/* The codes for slope number `slope` (id), before neighbours, and where runs begin; before: the slope before's. */
IQ_INLINE void iq_lane_codes(struct iq_lanes *s, int slope, vf id, vi before[IQG_MAX_GROUPS], int sub, int group)
{
    int bits = group == 8 ? 2 : 4, levels = group == 8 ? 3 : 8;
    vi zero = vf_bits(vf_set(12582912)), top = vi_add(zero, vi_set(levels - 1));

    for (int i = 0; i < sub / group; i++) {
        vi code = vi_set(0), begins = vi_load(s->codes.begins[i]), other;

#pragma GCC unroll 8
        for (int j = 0; j < group; j++) {
            vf v = vf_mul(vf_set(0.5f), vf_sub(vf_mul(id, s->x[group * i + j]), vf_set(1)));
            vi l = vi_max(vi_min(vf_bits(vf_add(v, vf_set(12582912))), top), zero); /* the level in the low bits */

            code = vi_or(code, vi_shl(l, bits * j));
        }
        code = vi_and(code, vi_set(0xffff));
        vi_put_words(s->codes.near[slope][i], code);
        other = vi_sub(vi_set(0), vi_min_u(vi_sub(code, before[i]), vi_set(1))); /* all bits, or none */
        begins = vi_or(begins, vi_and(other, vi_set((int32_t)(1u << slope))));
        vi_store(s->codes.begins[i], begins);
        before[i] = code;
    }
}

/* Grid points for the codes of all live lanes. */
IQ_INLINE void iq_lane_nearest(const struct iq_grid *g, struct iq_lanes *s, const float *slopes, int n_slopes, int sub,
                               int group)
{
    for (int lane = 0; lane < LANES; lane++) {
        float scales[IQ_SLOPES_ROOM];

        if (!(s->live >> lane & 1))
            continue;
        for (int at = 0; at + SHORT_LANES <= IQ_SLOPES_ROOM; at += SHORT_LANES)
            vs_store(scales + at, vs_div(vs_set(1), vs_div(vs_load(slopes + at), vs_set(s->range[lane]))));
        for (int i = 0; i < sub / group; i++)
            iq_runs_nearest(g, &s->codes, lane, i, &s->sub[lane], scales, n_slopes, group);
    }
}

IQ_INLINE void iq_lane_judge(struct iq_lanes *s, int slope, int sub, int group)
{
    int bits = group == 8 ? 2 : 4, mask = group == 8 ? 6 : 14;
    vf xq = vf_set(0), q2 = vf_set(0), scale;
    vm better;

    for (int i = 0; i < sub / group; i++) {
        vi code = vi_shl(vi_get_words(s->codes.used[slope][i]), 1);

#pragma GCC unroll 8
        for (int j = 0; j < group; j++) {
            vf q = vf_of_ints(vi_or(vi_and(vi_shr(code, bits * j), vi_set(mask)), vi_set(1)));

            xq = vf_add(xq, vf_mul(s->wx[group * i + j], q));
            q2 = vf_add(q2, vf_mul(vf_mul(s->w[group * i + j], q), q));
        }
    }
    better = vm_and(vf_gt(q2, vf_set(0)), vf_gt(vf_mul(xq, xq), vf_mul(s->best, q2)));
    if (!vm_bits(better))
        return;
    scale = vf_div(xq, q2);
    s->scale = vf_pick(better, scale, s->scale);
    s->best = vf_pick(better, vf_mul(scale, xq), s->best);
    s->best_slope = vi_pick(better, vi_set(slope), s->best_slope);
}

/* The sub-blocks' values and weights, one sub-block per lane. */
IQ_INLINE void iq_lane_load(struct iq_lanes *s, int sub)
{
    for (int i = 0; i < sub; i += LANES) {
        vf_transpose(s->sub[0].x + i, IQ_LANE_STRIDE, s->x + i);
        vf_transpose(s->sub[0].w + i, IQ_LANE_STRIDE, s->w + i);
    }
    for (int i = 0; i < sub; i++)
        s->wx[i] = vf_mul(s->w[i], s->x[i]);
}

/* nearest_int, not above top. A level of the search for free levels may be negative, and wraps where it is stored. */
IQ_INLINE vi iq_lane_round(vf v, int top)
{
    vi l = vi_sub(vi_and(vf_bits(vf_add(v, vf_set(12582912))), vi_set(0x007fffff)), vi_set(0x00400000));

    return vi_min(l, vi_set(top));
}

IQ_INLINE vf iq_lane_stored(vi level)
{
    return vf_of_ints(vi_and(level, vi_set(0xff)));
}

/* The weighted square error of a slope's levels; plain: the first slope, whose levels wrap and have no highest. */
IQ_INLINE vf iq_lane_error(const struct iq_lanes *s, vf slope, int sub, int top, bool plain)
{
    vf scale = vf_div(vf_set(1), slope), error = vf_set(0);

    for (int i = 0; i < sub; i++) {
        vi l = iq_lane_round(vf_mul(slope, s->x[i]), plain ? INT32_MAX : top);
        vf diff = vf_sub(s->x[i], vf_mul(scale, plain ? iq_lane_stored(l) : vf_of_ints(l)));

        error = vf_add(error, vf_mul(vf_mul(s->w[i], diff), diff));
    }
    return error;
}

/* Moves level i of the lanes where that explains more; tells them. xl, l2: the sums that give the scale. */
IQ_INLINE uint32_t iq_lane_move(const struct iq_lanes *s, int i, int top, vf *level, vf *xl, vf *l2)
{
    vf rest_xl = vf_sub(*xl, vf_mul(s->wx[i], *level)), rest_l2 = vf_sub(*l2, vf_mul(vf_mul(s->w[i], *level), *level));
    vi l = iq_lane_round(vf_div(vf_mul(s->x[i], rest_l2), rest_xl), top);
    vf move = vf_of_ints(l);
    vm moved = vm_and(vm_and(vf_gt(rest_xl, vf_set(0)), vf_gt(rest_l2, vf_set(0))), vm_not(vf_eq(move, *level)));

    rest_xl = vf_add(rest_xl, vf_mul(s->wx[i], move));
    rest_l2 = vf_add(rest_l2, vf_mul(vf_mul(s->w[i], move), move));
    moved = vm_and(moved, vf_gt(vf_mul(vf_mul(rest_xl, rest_xl), *l2), vf_mul(vf_mul(*xl, *xl), rest_l2)));
    *level = vf_pick(moved, iq_lane_stored(l), *level);
    *xl = vf_pick(moved, rest_xl, *xl);
    *l2 = vf_pick(moved, rest_l2, *l2);
    return vm_bits(moved);
}

/* k_positive_find for all lanes. A lane that moves nothing in a pass moves nothing in those after it. */
IQ_INLINE vf iq_lane_positive(const struct iq_lanes *s, int sub, int top)
{
    vf max = vf_load(s->max), slope = vf_div(vf_set((float)top), max), best, level[IQG_MAX_SUB];
    vf xl = vf_set(0), l2 = vf_set(0);
    uint32_t moved = 1;

    best = iq_lane_error(s, slope, sub, top, true);
    for (int step = -4; step <= 4; step++) {
        vf other = vf_div(vf_set(0.1f * (float)step + (float)top), max), error;
        vm better;

        if (step == 0)
            continue;
        error = iq_lane_error(s, other, sub, top, false);
        better = vf_lt(error, best);
        best = vf_pick(better, error, best);
        slope = vf_pick(better, other, slope);
    }
    for (int i = 0; i < sub; i++) {
        vi l = iq_lane_round(vf_mul(slope, s->x[i]), top);
        vf lf = vf_of_ints(l);

        level[i] = iq_lane_stored(l);
        xl = vf_add(xl, vf_mul(s->wx[i], lf));
        l2 = vf_add(l2, vf_mul(vf_mul(s->w[i], lf), lf));
    }
    for (int pass = 0; pass < 5 && moved; pass++) {
        moved = 0;
        for (int i = 0; i < sub; i++)
            moved |= iq_lane_move(s, i, top, &level[i], &xl, &l2);
    }
    return vf_pick(vf_gt(l2, vf_set(0)), vf_div(xl, l2), vf_set(0));
}

/* All slopes, for the live lanes. */
IQ_INLINE void iq_lane_search(const struct iq_kind *k, const struct iq_grid *g, struct iq_lanes *s, int sub, int group)
{
    float slopes[IQ_SLOPES_ROOM];
    int n_slopes = 2 * k->steps + 1;
    vi before[IQG_MAX_GROUPS];

    for (int i = 0; i < IQ_SLOPES_ROOM; i++)
        slopes[i] = (float)(2 * k->levels - 1) + (float)(i < n_slopes ? i - k->steps : 0) * k->step;
    for (int i = 0; i < IQG_MAX_GROUPS; i++)
        before[i] = vi_set(-1); /* no code */
    memset(s->codes.begins, 0, sizeof s->codes.begins);
    for (int i = 0; i < n_slopes; i++)
        iq_lane_codes(s, i, vf_div(vf_set(slopes[i]), vf_load(s->range)), before, sub, group);
    iq_lane_nearest(g, s, slopes, n_slopes, sub, group);
    s->best = vf_set(0);
    s->best_slope = vi_set(-1);
    for (int i = 0; i < n_slopes; i++)
        iq_lane_judge(s, i, sub, group);
}

/* A lane's codes under its best slope; gives which of its groups were on the grid there. */
IQ_INLINE unsigned iq_lane_best(const struct iq_kind *k, const struct iq_codes *c, int slope, int lane, int groups,
                                uint16_t *ret)
{
    unsigned on = 0;

    if (slope < 0) {
        memset(ret, 0, (size_t)groups * sizeof *ret);
        return k->again == IQ_AGAIN_ALL_IF_ANY_OFF_GRID ? 0 : (1u << groups) - 1;
    }
    for (int i = 0; i < groups; i++) {
        ret[i] = c->used[slope][i][lane];
        on |= (unsigned)(ret[i] == c->near[slope][i][lane]) << i; /* a neighbour is never the code itself */
    }
    return on;
}

/* One of a block's sub-blocks is done: its scale, signs and codes. */
static inline void iq_lane_put(const struct iq_kind *k, struct iq_found *f, int j, const struct iq_sub *s, float scale)
{
    uint8_t *signs = f->signs + k->sub / 8 * j;

    memcpy(signs, s->signs, (size_t)k->sub / 8);
    for (int i = 0; i < k->sub / 8 && scale < 0; i++)
        signs[i] = (uint8_t)~signs[i];
    f->scales[j] = scale < 0 ? -scale : scale;
}

/* The sub-block in a lane counts as zero. */
static inline void iq_lane_zero(struct iq_blocks *blocks, const struct iq_lanes *s, int lane, int per_block)
{
    int j = s->first + lane;

    blocks->found[j / per_block].zero |= 1u << j % per_block;
}

/* Takes the sub-blocks into the lanes, as far as they are there. */
IQ_INLINE void iq_lane_take(const struct iq_kind *k, struct iq_blocks *blocks, struct iq_lanes *s, int sub)
{
    int per_block = IQG_ELEMS / sub;

    memset(s->sub, 0, sizeof s->sub);
    s->live = s->odd = 0;
    for (int lane = 0; lane < LANES; lane++) {
        int j = s->first + lane;
        struct iq_sub *one = &s->sub[lane];
        float max;

        s->max[lane] = s->range[lane] = s->scales[lane] = 1;
        if (j >= blocks->n_subs)
            continue;
        iq_begin(k, blocks->x + sub * j, blocks->importance ? blocks->importance + sub * j : NULL,
                 blocks->mean_square[j / per_block], one);
        max = one->x[0];
        for (int i = 1; i < sub; i++)
            max = max > one->x[i] ? max : one->x[i];
        s->max[lane] = max;
        if (k->tiny != 0 ? max < k->tiny : max == 0) {
            iq_lane_zero(blocks, s, lane, per_block);
            continue;
        }
        s->range[lane] = max;
        s->scales[lane] = max / (float)(2 * k->levels - 1);
        if (iq_plain(k, one, max))
            s->live |= 1u << lane;
        else
            s->odd |= 1u << lane;
    }
    if (s->live)
        iq_lane_load(s, sub);
}

/* IQ2_XXS: the scales to search around are those found for free levels. */
IQ_INLINE void iq_lane_positive_first(const struct iq_kind *k, struct iq_blocks *blocks, struct iq_lanes *s, int sub)
{
    vf_store(s->scales, iq_lane_positive(s, sub, k->levels + 1));
    for (int lane = 0; lane < LANES; lane++) {
        if (!(s->live >> lane & 1))
            continue;
        s->range[lane] = s->scales[lane] * (float)k->levels;
        if (s->range[lane] > 0 && iq_plain(k, &s->sub[lane], s->range[lane]))
            continue;
        s->live &= ~(1u << lane);
        if (s->range[lane] <= 0)
            iq_lane_zero(blocks, s, lane, IQG_ELEMS / sub);
        else
            s->odd |= 1u << lane;
        s->range[lane] = 1;
    }
}

/* The result of one lane. False where ggml aborts. */
IQ_INLINE bool iq_lane_finish(const struct iq_kind *k, const struct iq_grid *g, struct iq_blocks *blocks,
                              const struct iq_lanes *s, int lane, int slope, float scale, int sub, int group)
{
    int per_block = IQG_ELEMS / sub, groups = sub / group, j = s->first + lane, in = j % per_block;
    struct iq_found *f = &blocks->found[j / per_block];
    uint16_t *codes = f->codes + groups * in;
    unsigned on;

    if (s->odd >> lane & 1) {
        int found = iq_search(k, g, &s->sub[lane], s->max[lane], codes, &scale);

        if (found <= 0) {
            iq_lane_zero(blocks, s, lane, per_block);
            return found == 0;
        }
    } else {
        on = iq_lane_best(k, &s->codes, slope, lane, groups, codes);
        if (!iq_again(k, g, &s->sub[lane], on, group == 8 ? nearest_8 : nearest_4, codes, &scale) || scale != scale)
            return false;
    }
    iq_lane_put(k, f, in, &s->sub[lane], scale);
    return true;
}

/* The blocks' sub-blocks from number first on, as many as there are lanes. */
IQ_INLINE void iq_lane_batch(const struct iq_kind *k, const struct iq_grid *g, struct iq_blocks *blocks, int first,
                             int sub, int group)
{
    int32_t slope[LANES];
    struct iq_lanes s;

    s.first = first;
    iq_lane_take(k, blocks, &s, sub);
    if (s.live && sub == 32 && group == 8)
        iq_lane_positive_first(k, blocks, &s, sub);
    s.scale = vf_load(s.scales);
    s.best_slope = vi_set(-1);
    if (s.live)
        iq_lane_search(k, g, &s, sub, group);
    vf_store(s.scales, s.scale);
    vi_store(slope, s.best_slope);
    for (int lane = 0; lane < LANES; lane++) {
        if ((s.live | s.odd) >> lane & 1 &&
            !iq_lane_finish(k, g, blocks, &s, lane, slope[lane], s.scales[lane], sub, group))
            blocks->bad |= 1u << (first + lane) / (IQG_ELEMS / sub);
    }
}

/* Blocks of a row; importance may be NULL. */
IQ_INLINE void iq_lane_encode(const struct iq_kind *k, const float *x, const float *importance, uint8_t *dst,
                              size_t n_elems, int sub, int group)
{
    const struct iq_grid *g = k->grid();
    size_t n_blocks = n_elems / IQG_ELEMS;

    for (size_t b = 0; b < n_blocks; b += IQ_AT_ONCE) {
        int n = n_blocks - b < IQ_AT_ONCE ? (int)(n_blocks - b) : IQ_AT_ONCE;
        struct iq_blocks blocks = { .x = x + b * IQG_ELEMS, .n_subs = n * IQG_ELEMS / sub };

        blocks.importance = importance ? importance + b * IQG_ELEMS : NULL;
        for (int i = 0; i < n; i++)
            blocks.mean_square[i] = k_mean_square(blocks.x + i * IQG_ELEMS, k->spread);
        for (int first = 0; first < blocks.n_subs; first += LANES)
            iq_lane_batch(k, g, &blocks, first, sub, group);
        for (int i = 0; i < n; i++, dst += k->bytes) {
            if (blocks.bad >> i & 1)
                iq_put_refused(k, dst);
            else
                iq_put_found(k, g, &blocks.found[i], dst);
        }
    }
}

#endif
