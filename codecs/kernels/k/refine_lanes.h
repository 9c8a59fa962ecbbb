/*
 * Template of the search of Q3_K without importance (symmetric_refine) for one instruction set; include a lanes_*.h
 * first. Each sub-block gets the plain C version's operations in its order, as far as they count.
 *
 * One sub-block goes in a lane. From the sums of the first levels it is told, without a division a level, which levels
 * surely stay; most sub-blocks are done with that. The others of the batch go on a list, and through the passes: after
 * each one the list keeps those where a level may move still.
 *
 * Left to plain C: sub-blocks with values so small or large that sums of cubes are not normal floats (NaN and infinity
 * are among those), and quotients beyond the levels by far, where ggml's rounding might wrap.
 */
#ifndef WFS_KERNELS_K_REFINE_LANES_H
#define WFS_KERNELS_K_REFINE_LANES_H

#include "symmetric_lanes.h"

enum {
    REFINE_BLOCKS = 16, REFINE_SUBS = 16, /* blocks of a batch, sub-blocks of a block */
    REFINE_TOGETHER = 2,                  /* words that go through a pass side by side: each waits for its own sums */
    REFINE_PASSES = 5,
    REFINE_MOST = REFINE_BLOCKS * REFINE_SUBS,
    REFINE_ROOM = REFINE_MOST + REFINE_TOGETHER * LANES, /* whole words are written */
};

/* What the searches of a batch give: an entry per sub-block, or per block a bit per sub-block. */
struct refine_found {
    float scale[REFINE_MOST], level_iscale[REFINE_MOST];
    uint32_t odd[REFINE_BLOCKS], tiny[REFINE_BLOCKS], moving[REFINE_BLOCKS]; /* moving: levels may have moved */
};

/* The sub-blocks where levels may move: where their values are in the batch, and how far they are. */
struct refine_list {
    int n;
    int32_t at[REFINE_ROOM];
    float iscale[REFINE_ROOM], xl[REFINE_ROOM], l2[REFINE_ROOM];
    float level[SYMMETRIC_SUB][REFINE_ROOM]; /* from the second pass on */
};

struct refine_lanes {
    vf x[SYMMETRIC_SUB], level[SYMMETRIC_SUB];
    vf a[SYMMETRIC_SUB]; /* what the level has in xl: w * x * level */
    vf xl, l2;
    vi far;   /* the largest magnitude of a quotient */
    vm moved; /* did a level move in this pass? */
};

/* What a level has in l2: w * level * level. */
static inline vf refine_square(vf w, vf l)
{
    return vf_mul(vf_mul(w, l), l);
}

/* A level of the plain slope; -half is not passed by more than a rounding. */
static inline vf refine_first(vf x, vf iscale, int half)
{
    return vf_min(vf_round(vf_mul(iscale, x)), vf_set((float)(half - 1)));
}

/* The first levels of the plain slope, and their sums. Gives the slope. */
static inline vf refine_begin(struct refine_lanes *s, int half, vm *ret_odd, vm *ret_tiny)
{
    vf amax = vf_set(0), max = vf_set(0), iscale;

    for (int i = 0; i < SYMMETRIC_SUB; i++) {
        vf a = vf_abs(s->x[i]);

        max = vf_pick(vf_gt(a, amax), s->x[i], max);
        amax = vf_max(a, amax);
    }
    *ret_tiny = vf_lt(amax, vf_set(K_TINY));
    iscale = vf_pick(*ret_tiny, vf_set(0), vf_div(vf_set((float)-half), max));
    s->xl = s->l2 = vf_set(0);
    for (int i = 0; i < SYMMETRIC_SUB; i++) {
        vf w = vf_mul(s->x[i], s->x[i]), l = refine_first(s->x[i], iscale, half);

        s->level[i] = l;
        s->a[i] = vf_mul(vf_mul(w, s->x[i]), l);
        s->xl = vf_add(s->xl, s->a[i]);
        s->l2 = vf_add(s->l2, refine_square(w, l));
    }
    *ret_odd = vm_not(vm_and(vm_or(*ret_tiny, vf_gt(amax, vf_set(0x1p-26f))), vf_lt(s->l2, vf_set(0x1p60f))));
    return iscale;
}

