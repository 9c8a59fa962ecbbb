/*
 * Template of IQ1_S and IQ1_M for one instruction set; include a lanes_*.h first. The searches for the cuts go
 * sub-block by lane, each lane in the order of the plain C version; the searches for grid points take LANES of them at
 * once, whose sums are each in order. Sorting is by value and then by number, as a stable sort leaves it.
 *
 * In IQ1_S an eighth of a difference of sums is taken as the difference of their eighths, which is the same as long as
 * nothing underflows or overflows: sub-blocks with products or weights that are tiny (but not zero), huge, or no
 * numbers are left to plain C.
 */
#include "iq1_blocks.h"
#include "slots.h"

/* LANES sub-blocks of up to 32 values. */
struct iq1_lanes {
    vf x[IQ1_MAX_SUB], w[IQ1_MAX_SUB], number[IQ1_MAX_SUB]; /* sorted by x; number: which value it was */
    vf score, scale;
    vi cut;                                                 /* first | second << 8 | kind << 16; -1: none */
};

static inline void iq1_swap(struct iq1_lanes *s, int i, int j)
{
    vf xi = s->x[i], xj = s->x[j], wi = s->w[i], wj = s->w[j], ni = s->number[i], nj = s->number[j];
    vm swap = vm_or(vf_gt(xi, xj), vm_and(vf_eq(xi, xj), vf_gt(ni, nj)));

    s->x[i] = vf_pick(swap, xj, xi);
    s->x[j] = vf_pick(swap, xi, xj);
    s->w[i] = vf_pick(swap, wj, wi);
    s->w[j] = vf_pick(swap, wi, wj);
    s->number[i] = vf_pick(swap, nj, ni);
    s->number[j] = vf_pick(swap, ni, nj);
}

/* Batcher's odd-even merge sort of n values, a power of two. */
static inline void iq1_sort(struct iq1_lanes *s, int n)
{
    for (int p = 1; p < n; p *= 2) {
        for (int k = p; k >= 1; k /= 2) {
            for (int j = k % p; j + k < n; j += 2 * k) {
                for (int i = j; i < j + k && i + k < n; i++) {
                    if (i / (2 * p) == (i + k) / (2 * p))
                        iq1_swap(s, i, i + k);
                }
            }
        }
    }
}

static inline void iq1_load(struct iq1_lanes *s, const float *x, const float *w, int n)
{
    for (int i = 0; i < n; i += LANES) {
        vf_transpose(x + i, (size_t)n, s->x + i);
        vf_transpose(w + i, (size_t)n, s->w + i);
    }
    for (int i = 0; i < n; i++)
        s->number[i] = vf_set((float)i);
    s->score = vf_set(-FLT_MAX);
    s->scale = vf_set(0);
    s->cut = vi_set(-1);
}

/* The lanes in which a cut explains more than the best one so far. */
static inline vm iq1_better(const struct iq1_lanes *s, vf xl, vf l2)
{
    return vm_and(vf_gt(l2, vf_set(0)), vf_gt(vf_mul(xl, xl), vf_mul(s->score, l2)));
}

static inline void iq1_take(struct iq1_lanes *s, vf xl, vf l2, int first, int second, int kind)
{
    vm better = iq1_better(s, xl, l2);
    vi cut = vi_set(first | second << 8 | kind << 16);

    s->scale = vf_pick(better, vf_div(xl, l2), s->scale);
    s->score = vf_pick(better, vf_mul(s->scale, xl), s->score);
    s->cut = vi_pick(better, cut, s->cut);
}

static inline vm iq1_odd(vf v)
{
    vm sound = vm_and(vf_le(vf_set(0x1p-100f), vf_abs(v)), vf_lt(vf_abs(v), vf_set(0x1p120f)));

    return vm_not(vm_or(sound, vf_eq(v, vf_set(0))));
}

/*
 * What the sums up to each place, or from it, add to xl (x) and l2 (w): those of the middle part as an eighth and a
 * sixty-fourth, those before the first border and after the second one times the digit there.
 */
