/*
 * Template of the search of Q3_K without importance (symmetric_refine) for one instruction set; include a lanes_*.h
 * first. Each sub-block gets the plain C version's operations in its order, as far as they count.
 *
 * The sums of the first levels go one sub-block per lane. Then it is asked, without a division, which levels surely
 * stay; most sub-blocks are done with that. In the others, all levels are tried at once (a level per lane) with the
 * sums as they are, and the first that moves is moved, until none does: those before it stay as they are. Some
 * sub-blocks go side by side, for each waits for its own sums.
 *
 * Left to plain C: sub-blocks with values so small or large that sums of cubes are not normal floats (NaN and infinity
 * are among those), and quotients beyond the levels by far, where ggml's rounding might wrap.
 */
#ifndef WFS_KERNELS_K_REFINE_LANES_H
#define WFS_KERNELS_K_REFINE_LANES_H

#include "symmetric_lanes.h"

enum { REFINE_VECTORS = SYMMETRIC_SUB / LANES, REFINE_TOGETHER = 4, REFINE_STEPS = 3, REFINE_PASSES = 5 };

/* What the searches of a batch give beside the scales, an entry per sub-block. */
struct refine_found {
    float xl[BATCH * BATCH_MAX_SUBS], l2[BATCH * BATCH_MAX_SUBS]; /* the sums that give the least-squares scale */
    int n_moving;
    uint8_t moving[BATCH * BATCH_MAX_SUBS + REFINE_TOGETHER]; /* the numbers of sub-blocks where levels may move */
    uint8_t place[BATCH * BATCH_MAX_SUBS];                    /* one more than where such a one is in moving, or 0 */
    float level[BATCH * BATCH_MAX_SUBS + REFINE_TOGETHER][SYMMETRIC_SUB]; /* of such a one, in moving's order */
};

