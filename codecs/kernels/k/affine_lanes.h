/*
 * Template of the search for scale and min (affine.h) for one instruction set; include a lanes_*.h first. One sub-block
 * per lane: each lane does the plain C version's operations in its order (no reduction crosses lanes), so the bytes are
 * equal. GROUPS registers of sub-blocks go through the tries together, which keeps the adders busy while sums wait.
 *
 * Left to plain C, superblock by superblock: NaN in the input (whose payload would count), and values for which a
 * level before clamping may lie beyond +-2^22, where ggml's rounding wraps. The latter is for the proof's sake: it
 * takes an infinite slope (a range below 4e-38) or weights that are no weights.
 *
 * Functions take the parameters as a pointer to a constant, which the compiler sees through.
 */
#ifndef WFS_KERNELS_K_AFFINE_LANES_H
#define WFS_KERNELS_K_AFFINE_LANES_H

#include "affine.h"
#include "importance_lanes.h"

enum { GROUPS = LANES == 16 ? 2 : 1 };

struct affine_lanes {
    vf x[AFFINE_MAX_SUB], w[AFFINE_MAX_SUB]; /* values and weights, one sub-block per lane */
    vf level[AFFINE_MAX_SUB];                /* of the current try, as floats */
    vf lowest, max;                          /* of x */
    vf sum_w, sum_x;
    vm nan, odd; /* lanes to be left to plain C */
    /* the best so far: what it is worth, and what the levels came from */
    vf best, scale, min, level_iscale, level_min;
};

/* What the searches of a batch give, an entry per sub-block, at b * sub-blocks of a block for block b. */
struct affine_found {
    struct positive_input scale_min; /* the scales, and from the batch's number of sub-blocks on the mins */
    float level_iscale[BATCH * BATCH_MAX_SUBS], level_min[BATCH * BATCH_MAX_SUBS];
    bool odd[BATCH * BATCH_MAX_SUBS]; /* left to plain C */
};

/*
 * The level before it is rounded, clamped. On bits: as integers, floats order as they should here (NaN was ruled out).
 */
static inline vf affine_clamped(const struct affine *p, vf v)
{
    return vi_floats(vi_max(vi_min(vf_bits(v), vf_bits(vf_set((float)p->levels))), vi_set(0)));
}

/* Marks lanes where a level may not fit; x - min is monotonic in x, so its ends tell. */
static inline void affine_check_range(struct affine_lanes *s, vf iscale)
{
    vf lo = vf_mul(iscale, vf_sub(s->lowest, s->min)), hi = vf_mul(iscale, vf_sub(s->max, s->min));
    vf limit = vf_set(4194303);

    s->odd = vm_or(s->odd, vm_not(vm_and(vf_le(vf_abs(lo), limit), vf_le(vf_abs(hi), limit))));
}

/* Sums over values and weights, which are there. */
static inline void affine_begin(const struct affine *p, struct affine_lanes *s)
{
    s->lowest = s->max = s->x[0];
    s->nan = vf_nan(s->x[0]);
    s->odd = vm_none();
    s->sum_w = s->w[0];
    s->sum_x = vf_mul(s->w[0], s->x[0]);
    for (int i = 1; i < p->sub; i++) {
        s->lowest = vf_min(s->x[i], s->lowest);
        s->max = vf_max(s->x[i], s->max);
        s->nan = vm_or(s->nan, vf_nan(s->x[i]));
        s->sum_w = vf_add(s->sum_w, s->w[i]);
        s->sum_x = vf_add(s->sum_x, vf_mul(s->w[i], s->x[i]));
    }
    s->min = vf_min(vf_set(0), s->lowest);
}

static inline vf affine_error_of(const struct affine *p, const struct affine_lanes *s, int i, vf scale, vf min)
{
    vf diff = vf_sub(vf_add(vf_mul(scale, s->level[i]), min), s->x[i]);

    return vf_mul(s->w[i], p->absolute ? vf_abs(diff) : vf_mul(diff, diff));
}

/* The plain slope: its levels are the first to beat. */
static inline void affine_first(const struct affine *p, struct affine_lanes *s)
{
    vf iscale = vf_div(vf_set((float)p->levels), vf_sub(s->max, s->min));

    affine_check_range(s, iscale);
    s->level_iscale = iscale;
    s->level_min = s->min;
    s->scale = vf_div(vf_set(1), iscale);
    s->best = vf_set(0);
    for (int i = 0; i < p->sub; i++) {
        s->level[i] = vf_round(affine_clamped(p, vf_mul(iscale, vf_sub(s->x[i], s->min))));
        s->best = vf_add(s->best, affine_error_of(p, s, i, s->scale, s->min));
    }
}

struct affine_sums {
    vf l, l2, xl;
};

static inline void affine_add(const struct affine *p, struct affine_lanes *s, int i, vf iscale, struct affine_sums *t)
{
    vf l = vf_round(affine_clamped(p, vf_mul(iscale, vf_sub(s->x[i], s->min)))), wl = vf_mul(s->w[i], l);

    s->level[i] = l;
    t->l = vf_add(t->l, wl);
    t->l2 = vf_add(t->l2, vf_mul(wl, l));
    t->xl = vf_add(t->xl, vf_mul(wl, s->x[i]));
}