struct iq1_s_sums {
    vf x[IQ1_S_SUB + 1], w[IQ1_S_SUB + 1];
    vf up_x[2][IQ1_S_SUB + 1], down_x[2][IQ1_S_SUB + 1];
    vf up_w[2][IQ1_S_SUB + 1], down_w[2][IQ1_S_SUB + 1];
};

static inline vf iq1_times(vf a, float q)
{
    return vf_mul(a, vf_set(q));
}

/* The lanes to be left to plain C. */
static inline vm iq1_s_make_sums(const struct iq1_lanes *s, struct iq1_s_sums *t)
{
    const float *up = iq1_values[0], *down = iq1_values[1];
    vm odd = vm_none();

    t->x[0] = t->w[0] = vf_set(0);
    for (int j = 0; j < IQ1_S_SUB; j++) {
        vf wx = vf_mul(s->w[j], s->x[j]);

        odd = vm_or(odd, vm_or(iq1_odd(wx), iq1_odd(s->w[j])));
        t->x[j + 1] = vf_add(t->x[j], wx);
        t->w[j + 1] = vf_add(t->w[j], s->w[j]);
    }
    for (int j = 0; j <= IQ1_S_SUB; j++) {
        vf x[2] = { t->x[j], vf_sub(t->x[IQ1_S_SUB], t->x[j]) }, w[2] = { t->w[j], vf_sub(t->w[IQ1_S_SUB], t->w[j]) };

        for (int side = 0; side < 2; side++) {
            t->up_x[side][j] = iq1_times(x[side], up[2 * side]);
            t->down_x[side][j] = iq1_times(x[side], down[2 * side]);
            t->up_w[side][j] = iq1_times(iq1_times(w[side], up[2 * side]), up[2 * side]);
            t->down_w[side][j] = iq1_times(iq1_times(w[side], down[2 * side]), down[2 * side]);
        }
    }
    for (int j = 0; j <= IQ1_S_SUB; j++) {
        t->x[j] = iq1_times(t->x[j], IQ1_DELTA);
        t->w[j] = iq1_times(t->w[j], IQ1_DELTA * IQ1_DELTA);
    }
    return odd;
}

static inline void iq1_s_search(struct iq1_lanes *s, const struct iq1_s_sums *t)
{
    for (int i = 0; i <= IQ1_S_SUB; i++) {
        for (int j = i; j <= IQ1_S_SUB; j++) {
            vf x = vf_sub(t->x[j], t->x[i]), w = vf_sub(t->w[j], t->w[i]);
            vf up_x = vf_add(vf_add(t->up_x[0][i], x), t->up_x[1][j]);
            vf up_w = vf_add(vf_add(t->up_w[0][i], w), t->up_w[1][j]);
            vf down_x = vf_add(vf_sub(t->down_x[0][i], x), t->down_x[1][j]);
            vf down_w = vf_add(vf_add(t->down_w[0][i], w), t->down_w[1][j]);

            if (!vm_bits(vm_or(iq1_better(s, up_x, up_w), iq1_better(s, down_x, down_w))))
                continue;
            iq1_take(s, up_x, up_w, i, j, 0);
            iq1_take(s, down_x, down_w, i, j, 1);
        }
    }
}

/* What each sorted value adds with each digit: xl of kinds 0 to 3, then l2. */
struct iq1_m_parts {
    vf part[3][IQ1_M_SUB][8];
};

static inline void iq1_m_make_parts(const struct iq1_lanes *s, struct iq1_m_parts *ret)
{
    for (int j = 0; j < IQ1_M_SUB; j++) {
        vm low = vf_lt(s->number[j], vf_set(IQ1_GROUP));

        for (int l = 0; l < 3; l++) {
            vf up = iq1_times(s->w[j], iq1_values[0][l]), down = iq1_times(s->w[j], iq1_values[1][l]);
            vf *p = ret->part[l][j];

            p[0] = vf_mul(up, s->x[j]);
            p[3] = vf_mul(down, s->x[j]);
            p[1] = vf_pick(low, p[0], p[3]);
            p[2] = vf_pick(low, p[3], p[0]);
            p[4] = iq1_times(up, iq1_values[0][l]);
            p[7] = iq1_times(down, iq1_values[1][l]);
            p[5] = vf_pick(low, p[4], p[7]);
            p[6] = vf_pick(low, p[7], p[4]);
        }
    }
}

