/*
 * Template of the search for a scale alone (symmetric_find) for one instruction set; include a lanes_*.h first. One
 * sub-block per lane: each lane does the plain C version's operations in its order (no reduction crosses lanes), so the
 * bytes are equal.
 *
 * Left to plain C: NaN among values and weights, whose payload would count, and infinite values. For anything else
 * |slope * x| is at most half + 0.9, so the rounding cannot wrap.
 */
#ifndef WFS_KERNELS_K_SYMMETRIC_LANES_H
#define WFS_KERNELS_K_SYMMETRIC_LANES_H

#include "k_lanes.h"

#ifndef SYMMETRIC_SUB /* values of a sub-block; Q4_0 and Q5_0 with importance weights have 32 */
#define SYMMETRIC_SUB 16
#endif

struct symmetric_lanes {
    vf x[SYMMETRIC_SUB], w[SYMMETRIC_SUB], wx[SYMMETRIC_SUB]; /* values, weights, and w * x */
    vf amax, max; /* the largest magnitude, and the first value that has it */
    vm odd, tiny; /* lanes to be left to plain C; lanes that count as zero */
    vf best, scale, level_iscale;
};

/* What the searches of a batch give, an entry per sub-block. */
struct symmetric_found {
    float scale[BATCH * BATCH_MAX_SUBS], level_iscale[BATCH * BATCH_MAX_SUBS], amax[BATCH * BATCH_MAX_SUBS];
    bool odd[BATCH * BATCH_MAX_SUBS], tiny[BATCH * BATCH_MAX_SUBS];
};

/*
 * Clamped before rounding, on bits: as signed integers floats order rightly above, as unsigned ones below. Above, to
 * half - 1; below, to -half, which only slopes beyond half + 0.4 can pass by more than rounds back to it.
 */
static inline vf symmetric_clamped(vf v, int half, bool steep)
{
    vi upper = vi_min(vf_bits(v), vf_bits(vf_set((float)(half - 1))));

    return vi_floats(steep ? vi_min_u(upper, vf_bits(vf_set((float)-half))) : upper);
}

/* From values and weights, which are there. */
static inline void symmetric_begin(struct symmetric_lanes *s)
{
    s->amax = s->max = vf_set(0);
    s->odd = vm_none();
    for (int i = 0; i < SYMMETRIC_SUB; i++) {
        vf a = vf_abs(s->x[i]);
        vm more = vf_gt(a, s->amax);

        s->amax = vf_pick(more, a, s->amax);
        s->max = vf_pick(more, s->x[i], s->max);
        s->wx[i] = vf_mul(s->w[i], s->x[i]);
        s->odd = vm_or(s->odd, vm_or(vf_nan(s->x[i]), vf_nan(s->w[i])));
    }
    s->odd = vm_or(s->odd, vm_not(vf_lt(s->amax, vf_set(__builtin_inff()))));
    s->tiny = vf_lt(s->amax, vf_set(K_TINY));
}

struct symmetric_sums { /* that give the least-squares scale for one slope */
    vf xl, l2;
};

static inline void symmetric_add(struct symmetric_sums *t, const struct symmetric_lanes *s, int half, int i, vf iscale,
                                 bool steep)
{
    vf l = vf_round(symmetric_clamped(vf_mul(iscale, s->x[i]), half, steep));

    t->xl = vf_add(t->xl, vf_mul(s->wx[i], l));
    t->l2 = vf_add(t->l2, vf_mul(vf_mul(s->w[i], l), l));
}

static inline void symmetric_keep_better(struct symmetric_lanes *s, const struct symmetric_sums *t, vf iscale)
{
    vm better = vm_and(vf_gt(t->l2, vf_set(0)), vf_gt(vf_mul(t->xl, t->xl), vf_mul(s->best, t->l2)));
    vf scale;

    if (!vm_bits(better))
        return;
    scale = vf_div(t->xl, t->l2);
    s->level_iscale = vf_pick(better, iscale, s->level_iscale);
    s->scale = vf_pick(better, scale, s->scale);
    s->best = vf_pick(better, vf_mul(scale, t->xl), s->best);
}

/* The slopes tried, -9..9 without 0, times the largest value. */
static inline float symmetric_slope(int half, int attempt)
{
    return -((float)half + 0.1f * (float)(attempt < 9 ? attempt - 9 : attempt - 8));
}

/* Attempts from first to before end, an even number. Two keep the adders busy; they are judged in order. */
static inline void symmetric_try(struct symmetric_lanes *s, int half, int first, int end, bool steep)
{
    for (int attempt = first; attempt < end; attempt += 2) {
        struct symmetric_sums a = { vf_set(0), vf_set(0) }, b = a;
        vf iscale_a = vf_div(vf_set(symmetric_slope(half, attempt)), s->max);
        vf iscale_b = vf_div(vf_set(symmetric_slope(half, attempt + 1)), s->max);

#pragma GCC unroll 4
        for (int i = 0; i < SYMMETRIC_SUB; i++) {
            symmetric_add(&a, s, half, i, iscale_a, steep);
            symmetric_add(&b, s, half, i, iscale_b, steep);
        }
        symmetric_keep_better(s, &a, iscale_a);
        symmetric_keep_better(s, &b, iscale_b);
    }
}