/*
 * The lanes where a level may not stay. With XL and L2 the sums, a level l of value x becomes the rounded
 *   x * (L2 - w l l) / (XL - w x l) = l + (x L2 - l XL) / (XL - a),   a = w x l,
 * so it stays if |x L2 / XL - l| < 0.5 - 0.5 a / XL, the sides less a little for what is rounded: what that is grows by
 * the same XL / (XL - a). Beyond the ends of the levels it is the clamped quotient that counts.
 */
static inline vm refine_may_move(const struct refine_lanes *s, int half)
{
    vf part = vf_div(vf_set(0.5f), s->xl), inverse = vf_mul(s->l2, vf_add(part, part));
    vi most = vi_set(0);

    for (int i = 0; i < SYMMETRIC_SUB; i++) {
        vf should = symmetric_clamped(vf_mul(s->x[i], inverse), half, true);
        vf off = vf_abs(vf_sub(should, s->level[i]));

        most = vi_max_u(most, vf_bits(vf_mul_add(s->a[i], part, off))); /* floats from 0 on order as their bits */
    }
    return vm_and(vf_gt(s->xl, vf_set(0)), vm_not(vf_lt(vi_floats(most), vf_set(0.4999f))));
}

/* Moves level i, which is l, of the lanes where that explains more. */
static inline void refine_move(struct refine_lanes *s, int i, vf l, int half)
{
    vf x = s->x[i], w = vf_mul(x, x), wx = vf_mul(w, x), a = vf_mul(wx, l), q, to, to_a;
    vf xl = vf_sub(s->xl, a), l2 = vf_sub(s->l2, refine_square(w, l));
    vm may = vf_gt(xl, vf_set(0));

    q = vf_div_where(may, vf_mul(x, l2), xl);
    s->far = vi_max_u(s->far, vf_bits(vf_abs(q)));
    to = vf_round(symmetric_clamped(q, half, true));
    to_a = vf_mul(wx, to);
    xl = vf_add(xl, to_a);
    l2 = vf_add(l2, refine_square(w, to));
    may = vm_and(vm_and(may, vm_not(vf_eq(l, to))), vf_gt(l2, vf_set(0)));
    may = vm_and(may, vf_gt(vf_mul(vf_mul(xl, xl), s->l2), vf_mul(vf_mul(s->xl, s->xl), l2)));
    s->moved = vm_or(s->moved, may);
    s->level[i] = vf_pick(may, to, l);
    s->a[i] = vf_pick(may, to_a, a);
    s->xl = vf_pick(may, xl, s->xl);
    s->l2 = vf_pick(may, l2, s->l2);
}

/* A pass over the sub-blocks from number first on of the list. */
static inline void refine_pass(struct refine_lanes s[REFINE_TOGETHER], const float *x, int half,
                               const struct refine_list *list, int first, bool is_first)
{
    for (int k = 0; k < REFINE_TOGETHER; k++) {
        const int32_t *at = list->at + first + k * LANES;

        for (int i = 0; i < SYMMETRIC_SUB; i += LANES)
            vf_transpose_at(x + i, at, s[k].x + i);
        s[k].xl = vf_load(list->xl + first + k * LANES);
        s[k].l2 = vf_load(list->l2 + first + k * LANES);
        s[k].far = vi_set(0);
        s[k].moved = vm_none();
    }
    for (int i = 0; i < SYMMETRIC_SUB; i++) {
#pragma GCC unroll 4
        for (int k = 0; k < REFINE_TOGETHER; k++) {
            vf l = is_first ? refine_first(s[k].x[i], vf_load(list->iscale + first + k * LANES), half)
                            : vf_load(list->level[i] + first + k * LANES);

            refine_move(&s[k], i, l, half);
        }
    }
}

/* What the lanes of s, n sub-blocks from number first on of the list, have come to. */
static inline void refine_keep(const struct refine_lanes *s, const struct refine_list *list, int first, int n,
                               struct refine_found *found)
{
    vm odd = vm_not(vf_lt(vi_floats(s->far), vf_set(0x1p20f)));
    float scale[LANES];

    vf_store(scale, vf_pick(vf_gt(s->l2, vf_set(0)), vf_div(s->xl, s->l2), vf_set(0)));
    for (int lane = 0; lane < n; lane++) {
        int j = list->at[first + lane] / SYMMETRIC_SUB;

        found->scale[j] = scale[lane];
        if (vm_bits(odd) >> lane & 1)
            found->odd[j / REFINE_SUBS] |= 1u << j % REFINE_SUBS;
    }
}

