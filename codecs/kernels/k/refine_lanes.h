/*
 * Template of the search of Q3_K without importance (symmetric_refine) for one instruction set; include a lanes_*.h
 * first. One sub-block per lane, each lane with the plain C version's operations in its order.
 *
 * Few levels are moved, so what is asked of each first is whether it surely stays in all lanes, which takes no
 * division. A round without a move ends the search, wherever it began.
 *
 * Left to plain C: sub-blocks with values so small or large that sums of cubes are not normal floats (NaN and infinity
 * are among those), and quotients beyond the levels by far, where ggml's rounding might wrap.
 */
#ifndef WFS_KERNELS_K_REFINE_LANES_H
#define WFS_KERNELS_K_REFINE_LANES_H

#include "symmetric_lanes.h"

struct refine_lanes {
    vf x[SYMMETRIC_SUB], level[SYMMETRIC_SUB];
    vf a[SYMMETRIC_SUB], b[SYMMETRIC_SUB];    /* what the level has in the sums: w * x * level, w * level * level */
    vf low[SYMMETRIC_SUB], high[SYMMETRIC_SUB]; /* the level surely stays if what it should be lies between */
    vf xl, l2;                                /* the sums that give the least-squares scale for the levels */
    vm odd, tiny;                             /* lanes to be left to plain C; lanes that count as zero */
};

/* A level, and where it surely stays: half a level around, less a little, and all beyond at the ends. */
static inline void refine_set(struct refine_lanes *s, int i, int half, vf level)
{
    vf low = vf_sub(level, vf_set(0.4999f)), high = vf_add(level, vf_set(0.4999f));

    s->level[i] = level;
    s->low[i] = vf_pick(vf_gt(level, vf_set((float)-half)), low, vf_set(-0x1p60f));
    s->high[i] = vf_pick(vf_lt(level, vf_set((float)(half - 1))), high, vf_set(0x1p60f));
}

/* The levels of the plain slope, at which the search begins, and their sums. */
static inline void refine_begin(struct refine_lanes *s, int half, vf *ret_iscale)
{
    vf amax = vf_set(0), max = vf_set(0), iscale;

    for (int i = 0; i < SYMMETRIC_SUB; i++) {
        vf a = vf_abs(s->x[i]);

        max = vf_pick(vf_gt(a, amax), s->x[i], max);
        amax = vf_max(a, amax);
    }
    s->tiny = vf_lt(amax, vf_set(K_TINY));
    s->odd = vm_not(vm_or(s->tiny, vf_gt(amax, vf_set(0x1p-26f))));
    *ret_iscale = iscale = vf_pick(s->tiny, vf_set(0), vf_div(vf_set((float)-half), max));
    s->xl = s->l2 = vf_set(0);
    for (int i = 0; i < SYMMETRIC_SUB; i++) {
        vf w = vf_mul(s->x[i], s->x[i]), l = vf_min(vf_round(vf_mul(iscale, s->x[i])), vf_set((float)(half - 1)));

        refine_set(s, i, half, l);
        s->a[i] = vf_mul(vf_mul(w, s->x[i]), l);
        s->b[i] = vf_mul(vf_mul(w, l), l);
        s->xl = vf_add(s->xl, s->a[i]);
        s->l2 = vf_add(s->l2, s->b[i]);
    }
    s->odd = vm_or(s->odd, vm_not(vf_lt(s->l2, vf_set(0x1p60f)))); /* a NaN is not below */
}

/* Moves level i where that explains more; the lanes where it does. */
static inline vm refine_move(struct refine_lanes *s, int i, int half, vf xl, vf l2)
{
    vf w = vf_mul(s->x[i], s->x[i]), q = vf_div(vf_mul(s->x[i], l2), xl), l, a, b;
    vm may = vf_gt(xl, vf_set(0)), moved;

    s->odd = vm_or(s->odd, vm_and(may, vm_not(vf_lt(vf_abs(q), vf_set(0x1p20f)))));
    l = vf_max(vf_min(vf_round(q), vf_set((float)(half - 1))), vf_set((float)-half));
    a = vf_mul(vf_mul(w, s->x[i]), l);
    b = vf_mul(vf_mul(w, l), l);
    xl = vf_add(xl, a);
    l2 = vf_add(l2, b);
    moved = vm_and(vm_and(may, vm_not(vf_eq(l, s->level[i]))), vf_gt(l2, vf_set(0)));
    moved = vm_and(moved, vf_gt(vf_mul(vf_mul(xl, xl), s->l2), vf_mul(vf_mul(s->xl, s->xl), l2)));
    refine_set(s, i, half, vf_pick(moved, l, s->level[i]));
    s->a[i] = vf_pick(moved, a, s->a[i]);
    s->b[i] = vf_pick(moved, b, s->b[i]);
    s->xl = vf_pick(moved, xl, s->xl);
    s->l2 = vf_pick(moved, l2, s->l2);
    return moved;
}

/* Scale and (for sub-blocks whose stored scale is 0) the slope-like state of the levels stay in s. */
static inline vf refine_run(struct refine_lanes *s, int half, vf *ret_iscale)
{
    refine_begin(s, half, ret_iscale);
    for (int step = 0, still = 0; step < 5 * SYMMETRIC_SUB && still < SYMMETRIC_SUB; step++, still++) {
        int i = step % SYMMETRIC_SUB;
        vf xl = vf_sub(s->xl, s->a[i]), l2 = vf_sub(s->l2, s->b[i]), should = vf_mul(s->x[i], l2);
        vm stays = vm_and(vf_lt(vf_mul(s->low[i], xl), should), vf_lt(should, vf_mul(s->high[i], xl)));

        if (vm_bits(vm_and(vm_not(stays), vf_gt(xl, vf_set(0)))) && vm_bits(refine_move(s, i, half, xl, l2)))
            still = -1;
    }
    return vf_pick(vf_gt(s->l2, vf_set(0)), vf_div(s->xl, s->l2), vf_set(0));
}

#endif
