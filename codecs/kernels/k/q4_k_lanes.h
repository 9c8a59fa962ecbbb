/*
 * Template of Q4_K for one instruction set; include a lanes_*.h first. One sub-block per lane: each lane does the plain
 * C version's operations in its order (no reduction crosses lanes), so the bytes are equal.
 *
 * Left to plain C, superblock by superblock: NaN in the input (whose payload would count), and values for which a
 * level before clamping may lie beyond +-2^22, where ggml's rounding wraps. The latter is for the proof's sake: it
 * takes an infinite slope (a range below 4e-38), and no input was found where the bytes would differ.
 */
#include "q4_k.h"
#include "slots.h"

#define SUPERS (LANES / Q4_K_SUBS) /* superblocks at a time */

struct search {
    vf x[Q4_K_SUB], w[Q4_K_SUB]; /* values and weights, one sub-block per lane */
    vf level[Q4_K_SUB];          /* of the current try, as floats */
    vf lowest, max;              /* of x */
    vf sum_w, sum_x;
    vm nan, odd;                 /* lanes to be left to plain C */
    /* the best so far: what it is worth, and what the levels came from */
    vf best, scale, min, level_iscale, level_min;
};

/*
 * The level before it is rounded, clamped. On bits: as integers, floats order as they should here (NaN was ruled out).
 */
static inline vf clamped(vf v)
{
    return vi_floats(vi_max(vi_min(vf_bits(v), vf_bits(vf_set(15))), vi_set(0)));
}

/* Marks lanes where a level may not fit; x - min is monotonic in x, so its ends tell. */
static inline void check_range(struct search *s, vf iscale)
{
    vf lo = vf_mul(iscale, vf_sub(s->lowest, s->min)), hi = vf_mul(iscale, vf_sub(s->max, s->min));
    vf limit = vf_set(4194303);

    s->odd = vm_or(s->odd, vm_not(vm_and(vf_le(vf_abs(lo), limit), vf_le(vf_abs(hi), limit))));
}

static inline void begin(struct search *s)
{
    vf sum_x2 = vf_mul(s->x[0], s->x[0]), rms;

    for (int i = 1; i < Q4_K_SUB; i++)
        sum_x2 = vf_add(sum_x2, vf_mul(s->x[i], s->x[i]));
    rms = vf_sqrt(vf_div(sum_x2, vf_set(32)));
    s->lowest = s->max = s->x[0];
    s->nan = vf_nan(s->x[0]);
    s->odd = vm_none();
    s->sum_w = s->w[0] = vf_add(rms, vf_abs(s->x[0]));
    s->sum_x = vf_mul(s->w[0], s->x[0]);
    for (int i = 1; i < Q4_K_SUB; i++) {
        s->w[i] = vf_add(rms, vf_abs(s->x[i]));
        s->lowest = vf_min(s->x[i], s->lowest);
        s->max = vf_max(s->x[i], s->max);
        s->nan = vm_or(s->nan, vf_nan(s->x[i]));
        s->sum_w = vf_add(s->sum_w, s->w[i]);
        s->sum_x = vf_add(s->sum_x, vf_mul(s->w[i], s->x[i]));
    }
    s->min = vf_min(vf_set(0), s->lowest);
}

static inline vf weighted_error(const struct search *s, vf scale, vf min)
{
    vf error = vf_set(0);

#pragma GCC unroll 4
    for (int i = 0; i < Q4_K_SUB; i++) {
        vf diff = vf_sub(vf_add(vf_mul(scale, s->level[i]), min), s->x[i]);

        error = vf_add(error, vf_mul(s->w[i], vf_mul(diff, diff)));
    }
    return error;
}

/* One slope: levels, the least-squares scale and min for them, and their error where that is better. */
static inline void try_slope(struct search *s, vf iscale)
{
    vf sum_l = vf_set(0), sum_l2 = sum_l, sum_xl = sum_l, det, scale, min, error;
    vm solved, positive, better;

#pragma GCC unroll 4
    for (int i = 0; i < Q4_K_SUB; i++) {
        vf l = vf_round(clamped(vf_mul(iscale, vf_sub(s->x[i], s->min))));
        vf wl = vf_mul(s->w[i], l);

        s->level[i] = l;
        sum_l = vf_add(sum_l, wl);
        sum_l2 = vf_add(sum_l2, vf_mul(wl, l));
        sum_xl = vf_add(sum_xl, vf_mul(wl, s->x[i]));
    }
    det = vf_sub(vf_mul(s->sum_w, sum_l2), vf_mul(sum_l, sum_l));
    solved = vf_gt(det, vf_set(0));
    scale = vf_div(vf_sub(vf_mul(s->sum_w, sum_xl), vf_mul(s->sum_x, sum_l)), det);
    min = vf_div(vf_sub(vf_mul(sum_l2, s->sum_x), vf_mul(sum_l, sum_xl)), det);
    positive = vf_gt(min, vf_set(0));
    if (vm_bits(positive)) {
        min = vf_pick(positive, vf_set(0), min);
        scale = vf_pick(positive, vf_div(sum_xl, sum_l2), scale);
    }
    error = weighted_error(s, scale, min);
    better = vm_and(solved, vf_lt(error, s->best));
    s->level_iscale = vf_pick(better, iscale, s->level_iscale);
    s->level_min = vf_pick(better, s->min, s->level_min);
    s->best = vf_pick(better, error, s->best);
    s->scale = vf_pick(better, scale, s->scale);
    s->min = vf_pick(better, min, s->min);
}