static inline void iq1_m_add(vf sums[8], const vf parts[8])
{
    for (int k = 0; k < 8; k++)
        sums[k] = vf_add(sums[k], parts[k]);
}

/* The cut with the second border at j: sums of what is before it, in, and of the rest. */
static inline void iq1_m_try(struct iq1_lanes *s, const struct iq1_m_parts *p, const vf before[8], int i, int j)
{
    vf sums[8];
    vm any = vm_none();

    memcpy(sums, before, sizeof sums);
    for (int l = j; l < IQ1_M_SUB; l++)
        iq1_m_add(sums, p->part[2][l]);
    for (int k = 0; k < 4; k++)
        any = vm_or(any, iq1_better(s, sums[k], sums[k + 4]));
    if (!vm_bits(any))
        return;
    for (int k = 0; k < 4; k++)
        iq1_take(s, sums[k], sums[k + 4], i, j, k);
}

static inline void iq1_m_search(struct iq1_lanes *s, const struct iq1_m_parts *p)
{
    vf first[8], second[8];

    for (int k = 0; k < 8; k++)
        first[k] = vf_set(0);
    for (int i = 0; i <= IQ1_M_SUB; i++) {
        memcpy(second, first, sizeof second);
        for (int j = i; j <= IQ1_M_SUB; j++) {
            iq1_m_try(s, p, second, i, j);
            if (j < IQ1_M_SUB)
                iq1_m_add(second, p->part[1][j]);
        }
        if (i < IQ1_M_SUB)
            iq1_m_add(first, p->part[0][i]);
    }
}

/* The lanes' cuts and digits; those of sub-blocks with no value as large as tiny are none. */
static inline void iq1_store(const struct iq1_lanes *s, int n, float tiny, struct iq1_cut *cuts, uint8_t *digits)
{
    uint8_t order[IQ1_MAX_SUB * LANES];
    float scale[LANES];
    uint32_t packed[LANES], small;
    vf largest = vf_set(0);

    for (int j = 0; j < n; j++) {
        vi_put_bytes(order + j * LANES, vf_trunc(s->number[j]));
        largest = vf_max(largest, vf_abs(s->x[j]));
    }
    small = vm_bits(vf_lt(largest, vf_set(tiny)));
    vf_store(scale, s->scale);
    vi_store(packed, s->cut);
    for (int lane = 0; lane < LANES; lane++, digits += n) {
        int first = (int)(packed[lane] & 0xff), second = (int)(packed[lane] >> 8 & 0xff);

        cuts[lane] = (struct iq1_cut){ .first = -1 };
        if (packed[lane] == UINT32_MAX || small >> lane & 1)
            continue;
        cuts[lane] = (struct iq1_cut){ first, second, (int)(packed[lane] >> 16), scale[lane] };
        for (int j = 0; j < n; j++)
            digits[order[j * LANES + lane]] = (uint8_t)((j >= first) + (j >= second));
    }
}

/* n is a multiple of sixteen. */
static inline int iq1_nearest_lanes(const struct iq1_terms *terms, const uint16_t *codes, int n)
{
    vf best = vf_set(FLT_MAX);
    vi at = vi_set(0);
    float least;
    int places[LANES], found = INT32_MAX;
    uint32_t which;

    for (int j = 0; j < n; j += LANES) {
        vi code = vi_get_words(codes + j);
        vf sum = vf_lookup4(terms->term[0], code);
        vm less;

        for (int i = 1; i < IQ1_GROUP; i++) {
            code = vi_shr(code, 2);
            sum = vf_add(sum, vf_lookup4(terms->term[i], code));
        }
        less = vf_lt(sum, best);
        best = vf_pick(less, sum, best);
        at = vi_pick(less, vi_set(j), at);
    }
    least = vf_reduce_min(best);
    if (!(least < FLT_MAX))
        return -1;
    which = vm_bits(vf_eq(best, vf_set(least)));
    vi_store(places, at);
    for (int lane = 0; lane < LANES; lane++) {
        if (which >> lane & 1 && places[lane] + lane < found)
            found = places[lane] + lane;
    }
    return found;
}

