/*
 * Template of the search of Q3_K without importance (symmetric_refine) for one instruction set; include a lanes_*.h
 * first. Each sub-block gets the plain C version's operations in its order, as far as they count.
 *
 * One sub-block goes in a lane. From the sums of the first levels it is told, without a division, which levels surely
 * stay; most sub-blocks are done with that. The others of the batch then fill some words, which go side by side through
 * the passes, for each level waits for the sums that the one before left.
 *
 * Left to plain C: sub-blocks with values so small or large that sums of cubes are not normal floats (NaN and infinity
 * are among those), and quotients beyond the levels by far, where ggml's rounding might wrap.
 */
#ifndef WFS_KERNELS_K_REFINE_LANES_H
#define WFS_KERNELS_K_REFINE_LANES_H

#include "symmetric_lanes.h"

enum { REFINE_TOGETHER = 2, REFINE_PASSES = 5 };

/* What the searches of a batch give beside the scales, an entry per sub-block. */
struct refine_found {
    float xl[BATCH * BATCH_MAX_SUBS], l2[BATCH * BATCH_MAX_SUBS]; /* the sums that give the least-squares scale */
    int n_moving;
    uint8_t moving[BATCH * BATCH_MAX_SUBS + 1]; /* the numbers of sub-blocks where levels may move */
    bool moved[BATCH * BATCH_MAX_SUBS];         /* is it one of those? */
};

struct refine_lanes {
    vf x[SYMMETRIC_SUB], level[SYMMETRIC_SUB];
    vf a[SYMMETRIC_SUB], b[SYMMETRIC_SUB]; /* what the level has in the sums: w * x * level, w * level * level */
    vf xl, l2;
};

/* Level i of the plain slope, and what it has in the sums. */
static inline void refine_first(struct refine_lanes *s, int i, vf iscale, int half)
{
    vf w = vf_mul(s->x[i], s->x[i]), l; /* -half is not passed by more than a rounding */

    l = vf_min(vf_round(vf_mul(iscale, s->x[i])), vf_set((float)(half - 1)));
    s->level[i] = l;
    s->a[i] = vf_mul(vf_mul(w, s->x[i]), l);
    s->b[i] = vf_mul(vf_mul(w, l), l);
}

/* The first levels of the plain slope, and their sums. */
static inline void refine_begin(struct refine_lanes *s, int half, struct symmetric_found *ret, int at)
{
    vf amax = vf_set(0), max = vf_set(0), iscale;
    vm tiny, odd;

    for (int i = 0; i < SYMMETRIC_SUB; i++) {
        vf a = vf_abs(s->x[i]);

        max = vf_pick(vf_gt(a, amax), s->x[i], max);
        amax = vf_max(a, amax);
    }
    tiny = vf_lt(amax, vf_set(K_TINY));
    iscale = vf_pick(tiny, vf_set(0), vf_div(vf_set((float)-half), max));
    s->xl = s->l2 = vf_set(0);
    for (int i = 0; i < SYMMETRIC_SUB; i++) {
        refine_first(s, i, iscale, half);
        s->xl = vf_add(s->xl, s->a[i]);
        s->l2 = vf_add(s->l2, s->b[i]);
    }
    odd = vm_not(vm_and(vm_or(tiny, vf_gt(amax, vf_set(0x1p-26f))), vf_lt(s->l2, vf_set(0x1p60f))));
    vf_store(ret->level_iscale + at, iscale);
    vf_store(ret->amax + at, amax);
    symmetric_put_marks(ret, at, odd, tiny);
}

/*
 * The lanes where a level may not stay. It does if what it should be is less than half a level off (less a little, for
 * what is rounded), and at an end of the levels, if that is beyond.
 */
static inline uint32_t refine_may_move(const struct refine_lanes *s, int half)
{
    vf near = vf_set(0.4999f), lowest = vf_set((float)-half), highest = vf_set((float)(half - 1));
    vm any = vm_none();

    for (int i = 0; i < SYMMETRIC_SUB; i++) {
        vf l = s->level[i], xl = vf_sub(s->xl, s->a[i]), should = vf_mul(s->x[i], vf_sub(s->l2, s->b[i]));
        vm above = vm_or(vf_lt(vf_mul(vf_sub(l, near), xl), should), vf_eq(l, lowest));
        vm below = vm_or(vf_lt(should, vf_mul(vf_add(l, near), xl)), vf_eq(l, highest));

        any = vm_or(any, vm_and(vf_gt(xl, vf_set(0)), vm_not(vm_and(above, below))));
    }
    return vm_bits(any);
}