/* The least-squares scale and min for the levels of a try; gives the lanes that have a solution. */
static inline vm affine_solve(const struct affine_lanes *s, const struct affine_sums *t, vf *ret_scale, vf *ret_min)
{
    vf det = vf_sub(vf_mul(s->sum_w, t->l2), vf_mul(t->l, t->l));
    vf scale = vf_div(vf_sub(vf_mul(s->sum_w, t->xl), vf_mul(s->sum_x, t->l)), det);
    vf min = vf_div(vf_sub(vf_mul(t->l2, s->sum_x), vf_mul(t->l, t->xl)), det);
    vm positive = vf_gt(min, vf_set(0));

    if (vm_bits(positive)) {
        min = vf_pick(positive, vf_set(0), min);
        scale = vf_pick(positive, vf_div(t->xl, t->l2), scale);
    }
    *ret_scale = scale;
    *ret_min = min;
    return vf_gt(det, vf_set(0));
}

static inline void affine_keep_better(struct affine_lanes *s, vm solved, vf error, vf iscale, vf scale, vf min)
{
    vm better = vm_and(solved, vf_lt(error, s->best));

    s->level_iscale = vf_pick(better, iscale, s->level_iscale);
    s->level_min = vf_pick(better, s->min, s->level_min);
    s->best = vf_pick(better, error, s->best);
    s->scale = vf_pick(better, scale, s->scale);
    s->min = vf_pick(better, min, s->min);
}

/* One slope: levels, the scale and min for them, and their error where that is better. */
static inline void affine_try(const struct affine *p, struct affine_lanes *s, float slope)
{
    struct affine_sums sums[GROUPS];
    vf iscale[GROUPS], scale[GROUPS], min[GROUPS], error[GROUPS];
    vm solved[GROUPS];

    for (int g = 0; g < GROUPS; g++) {
        iscale[g] = vf_div(vf_set(slope), vf_sub(s[g].max, s[g].min));
        affine_check_range(&s[g], iscale[g]);
        sums[g] = (struct affine_sums){ vf_set(0), vf_set(0), vf_set(0) };
    }
#pragma GCC unroll 4
    for (int i = 0; i < p->sub; i++) {
        for (int g = 0; g < GROUPS; g++)
            affine_add(p, &s[g], i, iscale[g], &sums[g]);
    }
    for (int g = 0; g < GROUPS; g++) {
        solved[g] = affine_solve(&s[g], &sums[g], &scale[g], &min[g]);
        error[g] = vf_set(0);
    }
#pragma GCC unroll 4
    for (int i = 0; i < p->sub; i++) {
        for (int g = 0; g < GROUPS; g++)
            error[g] = vf_add(error[g], affine_error_of(p, &s[g], i, scale[g], min[g]));
    }
    for (int g = 0; g < GROUPS; g++)
        affine_keep_better(&s[g], solved[g], error[g], iscale[g], scale[g], min[g]);
}

/*
 * Scale, (negated) min and what gives the levels, for GROUPS registers of sub-blocks with their values and weights:
 * those from number `at` of a batch of n_subs. A sub-block of equal values gets scale 0 and levels 0.
 */
static inline void affine_run(const struct affine *p, struct affine_lanes s[GROUPS], struct affine_found *ret, int at,
                              int n_subs)
{
    for (int g = 0; g < GROUPS; g++) {
        affine_begin(p, &s[g]);
        affine_first(p, &s[g]);
    }
    for (int attempt = 0; attempt < p->tries; attempt++)
        affine_try(p, s, affine_slope(p, attempt));
    for (int g = 0; g < GROUPS; g++, at += LANES) {
        vf first_min = vf_min(vf_set(0), s[g].lowest), none = vf_set(0);
        vm flat = vf_eq(s[g].max, first_min);
        uint32_t odd = vm_bits(vm_or(s[g].nan, vm_and(s[g].odd, vm_not(flat))));

        vf_store(ret->scale_min.x + at, vf_pick(flat, none, s[g].scale));
        vf_store(ret->scale_min.x + n_subs + at, vf_neg(vf_pick(flat, first_min, s[g].min)));
        vf_store(ret->level_iscale + at, vf_pick(flat, none, s[g].level_iscale));
        vf_store(ret->level_min + at, vf_pick(flat, none, s[g].level_min));
        vf_store(ret->scale_min.w + at, s[g].sum_w);
        vf_store(ret->scale_min.w + n_subs + at, s[g].sum_w);
        for (int lane = 0; lane < LANES; lane++)
            ret->odd[at + lane] = odd >> lane & 1;
    }
}

/* Is any of n sub-blocks left to plain C? */
static inline bool affine_odd(const struct affine_found *found, int first, int n)
{
    bool odd = false;

    for (int j = 0; j < n; j++)
        odd |= found->odd[first + j];
    return odd;
}

/* The levels of sub-block j of found: from the stored scale and min, or if that scale is 0, those of the search. */
static inline void affine_put_levels(const struct affine *p, const float *x, float d, float dmin,
                                     const struct affine_found *found, int j, uint8_t *q)
{
    for (int i = 0; i < p->sub; i += LANES) {
        vf v = vf_load(x + i);

        if (d != 0) /* a NaN is not zero */
            v = vf_div(vf_add(v, vf_set(dmin)), vf_set(d));
        else
            v = vf_mul(vf_set(found->level_iscale[j]), vf_sub(v, vf_set(found->level_min[j])));
        v = vf_max(vf_min(k_wrap_round(v), vf_set((float)p->levels)), vf_set(0));
        vi_put_bytes(q + i, vf_trunc(v));
    }
}

#endif