/* As iq1_weigh. */
static inline void iq1_weigh_lanes(const float *x, const float *importance, float *ret_w)
{
    vf spread = vf_set(importance ? iq1_spread(x) : 0);

    for (int i = 0; i < IQ1_ELEMS; i += LANES) {
        vf square = vf_mul(vf_load(x + i), vf_load(x + i));

        vf_store(ret_w + i, importance ? vf_mul(vf_load(importance + i), vf_sqrt(vf_add(spread, square))) : square);
    }
}

enum { IQ1_S_BATCH = LANES / IQ1_S_SUBS };

/* n (to IQ1_S_BATCH) blocks; of x and importance so many can be read. */
static inline void iq1_s_batch(const struct iq1_tables *tables, const float *x, const float *importance, uint8_t *dst,
                               int n)
{
    float w[IQ1_S_BATCH * IQ1_ELEMS];
    uint8_t digits[IQ1_S_BATCH * IQ1_ELEMS];
    struct iq1_cut cuts[LANES];
    struct iq1_lanes s;
    struct iq1_s_sums sums;
    uint32_t odd;

    for (int b = 0; b < IQ1_S_BATCH; b++)
        iq1_weigh_lanes(x + b * IQ1_ELEMS, importance + b * IQ1_ELEMS, w + b * IQ1_ELEMS);
    iq1_load(&s, x, w, IQ1_S_SUB);
    iq1_sort(&s, IQ1_S_SUB);
    odd = vm_bits(iq1_s_make_sums(&s, &sums));
    iq1_s_search(&s, &sums);
    iq1_store(&s, IQ1_S_SUB, IQ1_S_TINY, cuts, digits);
    for (int b = 0; b < n; b++) {
        int at = b * IQ1_ELEMS;

        if (odd >> b * IQ1_S_SUBS & 0xff)
            wfs_encode_weighted_iq1_s_c(x + at, importance + at, dst + b * IQ1_S_BYTES, IQ1_ELEMS);
        else
            iq1_s_put(tables, iq1_nearest_lanes, x + at, w + at, cuts + b * IQ1_S_SUBS, digits + at,
                      dst + b * IQ1_S_BYTES);
    }
}

void VF_NAME(wfs_encode_weighted_iq1_s)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    const struct iq1_tables *tables = wfs_iq1_tables();
    size_t n = n_elems / IQ1_ELEMS, b = 0;
    uint8_t *block = dst;

    for (; b + IQ1_S_BATCH <= n; b += IQ1_S_BATCH)
        iq1_s_batch(tables, src + b * IQ1_ELEMS, weights + b * IQ1_ELEMS, block + b * IQ1_S_BYTES, IQ1_S_BATCH);
    for (; b < n; b++) { /* alone, in a batch with zeros */
        float x[IQ1_S_BATCH * IQ1_ELEMS] = { 0 }, importance[IQ1_S_BATCH * IQ1_ELEMS] = { 0 };

        memcpy(x, src + b * IQ1_ELEMS, IQ1_ELEMS * sizeof *x);
        memcpy(importance, weights + b * IQ1_ELEMS, IQ1_ELEMS * sizeof *x);
        iq1_s_batch(tables, x, importance, block + b * IQ1_S_BYTES, 1);
    }
}