/* Moves level i of the lanes where that explains more; tells where that was. */
static inline vm refine_move(struct refine_lanes *s, int i, int half, vm *odd)
{
    vf x = s->x[i], w = vf_mul(x, x), wx = vf_mul(w, x), l, a, b, q;
    vf xl = vf_sub(s->xl, s->a[i]), l2 = vf_sub(s->l2, s->b[i]);
    vm may = vf_gt(xl, vf_set(0));

    q = vf_div(vf_mul(x, l2), xl);
    *odd = vm_or(*odd, vm_and(may, vm_not(vf_lt(vf_abs(q), vf_set(0x1p20f)))));
    l = vf_max(vf_min(vf_round(q), vf_set((float)(half - 1))), vf_set((float)-half));
    a = vf_mul(wx, l);
    b = vf_mul(vf_mul(w, l), l);
    xl = vf_add(xl, a);
    l2 = vf_add(l2, b);
    may = vm_and(vm_and(may, vm_not(vf_eq(l, s->level[i]))), vf_gt(l2, vf_set(0)));
    may = vm_and(may, vf_gt(vf_mul(vf_mul(xl, xl), s->l2), vf_mul(vf_mul(s->xl, s->xl), l2)));
    s->level[i] = vf_pick(may, l, s->level[i]);
    s->a[i] = vf_pick(may, a, s->a[i]);
    s->b[i] = vf_pick(may, b, s->b[i]);
    s->xl = vf_pick(may, xl, s->xl);
    s->l2 = vf_pick(may, l2, s->l2);
    return may;
}

/* The sub-blocks whose numbers are in moving[0..LANES) from their first levels on. */
static inline void refine_again(struct refine_lanes *s, const float *x, int half, const struct symmetric_found *found,
                                const struct refine_found *r, const uint8_t *moving)
{
    float values[LANES * SYMMETRIC_SUB], iscale[LANES], xl[LANES], l2[LANES];
    vf slope;

    for (int lane = 0; lane < LANES; lane++) {
        int j = moving[lane];

        memcpy(values + lane * SYMMETRIC_SUB, x + j * SYMMETRIC_SUB, SYMMETRIC_SUB * sizeof *values);
        iscale[lane] = found->level_iscale[j];
        xl[lane] = r->xl[j];
        l2[lane] = r->l2[j];
    }
    k_load_subs(values, SYMMETRIC_SUB, s->x);
    slope = vf_load(iscale);
    s->xl = vf_load(xl);
    s->l2 = vf_load(l2);
    for (int i = 0; i < SYMMETRIC_SUB; i++)
        refine_first(s, i, slope, half);
}

/* The sub-blocks whose numbers are in moving[0..REFINE_TOGETHER * LANES). */
static inline void refine_some(const float *x, int half, struct symmetric_found *found, struct refine_found *r,
                               const uint8_t *moving)
{
    struct refine_lanes s[REFINE_TOGETHER];
    float xl[REFINE_TOGETHER * LANES], l2[REFINE_TOGETHER * LANES];
    vm odd = vm_none(), moved;

    for (int k = 0; k < REFINE_TOGETHER; k++)
        refine_again(&s[k], x, half, found, r, moving + k * LANES);
    for (int pass = 0; pass < REFINE_PASSES; pass++) {
        moved = vm_none();
        for (int i = 0; i < SYMMETRIC_SUB; i++) {
#pragma GCC unroll 4
            for (int k = 0; k < REFINE_TOGETHER; k++)
                moved = vm_or(moved, refine_move(&s[k], i, half, &odd));
        }
        if (!vm_bits(moved))
            break;
    }
    for (int k = 0; k < REFINE_TOGETHER; k++) {
        vf_store(xl + k * LANES, s[k].xl);
        vf_store(l2 + k * LANES, s[k].l2);
    }
    for (int k = 0; k < REFINE_TOGETHER * LANES; k++) {
        r->xl[moving[k]] = xl[k];
        r->l2[moving[k]] = l2[k];
        r->moved[moving[k]] = true;
        found->odd[moving[k]] |= vm_bits(odd) != 0;
    }
}

/* The searches of the first n sub-blocks of a batch. */
static inline void refine_run(const float *x, int n, int half, struct symmetric_found *found, struct refine_found *r)
{
    struct refine_lanes s;

    r->n_moving = 0;
    memset(r->moved, 0, sizeof r->moved);
    for (int at = 0; at < n; at += LANES) {
        uint32_t may;

        k_load_subs(x + at * SYMMETRIC_SUB, SYMMETRIC_SUB, s.x);
        refine_begin(&s, half, found, at);
        vf_store(r->xl + at, s.xl);
        vf_store(r->l2 + at, s.l2);
        may = refine_may_move(&s, half);
        for (int lane = 0; lane < LANES; lane++) { /* without a branch */
            r->moving[r->n_moving] = (uint8_t)(at + lane);
            r->n_moving += may >> lane & 1;
        }
    }
    for (int first = 0; first < r->n_moving; first += REFINE_TOGETHER * LANES) {
        for (int k = r->n_moving; k < first + REFINE_TOGETHER * LANES; k++)
            r->moving[k] = r->moving[r->n_moving - 1]; /* once more, to the same end */
        refine_some(x, half, found, r, r->moving + first);
    }
    for (int at = 0; at < n; at += LANES) {
        vf xl = vf_load(r->xl + at), l2 = vf_load(r->l2 + at);

        vf_store(found->scale + at, vf_pick(vf_gt(l2, vf_set(0)), vf_div(xl, l2), vf_set(0)));
    }
}

#endif
