/*
 * Template of the search for a block's scale among its sub-blocks' (k_positive_find) for one instruction set; include a
 * lanes_*.h first. One block's scales, or mins, per lane: each lane does the plain C version's operations in its order.
 *
 * Left to plain C: what is negative, infinite or no number among the values, weights that are no numbers, and levels
 * that become negative. Without those, levels before the refinement are at most a little above the highest.
 */
#ifndef WFS_KERNELS_K_IMPORTANCE_LANES_H
#define WFS_KERNELS_K_IMPORTANCE_LANES_H

#include "k_lanes.h"

/*
 * The values and weights of LANES searches, those of one after those of the other: of BATCH blocks' scales, and of as
 * many blocks' mins. A transposition of registers may read (but not use) some more.
 */
struct positive_input {
    float x[LANES * BATCH_MAX_SUBS + LANES], w[LANES * BATCH_MAX_SUBS + LANES];
};

/* What they give. */
struct positive_found {
    float scale[LANES];
    uint8_t level[BATCH_MAX_SUBS * LANES]; /* of search k value i in i * LANES + k */
    uint32_t odd;                          /* bit k: search k is left to plain C */
};

struct positive_lanes {
    vf x[BATCH_MAX_SUBS], w[BATCH_MAX_SUBS], level[BATCH_MAX_SUBS];
    vf xl, l2; /* the sums that give the least-squares scale for the levels */
    vm odd;
};

/* The levels of a slope, not above the highest. */
static inline vf positive_level(vf v, int levels)
{
    return vf_min(vf_round(v), vf_set((float)levels));
}

/* The best of nine slopes; lanes to be left to plain C. */
static inline vf positive_slope(struct positive_lanes *s, int n, int levels)
{
    vf max = vf_set(0), best = vf_set(0), iscale, scale;

    s->odd = vm_none();
    for (int i = 0; i < n; i++) {
        max = vf_max(max, s->x[i]);
        s->odd = vm_or(s->odd, vm_or(vf_nan(s->w[i]), vm_not(vf_le(vf_set(0), s->x[i]))));
    }
    s->odd = vm_or(s->odd, vm_not(vf_lt(max, vf_set(0x1p100f))));
    iscale = vf_div(vf_set((float)levels), max);
    scale = vf_div(vf_set(1), iscale);
    for (int i = 0; i < n; i++) {
        vf diff = vf_sub(s->x[i], vf_mul(scale, vf_round(vf_mul(iscale, s->x[i]))));

        best = vf_add(best, vf_mul(vf_mul(s->w[i], diff), diff));
    }
    for (int step = -4; step <= 4; step++) {
        vf slope = vf_div(vf_set(0.1f * (float)step + (float)levels), max), error = vf_set(0);
        vm better;

        if (step == 0)
            continue;
        scale = vf_div(vf_set(1), slope);
        for (int i = 0; i < n; i++) {
            vf diff = vf_sub(s->x[i], vf_mul(scale, positive_level(vf_mul(slope, s->x[i]), levels)));

            error = vf_add(error, vf_mul(vf_mul(s->w[i], diff), diff));
        }
        better = vf_lt(error, best);
        best = vf_pick(better, error, best);
        iscale = vf_pick(better, slope, iscale);
    }
    s->odd = vm_and(s->odd, vm_not(vf_lt(max, vf_set(K_TINY))));
    return vf_pick(vf_lt(max, vf_set(K_TINY)), vf_set(0), iscale); /* tiny: levels 0, and so the scale */
}

/* Moves level i where that explains more; the lanes where it does. */
static inline vm positive_move(struct positive_lanes *s, int i, int levels)
{
    vf wx = vf_mul(s->w[i], s->x[i]), l = s->level[i], move;
    vf xl = vf_sub(s->xl, vf_mul(wx, l)), l2 = vf_sub(s->l2, vf_mul(vf_mul(s->w[i], l), l));
    vm moved = vm_and(vf_gt(xl, vf_set(0)), vf_gt(l2, vf_set(0)));

    move = k_wrap_round(vf_div(vf_mul(s->x[i], l2), xl));
    move = vf_min(move, vf_set((float)levels));
    moved = vm_and(moved, vm_not(vf_eq(move, l)));
    xl = vf_add(xl, vf_mul(wx, move));
    l2 = vf_add(l2, vf_mul(vf_mul(s->w[i], move), move));
    moved = vm_and(moved, vf_gt(vf_mul(vf_mul(xl, xl), s->l2), vf_mul(vf_mul(s->xl, s->xl), l2)));
    s->odd = vm_or(s->odd, vm_and(moved, vf_lt(move, vf_set(0))));
    s->level[i] = vf_pick(moved, move, l);
    s->xl = vf_pick(moved, xl, s->xl);
    s->l2 = vf_pick(moved, l2, s->l2);
    return moved;
}

/* The levels that the search begins with, and their sums. */
static inline void positive_begin(struct positive_lanes *s, int n, int levels)
{
    vf iscale = positive_slope(s, n, levels);

    s->xl = s->l2 = vf_set(0);
    for (int i = 0; i < n; i++) {
        vf l = s->level[i] = positive_level(vf_mul(iscale, s->x[i]), levels);

        s->xl = vf_add(s->xl, vf_mul(vf_mul(s->w[i], s->x[i]), l));
        s->l2 = vf_add(s->l2, vf_mul(vf_mul(s->w[i], l), l));
    }
}

/* The scales and levels for LANES times n values. A lane without moves in a pass has none in those after it. */
static inline void positive_batch(const struct positive_input *in, int n, int levels, struct positive_found *ret)
{
    struct positive_lanes s;
    bool moved = true;

    for (int i = 0; i < n; i += LANES) {
        vf_transpose(in->x + i, (size_t)n, s.x + i);
        vf_transpose(in->w + i, (size_t)n, s.w + i);
    }
    positive_begin(&s, n, levels);
    for (int pass = 0; pass < 5 && moved; pass++) {
        vm any = vm_none();

        for (int i = 0; i < n; i++)
            any = vm_or(any, positive_move(&s, i, levels));
        moved = vm_bits(any);
    }
    for (int i = 0; i < n; i++)
        vi_put_bytes(ret->level + i * LANES, vf_trunc(s.level[i]));
    vf_store(ret->scale, vf_pick(vf_gt(s.l2, vf_set(0)), vf_div(s.xl, s.l2), vf_set(0)));
    ret->odd = vm_bits(s.odd);
}

static inline bool positive_odd(const struct positive_found *found, int b)
{
    return (found->odd >> b | found->odd >> (BATCH + b)) & 1;
}

/* The levels of block b's n scales and mins. */
static inline void positive_levels(const struct positive_found *found, int b, int n, uint8_t *ret_scales,
                                   uint8_t *ret_mins)
{
    for (int j = 0; j < n; j++) {
        ret_scales[j] = found->level[j * LANES + b];
        ret_mins[j] = found->level[j * LANES + BATCH + b];
    }
}

#endif