static inline void iq1_m_block(const struct iq1_tables *tables, const float *x, const float *importance, uint8_t *block)
{
    float w[IQ1_ELEMS];
    uint8_t digits[IQ1_ELEMS];
    struct iq1_cut cuts[IQ1_M_SUBS];
    struct iq1_lanes s;
    struct iq1_m_parts parts;

    iq1_weigh_lanes(x, importance, w);
    for (int j = 0; j < IQ1_M_SUBS; j += LANES) {
        iq1_load(&s, x + j * IQ1_M_SUB, w + j * IQ1_M_SUB, IQ1_M_SUB);
        iq1_sort(&s, IQ1_M_SUB);
        iq1_m_make_parts(&s, &parts);
        iq1_m_search(&s, &parts);
        iq1_store(&s, IQ1_M_SUB, IQ1_M_TINY, cuts + j, digits + j * IQ1_M_SUB);
    }
    iq1_m_put(tables, iq1_nearest_lanes, x, w, cuts, digits, block);
}

void VF_NAME(wfs_encode_iq1_m)(const float *src, void *dst, size_t n_elems)
{
    const struct iq1_tables *tables = wfs_iq1_tables();
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += IQ1_ELEMS, block += IQ1_M_BYTES)
        iq1_m_block(tables, src + i, NULL, block);
}

void VF_NAME(wfs_encode_weighted_iq1_m)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    const struct iq1_tables *tables = wfs_iq1_tables();
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += IQ1_ELEMS, block += IQ1_M_BYTES)
        iq1_m_block(tables, src + i, weights + i, block);
}

/* The codes of two grid points whose numbers' high bits are in qh, `apart` bits apart. */
static inline unsigned iq1_codes(const uint8_t *qs, unsigned qh, int apart)
{
    return wfs_iq1_grid[qs[0] | (qh & 7) << 8] | (unsigned)wfs_iq1_grid[qs[1] | (qh >> apart & 7) << 8] << 16;
}

/* Two groups under one scale; down: bit 0 of the first, bit 1 of the second. */
static inline void iq1_get_groups(float dl, unsigned codes, unsigned down, float *dst)
{
    static const int32_t shifts[16] = { 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30 };
    static const int32_t downs[4][16] = {
        { 0 }, { 4, 4, 4, 4, 4, 4, 4, 4 }, { 0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4 },
        { 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4 },
    };
    static const float values[16] = { -0.875f, 0.125f, 1.125f, 0, -1.125f, -0.125f, 0.875f, 0 };

    for (int i = 0; i < 2 * IQ1_GROUP; i += LANES) {
        vi digit = vi_and(vi_shr_each(vi_set((int32_t)codes), vi_load(shifts + i)), vi_set(3));

        vf_store(dst + i, vf_mul(vf_set(dl), vf_lookup(values, vi_add(digit, vi_load(downs[down] + i)))));
    }
}

void VF_NAME(wfs_dequantize_iq1_s)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t i = 0; i < n_elems; i += IQ1_ELEMS, block += IQ1_S_BYTES) {
        float d = half_value(get_u16(block));

        for (int j = 0; j < IQ1_S_SUBS; j++) {
            const uint8_t *qs = block + IQ1_S_QS + 4 * j;
            unsigned qh = get_u16(block + IQ1_S_QH + 2 * j), down = qh >> 15 ? 3 : 0;
            float dl = d * (float)(2 * (int)(qh >> 12 & 7) + 1);

            iq1_get_groups(dl, iq1_codes(qs, qh, 3), down, dst + i + IQ1_S_SUB * j);
            iq1_get_groups(dl, iq1_codes(qs + 2, qh >> 6, 3), down, dst + i + IQ1_S_SUB * j + 16);
        }
    }
}

void VF_NAME(wfs_dequantize_iq1_m)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t i = 0; i < n_elems; i += IQ1_ELEMS, block += IQ1_M_BYTES) {
        float d = half_value(iq1_m_scale(block));

        for (int j = 0; j < IQ1_M_SUBS; j++) {
            const uint8_t *qs = block + IQ1_M_QS + 2 * j;
            unsigned qh = block[IQ1_M_QH + j], scale = get_u16(block + IQ1_M_SCALES + j / 4 * 2) >> 3 * (j % 4) & 7;

            iq1_get_groups(d * (float)(2 * (int)scale + 1), iq1_codes(qs, qh, 4), (qh >> 3 & 1) | (qh >> 6 & 2),
                           dst + i + IQ1_M_SUB * j);
        }
    }
}
