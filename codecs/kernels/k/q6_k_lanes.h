/*
 * Template of Q6_K for one instruction set; include a lanes_*.h first. One sub-block per lane: each lane does the plain
 * C version's operations in its order (no reduction crosses lanes), so the bytes are equal. Superblocks with a NaN,
 * whose payload would count, are left to plain C. For anything else |slope * x| is at most 32.9, so the rounding cannot
 * wrap.
 */
#include "q6_k.h"
#include "slots.h"

struct search {
    vf x[Q6_K_SUB], w[Q6_K_SUB], wx[Q6_K_SUB]; /* values, their squares (the weights), and w * x */
    vf amax, max;                              /* the largest magnitude, and the first value that has it */
    vm nan, tiny;                              /* lanes to be left to plain C; lanes that count as zero */
    vf best, scale, level_iscale;
};

/*
 * Clamped to -32..31 before rounding, on bits: as signed integers floats order rightly above, as unsigned ones below.
 */
static inline vf clamped(vf v)
{
    vi upper = vi_min(vf_bits(v), vf_bits(vf_set(31)));

    return vi_floats(vi_min_u(upper, vf_bits(vf_set(-32))));
}

static inline void begin(struct search *s)
{
    s->amax = s->max = vf_set(0);
    s->nan = vm_none();
    for (int i = 0; i < Q6_K_SUB; i++) {
        vf a = vf_abs(s->x[i]);
        vm more = vf_gt(a, s->amax);

        s->amax = vf_pick(more, a, s->amax);
        s->max = vf_pick(more, s->x[i], s->max);
        s->nan = vm_or(s->nan, vf_nan(a));
        s->w[i] = vf_mul(s->x[i], s->x[i]);
        s->wx[i] = vf_mul(s->w[i], s->x[i]);
    }
}

/* The slopes tried, -9..9 without 0. */
static inline float slope(int step)
{
    return -(32.0f + 0.1f * (float)(step < 9 ? step - 9 : step - 8));
}

struct sums { /* that give the least-squares scale for one slope */
    vf xl, l2;
};

static inline void add_level(struct sums *t, const struct search *s, int i, vf iscale)
{
    vf l = vf_round(clamped(vf_mul(iscale, s->x[i])));

    t->xl = vf_add(t->xl, vf_mul(s->wx[i], l));
    t->l2 = vf_add(t->l2, vf_mul(vf_mul(s->w[i], l), l));
}

static inline void keep_better(struct search *s, const struct sums *t, vf iscale)
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

static inline void run(struct search *s)
{
    struct sums first = { vf_set(0), vf_set(0) };

    begin(s);
    s->tiny = vf_lt(s->amax, vf_set(K_TINY));
    s->level_iscale = vf_div(vf_set(-32), s->max);
    for (int i = 0; i < Q6_K_SUB; i++)
        add_level(&first, s, i, s->level_iscale);
    s->scale = vf_pick(vf_eq(first.l2, vf_set(0)), vf_set(0), vf_div(first.xl, first.l2));
    s->best = vf_mul(s->scale, first.xl);
    for (int step = 0; step < 18; step += 2) { /* two slopes at a time keep the adders busy; they are judged in order */
        struct sums a = { vf_set(0), vf_set(0) }, b = a;
        vf iscale_a = vf_div(vf_set(slope(step)), s->max), iscale_b = vf_div(vf_set(slope(step + 1)), s->max);

#pragma GCC unroll 4
        for (int i = 0; i < Q6_K_SUB; i++) {
            add_level(&a, s, i, iscale_a);
            add_level(&b, s, i, iscale_b);
        }
        keep_better(s, &a, iscale_a);
        keep_better(s, &b, iscale_b);
    }
    s->scale = vf_pick(s->tiny, vf_set(0), s->scale);
}

/* ggml's rounding, wrapping included, clamped and made positive. */
static inline vi level_of(vf v)
{
    vi n = vi_sub(vi_and(vf_bits(vf_add(v, vf_set(12582912))), vi_set(0x007fffff)), vi_set(0x00400000));

    return vi_add(vi_max(vi_min(n, vi_set(31)), vi_set(-32)), vi_set(32));
}

/* The levels of sub-block j: from the stored scale, or if that is 0, those of the search (0 for a tiny sub-block). */
static inline void put_levels(const float *x, uint8_t *q, float d, bool tiny, float iscale)
{
    for (int i = 0; i < Q6_K_SUB; i += LANES) {
        if (d != 0) /* a NaN is not zero */
            vi_put_bytes(q + i, level_of(vf_div(vf_load(x + i), vf_set(d))));
        else if (tiny)
            vi_put_bytes(q + i, vi_set(0));
        else
            vi_put_bytes(q + i, level_of(vf_mul(vf_set(iscale), vf_load(x + i))));
    }
}

static void encode_super(const float *x, uint8_t *block)
{
    struct search s;
    float scale[Q6_K_SUBS], iscale[Q6_K_SUBS], d[Q6_K_SUBS];
    uint8_t q[Q6_K_ELEMS];
    uint32_t nan = 0, tiny = 0;

    for (int j = 0; j < Q6_K_SUBS; j += LANES) {
        for (int i = 0; i < Q6_K_SUB; i += LANES)
            vf_transpose(x + Q6_K_SUB * j + i, Q6_K_SUB, s.x + i);
        run(&s);
        vf_store(scale + j, s.scale);
        vf_store(iscale + j, s.level_iscale);
        nan |= vm_bits(s.nan);
        tiny |= vm_bits(s.tiny) << j;
    }
    if (nan) {
        wfs_encode_q6_k_c(x, block, Q6_K_ELEMS);
        return;
    }
    if (!q6_k_put_scales(block, scale, d))
        return;
    for (int j = 0; j < Q6_K_SUBS; j++)
        put_levels(x + Q6_K_SUB * j, q + Q6_K_SUB * j, d[j], tiny >> j & 1, iscale[j]);
    q6_k_put_levels(block, q);
}

void VF_NAME(wfs_encode_q6_k)(const float *src, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / Q6_K_ELEMS; b++)
        encode_super(src + b * Q6_K_ELEMS, (uint8_t *)dst + b * Q6_K_BYTES);
}