struct refine_lanes {
    vf x[SYMMETRIC_SUB], level[SYMMETRIC_SUB];
    vf a[SYMMETRIC_SUB], b[SYMMETRIC_SUB]; /* what the level has in the sums: w * x * level, w * level * level */
    vf xl, l2;
};

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
    for (int i = 0; i < SYMMETRIC_SUB; i++) { /* -half is not passed by more than a rounding */
        vf w = vf_mul(s->x[i], s->x[i]), l = vf_min(vf_round(vf_mul(iscale, s->x[i])), vf_set((float)(half - 1)));

        s->level[i] = l;
        s->a[i] = vf_mul(vf_mul(w, s->x[i]), l);
        s->b[i] = vf_mul(vf_mul(w, l), l);
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

struct refine_sub { /* a sub-block, a value per lane */
    vf x[REFINE_VECTORS], level[REFINE_VECTORS];
    vf xl, l2;
    unsigned turn; /* whose it is: the passes' levels, numbered through */
    vm odd;
    bool busy;
};

static inline void refine_sub_begin(struct refine_sub *s, const float *x, int half, float iscale, float xl, float l2)
{
    for (int v = 0; v < REFINE_VECTORS; v++) {
        s->x[v] = vf_load(x + v * LANES);
        s->level[v] = vf_min(vf_round(vf_mul(vf_set(iscale), s->x[v])), vf_set((float)(half - 1)));
    }
    s->xl = vf_set(xl);
    s->l2 = vf_set(l2);
    s->turn = 0;
    s->odd = vm_none();
    s->busy = true;
}

/* Where a level would go with the sums as they are, and the sums then; gives those that would move. */
struct refine_moves {
    vf level[REFINE_VECTORS];
    float xl[SYMMETRIC_SUB], l2[SYMMETRIC_SUB];
};

static inline uint32_t refine_try(struct refine_sub *s, int half, struct refine_moves *ret)
{
    uint32_t moving = 0;

    for (int v = 0; v < REFINE_VECTORS; v++) {
        vf x = s->x[v], w = vf_mul(x, x), wx = vf_mul(w, x), l = s->level[v], q;
        vf xl = vf_sub(s->xl, vf_mul(wx, l)), l2 = vf_sub(s->l2, vf_mul(vf_mul(w, l), l));
        vm may = vf_gt(xl, vf_set(0));

        q = vf_div(vf_mul(x, l2), xl);
        s->odd = vm_or(s->odd, vm_and(may, vm_not(vf_lt(vf_abs(q), vf_set(0x1p20f)))));
        l = vf_max(vf_min(vf_round(q), vf_set((float)(half - 1))), vf_set((float)-half));
        ret->level[v] = l;
        xl = vf_add(xl, vf_mul(wx, l));
        l2 = vf_add(l2, vf_mul(vf_mul(w, l), l));
        may = vm_and(vm_and(may, vm_not(vf_eq(l, s->level[v]))), vf_gt(l2, vf_set(0)));
        may = vm_and(may, vf_gt(vf_mul(vf_mul(xl, xl), s->l2), vf_mul(vf_mul(s->xl, s->xl), l2)));
        vf_store(ret->xl + v * LANES, xl);
        vf_store(ret->l2 + v * LANES, l2);
        moving |= vm_bits(may) << v * LANES;
    }
    return moving;
}

/* Moves the next level of those that would, in the order of the passes. No branch, for none could be foretold. */
static inline void refine_step(struct refine_sub *s, int half)
{
    static const float numbers[SYMMETRIC_SUB] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    struct refine_moves m;
    uint32_t moving = refine_try(s, half, &m);
    unsigned ahead = (unsigned)__builtin_ctz((moving << SYMMETRIC_SUB | moving) >> s->turn % SYMMETRIC_SUB | 1u << 31);
    unsigned next = s->turn + ahead, i = next % SYMMETRIC_SUB;
    vf number;

    s->busy &= (ahead < SYMMETRIC_SUB) & (next < REFINE_PASSES * SYMMETRIC_SUB);
    s->turn = next + 1;
    number = vf_set((float)((int)i | ((int)s->busy - 1))); /* -1: nothing moves */
    for (int v = 0; v < REFINE_VECTORS; v++) {
        vm here = vf_eq(vf_load(numbers + v * LANES), number);

        s->level[v] = vf_pick(here, m.level[v], s->level[v]);
    }
    s->xl = vf_pick(vf_lt(number, vf_set(0)), s->xl, vf_set(m.xl[i]));
    s->l2 = vf_pick(vf_lt(number, vf_set(0)), s->l2, vf_set(m.l2[i]));
}

/* The sub-blocks whose numbers are in moving[0..REFINE_TOGETHER). */
static inline void refine_some(const float *x, int half, struct symmetric_found *found, struct refine_found *r,
                               int first)
{
    struct refine_sub s[REFINE_TOGETHER];
    const uint8_t *moving = r->moving + first;
    float sum[LANES];
    bool busy = true; /* most are done after REFINE_STEPS: a loop of fixed length is foretold */

    for (int k = 0; k < REFINE_TOGETHER; k++) {
        int j = moving[k];

        refine_sub_begin(&s[k], x + SYMMETRIC_SUB * j, half, found->level_iscale[j], r->xl[j], r->l2[j]);
    }
    for (int step = 0; step < REFINE_STEPS || busy; step++) {
        busy = false;
        for (int k = 0; k < REFINE_TOGETHER; k++) {
            refine_step(&s[k], half);
            busy |= s[k].busy;
        }
    }
    for (int k = 0; k < REFINE_TOGETHER; k++) {
        int j = moving[k];

        for (int v = 0; v < REFINE_VECTORS; v++)
            vf_store(r->level[first + k] + v * LANES, s[k].level[v]);
        vf_store(sum, s[k].xl);
        r->xl[j] = *sum;
        vf_store(sum, s[k].l2);
        r->l2[j] = *sum;
        r->place[j] = (uint8_t)(first + k + 1);
        found->odd[j] |= vm_bits(s[k].odd) != 0;
    }
}

/* The searches of the first n sub-blocks of a batch. */
static inline void refine_run(const float *x, int n, int half, struct symmetric_found *found, struct refine_found *r)
{
    struct refine_lanes s;

    r->n_moving = 0;
    memset(r->place, 0, sizeof r->place);
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
    for (int first = 0; first < r->n_moving; first += REFINE_TOGETHER) {
        for (int k = r->n_moving; k < first + REFINE_TOGETHER; k++)
            r->moving[k] = r->moving[r->n_moving - 1]; /* once more, to the same end */
        refine_some(x, half, found, r, first);
    }
    for (int at = 0; at < n; at += LANES) {
        vf xl = vf_load(r->xl + at), l2 = vf_load(r->l2 + at);

        vf_store(found->scale + at, vf_pick(vf_gt(l2, vf_set(0)), vf_div(xl, l2), vf_set(0)));
    }
}

#endif