/* Scale, min and what gives the levels, per lane. A lane of equal values gets scale 0 (and levels 0). */
static inline void run(struct search *s)
{
    vf iscale;
    vm flat;

    begin(s);
    flat = vf_eq(s->max, s->min);
    iscale = vf_div(vf_set(15), vf_sub(s->max, s->min));
    check_range(s, iscale);
    s->level_iscale = iscale;
    s->level_min = s->min;
    s->scale = vf_div(vf_set(1), iscale);
    for (int i = 0; i < Q4_K_SUB; i++)
        s->level[i] = vf_round(clamped(vf_mul(iscale, vf_sub(s->x[i], s->min))));
    s->best = weighted_error(s, s->scale, s->min);
    for (int step = 0; step <= 20; step++) {
        iscale = vf_div(vf_set(-1.0f + 0.1f * (float)step + 15.0f), vf_sub(s->max, s->min));
        check_range(s, iscale);
        try_slope(s, iscale);
    }
    s->odd = vm_or(s->nan, vm_and(s->odd, vm_not(flat)));
    s->scale = vf_pick(flat, vf_set(0), s->scale);
    s->min = vf_neg(vf_pick(flat, s->level_min, s->min)); /* flat: no error was below the first, 0: the first min */
}

/* ggml's rounding, wrapping included, and clamped to a level. */
static inline vi level_of(vf v)
{
    vi n = vi_sub(vi_and(vf_bits(vf_add(v, vf_set(12582912))), vi_set(0x007fffff)), vi_set(0x00400000));

    return vi_max(vi_min(n, vi_set(15)), vi_set(0));
}

/* LANES levels of a sub-block: from the stored scale and min, or if that scale is 0, those of the search. */
static inline vi levels(const float *x, float d, float dmin, float iscale, float min)
{
    vf v = vf_load(x);

    if (d != 0) /* a NaN is not zero */
        return level_of(vf_div(vf_add(v, vf_set(dmin)), vf_set(d)));
    return level_of(vf_mul(vf_set(iscale), vf_sub(v, vf_set(min))));
}

static void put_block(const float *x, uint8_t *block, const float *scales, const float *mins, const float *iscales,
                      const float *level_mins)
{
    float d[Q4_K_SUBS], dmin[Q4_K_SUBS];

    q4_k_put_scales(block, scales, mins, d, dmin);
    for (int j = 0; j < Q4_K_SUBS; j += 2) {
        for (int i = 0; i < Q4_K_SUB; i += LANES) {
            const float *at = x + Q4_K_SUB * j + i;
            vi low = levels(at, d[j], dmin[j], iscales[j], level_mins[j]);
            vi high = levels(at + Q4_K_SUB, d[j + 1], dmin[j + 1], iscales[j + 1], level_mins[j + 1]);

            vi_put_bytes(block + Q4_K_QS + Q4_K_SUB / 2 * j + i, vi_or(low, vi_shl(high, 4)));
        }
    }
}

/* SUPERS superblocks. */
static void encode_supers(const float *x, uint8_t *dst)
{
    struct search s;
    float scale[LANES], min[LANES], iscale[LANES], level_min[LANES];
    uint32_t odd;

    for (int i = 0; i < Q4_K_SUB; i += LANES)
        vf_transpose(x + i, Q4_K_SUB, s.x + i);
    run(&s);
    vf_store(scale, s.scale);
    vf_store(min, s.min);
    vf_store(iscale, s.level_iscale);
    vf_store(level_min, s.level_min);
    odd = vm_bits(s.odd);
    for (int b = 0; b < SUPERS; b++) {
        int lane = b * Q4_K_SUBS;

        if (odd >> lane & 0xff)
            wfs_encode_q4_k_c(x + b * Q4_K_ELEMS, dst + b * Q4_K_BYTES, Q4_K_ELEMS);
        else
            put_block(x + b * Q4_K_ELEMS, dst + b * Q4_K_BYTES, scale + lane, min + lane, iscale + lane,
                      level_min + lane);
    }
}

void VF_NAME(wfs_encode_q4_k)(const float *src, void *dst, size_t n_elems)
{
    size_t n_blocks = n_elems / Q4_K_ELEMS, b = 0;
    uint8_t *d = dst;

    for (; b + SUPERS <= n_blocks; b += SUPERS)
        encode_supers(src + b * Q4_K_ELEMS, d + b * Q4_K_BYTES);
    if (b < n_blocks) { /* fewer than fill the lanes: the rest is zeros, whose blocks are dropped */
        float x[SUPERS * Q4_K_ELEMS] = { 0 };
        uint8_t blocks[SUPERS * Q4_K_BYTES];

        memcpy(x, src + b * Q4_K_ELEMS, (n_blocks - b) * Q4_K_ELEMS * sizeof *x);
        encode_supers(x, blocks);
        memcpy(d + b * Q4_K_BYTES, blocks, (n_blocks - b) * Q4_K_BYTES);
    }
}