/*
 * Puts the lanes of s where levels have moved in this pass and may move still, of n sub-blocks from number first on, to
 * the end of the new list.
 */
static inline void refine_list_again(const struct refine_lanes *s, int half, struct refine_list *list, int first, int n,
                                     int *n_kept)
{
    vm may = vm_and(vm_and(s->moved, refine_may_move(s, half)), vm_of_bits((1u << n) - 1));

    vi_put_where(list->at + *n_kept, may, vi_load(list->at + first));
    vf_put_where(list->xl + *n_kept, may, s->xl);
    vf_put_where(list->l2 + *n_kept, may, s->l2);
    for (int i = 0; i < SYMMETRIC_SUB; i++)
        vf_put_where(list->level[i] + *n_kept, may, s->level[i]);
    *n_kept += __builtin_popcount(vm_bits(may));
}

/* A pass over the list, which keeps those that are to have another. Zeros fill its last words. */
static inline void refine_pass_list(const float *x, int half, struct refine_list *list, bool is_first,
                                    struct refine_found *found)
{
    int n_kept = 0;

    for (int k = 0; k < REFINE_TOGETHER; k++) {
        vi_store(list->at + list->n + k * LANES, vi_set(0));
        vf_store(list->xl + list->n + k * LANES, vf_set(0));
        vf_store(list->l2 + list->n + k * LANES, vf_set(0));
        vf_store(list->iscale + list->n + k * LANES, vf_set(0));
        for (int i = 0; i < SYMMETRIC_SUB && !is_first; i++)
            vf_store(list->level[i] + list->n + k * LANES, vf_set(0));
    }
    for (int first = 0; first < list->n; first += REFINE_TOGETHER * LANES) {
        struct refine_lanes s[REFINE_TOGETHER];

        refine_pass(s, x, half, list, first, is_first);
        for (int k = 0; k < REFINE_TOGETHER && first + k * LANES < list->n; k++) {
            int at = first + k * LANES, n = list->n - at < LANES ? list->n - at : LANES;

            refine_keep(&s[k], list, at, n, found);
            refine_list_again(&s[k], half, list, at, n, &n_kept);
        }
    }
    list->n = n_kept;
}

/* The first levels of the n blocks of a batch; lists where these may move. */
static inline void refine_begin_all(const float *x, int n, int half, struct refine_found *found,
                                    struct refine_list *list)
{
    static const int32_t numbers[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

    memset(found->odd, 0, sizeof found->odd);
    memset(found->tiny, 0, sizeof found->tiny);
    memset(found->moving, 0, sizeof found->moving);
    list->n = 0;
    for (int j = 0; j < n * REFINE_SUBS; j += LANES) {
        int b = j / REFINE_SUBS, shift = j % REFINE_SUBS;
        struct refine_lanes s;
        vm odd, tiny, may;
        vf iscale;

        k_load_subs(x + j * SYMMETRIC_SUB, SYMMETRIC_SUB, s.x);
        iscale = refine_begin(&s, half, &odd, &tiny);
        may = refine_may_move(&s, half);
        vf_store(found->level_iscale + j, iscale);
        vf_store(found->scale + j, vf_pick(vf_gt(s.l2, vf_set(0)), vf_div(s.xl, s.l2), vf_set(0)));
        found->odd[b] |= vm_bits(odd) << shift;
        found->tiny[b] |= vm_bits(tiny) << shift;
        found->moving[b] |= vm_bits(may) << shift;
        vi_put_where(list->at + list->n, may, vi_shl(vi_add(vi_load(numbers), vi_set(j)), 4));
        vf_put_where(list->iscale + list->n, may, iscale);
        vf_put_where(list->xl + list->n, may, s.xl);
        vf_put_where(list->l2 + list->n, may, s.l2);
        list->n += __builtin_popcount(vm_bits(may));
    }
}

/* The searches of the n blocks of a batch. */
static inline void refine_run(const float *x, int n, int half, struct refine_found *found)
{
    struct refine_list list;

    refine_begin_all(x, n, half, found, &list);
    for (int pass = 0; pass < REFINE_PASSES && list.n > 0; pass++) {
        if (pass == 0)
            refine_pass_list(x, half, &list, true, found);
        else
            refine_pass_list(x, half, &list, false, found);
    }
}

#endif