/* Scale and what gives the levels, per lane. */
static inline void symmetric_run(struct symmetric_lanes *s, int half)
{
    struct symmetric_sums first = { vf_set(0), vf_set(0) };

    symmetric_begin(s);
    s->level_iscale = vf_div(vf_set((float)-half), s->max);
    for (int i = 0; i < SYMMETRIC_SUB; i++)
        symmetric_add(&first, s, half, i, s->level_iscale, false);
    s->scale = vf_pick(vf_eq(first.l2, vf_set(0)), vf_set(0), vf_div(first.xl, first.l2));
    s->best = vf_mul(s->scale, first.xl);
    symmetric_try(s, half, 0, 12, false); /* to step 3 */
    symmetric_try(s, half, 12, 18, true);
    s->scale = vf_pick(s->tiny, vf_set(0), s->scale);
}

static inline void symmetric_put_marks(struct symmetric_found *ret, int at, vm odd, vm tiny)
{
    vi_put_bytes((uint8_t *)ret->odd + at, vm_ints(odd, vi_set(1)));
    vi_put_bytes((uint8_t *)ret->tiny + at, vm_ints(tiny, vi_set(1)));
}

static inline void symmetric_store(const struct symmetric_lanes *s, struct symmetric_found *ret, int at)
{
    vf_store(ret->scale + at, s->scale);
    vf_store(ret->level_iscale + at, s->level_iscale);
    vf_store(ret->amax + at, s->amax);
    symmetric_put_marks(ret, at, s->odd, s->tiny);
}

/* Is any of n sub-blocks left to plain C? */
static inline bool symmetric_odd(const struct symmetric_found *found, int first, int n)
{
    bool odd = false;

    for (int j = 0; j < n; j++)
        odd |= found->odd[first + j];
    return odd;
}

/* A level plus half, for ggml's rounding, wrapping included. */
static inline vi symmetric_level_of(vf v, int half)
{
    v = vf_max(vf_min(k_wrap_round(v), vf_set((float)(half - 1))), vf_set((float)-half));
    return vf_trunc(vf_add(v, vf_set((float)half)));
}

/*
 * The levels plus half of a sub-block: from the stored scale, or if that is 0, those of the search (0 for a tiny
 * sub-block).
 */
static inline void symmetric_put_exact(const float *x, float d, int half, float level_iscale, bool tiny, uint8_t *q)
{
    for (int i = 0; i < SYMMETRIC_SUB; i += LANES) {
        if (d != 0) /* a NaN is not zero */
            vi_put_bytes(q + i, symmetric_level_of(vf_div(vf_load(x + i), vf_set(d)), half));
        else if (tiny)
            vi_put_bytes(q + i, vf_bits(vf_set(0)));
        else
            vi_put_bytes(q + i, symmetric_level_of(vf_mul(vf_set(level_iscale), vf_load(x + i)), half));
    }
}

/*
 * The levels plus half of a sub-block from the inverse of the stored scale: a product is off by less than 2^-16 from
 * the quotient, as long as that is not far beyond the levels. False: one may be rounded to another side.
 */
static inline bool symmetric_put_near(const float *x, float inverse, int half, uint8_t *q)
{
    vf lowest = vf_set((float)-half), highest = vf_set((float)(half - 1)), far = vf_set(0);

    for (int i = 0; i < SYMMETRIC_SUB; i += LANES) {
        vf v = vf_mul(vf_load(x + i), vf_set(inverse)), whole = vf_round(v);

        far = vf_max(vf_abs(vf_sub(v, whole)), far);
        vi_put_bytes(q + i, vf_trunc(vf_add(vf_max(vf_min(whole, highest), lowest), vf_set((float)half))));
    }
    return !vm_bits(vf_gt(far, vf_set(0.4999f)));
}

/* The levels of 16 sub-blocks, those of found from number first on, whose stored scales are d. */
static inline void symmetric_put_levels(const float *x, const float *d, int half, const struct symmetric_found *found,
                                        int first, uint8_t *q)
{
    float inverse[BATCH_MAX_SUBS];
    uint32_t near = 0;

    for (int j = 0; j < BATCH_MAX_SUBS; j += LANES) {
        vf v = vf_div(vf_set(1), vf_load(d + j));

        vf_store(inverse + j, v); /* of 0 it is infinite, of NaN NaN */
        near |= vm_bits(vf_lt(vf_mul(vf_load(found->amax + first + j), vf_abs(v)), vf_set(128))) << j;
    }
    for (int j = 0; j < BATCH_MAX_SUBS; j++, x += SYMMETRIC_SUB, q += SYMMETRIC_SUB) {
        if (!(near >> j & 1) || !symmetric_put_near(x, inverse[j], half, q))
            symmetric_put_exact(x, d[j], half, found->level_iscale[first + j], found->tiny[first + j], q);
    }
}

#endif
