#include "iq1.h"
#include "../validate.h"
#include "iq1_blocks.h"
#include "slots.h"

/* Sorted by value, equal values in their order (as the merge sort behind glibc's qsort leaves them). */
static void sort(const float *x, int n, uint8_t *ret_order)
{
    for (int i = 0; i < n; i++) {
        int j = i;

        for (; j > 0 && x[ret_order[j - 1]] > x[i]; j--)
            ret_order[j] = ret_order[j - 1];
        ret_order[j] = (uint8_t)i;
    }
}

/* Takes a cut if it explains more than the best one so far. */
static void take(struct iq1_cut *best, float *score, float xl, float l2, int first, int second, int kind)
{
    if (l2 > 0 && xl * xl > *score * l2) {
        float scale = xl / l2;

        *score = scale * xl;
        *best = (struct iq1_cut){ first, second, kind, scale };
    }
}

/*
 * The best cut in three, by sums over the sorted values: xl and l2 of each part are differences of these times the
 * part's digit (the sums of the first and the last part depend on one border each).
 */
static void search_s(const float *x, const float *w, const uint8_t *order, struct iq1_cut *ret)
{
    const float *up = iq1_values[0], *down = iq1_values[1];
    float sum_x[IQ1_S_SUB + 1] = { 0 }, sum_w[IQ1_S_SUB + 1] = { 0 }, score = -FLT_MAX;

    for (int j = 0; j < IQ1_S_SUB; j++) {
        sum_x[j + 1] = sum_x[j] + w[order[j]] * x[order[j]];
        sum_w[j + 1] = sum_w[j] + w[order[j]];
    }
    for (int i = 0; i <= IQ1_S_SUB; i++) {
        for (int j = i; j <= IQ1_S_SUB; j++) {
            float x0 = sum_x[i] - sum_x[0], x1 = sum_x[j] - sum_x[i], x2 = sum_x[IQ1_S_SUB] - sum_x[j];
            float w0 = sum_w[i] - sum_w[0], w1 = sum_w[j] - sum_w[i], w2 = sum_w[IQ1_S_SUB] - sum_w[j];

            take(ret, &score, x0 * up[0] + x1 * up[1] + x2 * up[2],
                 w0 * up[0] * up[0] + w1 * up[1] * up[1] + w2 * up[2] * up[2], i, j, 0);
            take(ret, &score, x0 * down[0] + x1 * down[1] + x2 * down[2],
                 w0 * down[0] * down[0] + w1 * down[1] * down[1] + w2 * down[2] * down[2], i, j, 1);
        }
    }
}

/* What a value adds to the sums of the four kinds with each digit: xl 0 to 3, l2 4 to 7. */
struct iq1_parts {
    float part[3][8];
};

static void add_parts(float *sums, const float *parts)
{
    for (int k = 0; k < 8; k++)
        sums[k] += parts[k];
}

/*
 * The best cut in three, by sums over the sorted values, first to last, begun anew for each cut by ggml; here each cut
 * goes on from where the part that it has in common with the one before ends.
 */
static void search_m(const float *x, const float *w, const uint8_t *order, struct iq1_cut *ret)
{
    struct iq1_parts parts[IQ1_M_SUB];
    float score = -FLT_MAX, first[8] = { 0 };

    for (int j = 0; j < IQ1_M_SUB; j++) {
        int i = order[j], bit = i < IQ1_GROUP ? 2 : 1;

        for (int k = 0; k < 12; k++) {
            float q = iq1_values[k % 4 & bit ? 1 : 0][k / 4];

            parts[j].part[k / 4][k % 4] = w[i] * q * x[i];
            parts[j].part[k / 4][k % 4 + 4] = w[i] * q * q;
        }
    }
    for (int i = 0; i <= IQ1_M_SUB; i++) {
        float second[8];

        memcpy(second, first, sizeof second);
        for (int j = i; j <= IQ1_M_SUB; j++) {
            float sums[8];

            memcpy(sums, second, sizeof sums);
            for (int l = j; l < IQ1_M_SUB; l++)
                add_parts(sums, parts[l].part[2]);
            for (int k = 0; k < 4; k++)
                take(ret, &score, sums[k], sums[k + 4], i, j, k);
            if (j < IQ1_M_SUB)
                add_parts(second, parts[j].part[1]);
        }
        if (i < IQ1_M_SUB)
            add_parts(first, parts[i].part[0]);
    }
}

/* The digits that a cut gives. */
static void set_digits(const struct iq1_cut *cut, const uint8_t *order, int n, uint8_t *ret)
{
    for (int j = 0; j < n; j++)
        ret[order[j]] = (uint8_t)((j >= cut->first) + (j >= cut->second));
}

static int nearest(const struct iq1_terms *terms, const uint16_t *codes, int n)
{
    float best = FLT_MAX;
    int found = -1;

    for (int j = 0; j < n; j++) {
        float sum = 0;

        for (int i = 0; i < IQ1_GROUP; i++)
            sum += terms->term[i][codes[j] >> 2 * i & 3];
        if (sum < best) {
            best = sum;
            found = j;
        }
    }
    return found;
}

static void encode_iq1_s(const struct iq1_tables *t, const float *x, const float *importance, uint8_t *block)
{
    float spread = iq1_spread(x), w[IQ1_ELEMS];
    struct iq1_cut cuts[IQ1_S_SUBS];
    uint8_t digits[IQ1_ELEMS];

    iq1_weigh(x, importance, spread, w);
    for (int j = 0; j < IQ1_S_SUBS; j++) {
        const float *xs = x + IQ1_S_SUB * j;
        uint8_t order[IQ1_S_SUB];

        cuts[j] = (struct iq1_cut){ .first = -1 };
        if (amax_of(xs, IQ1_S_SUB) < IQ1_S_TINY)
            continue;
        sort(xs, IQ1_S_SUB, order);
        search_s(xs, w + IQ1_S_SUB * j, order, &cuts[j]);
        set_digits(&cuts[j], order, IQ1_S_SUB, digits + IQ1_S_SUB * j);
    }
    iq1_s_put(t, nearest, x, w, cuts, digits, block);
}

static void encode_iq1_m(const struct iq1_tables *t, const float *x, const float *importance, uint8_t *block)
{
    float w[IQ1_ELEMS];
    struct iq1_cut cuts[IQ1_M_SUBS];
    uint8_t digits[IQ1_ELEMS];

    iq1_weigh(x, importance, importance ? iq1_spread(x) : 0, w);
    for (int j = 0; j < IQ1_M_SUBS; j++) {
        const float *xs = x + IQ1_M_SUB * j;
        uint8_t order[IQ1_M_SUB];

        cuts[j] = (struct iq1_cut){ .first = -1 };
        if (amax_of(xs, IQ1_M_SUB) < IQ1_M_TINY)
            continue;
        sort(xs, IQ1_M_SUB, order);
        search_m(xs, w + IQ1_M_SUB * j, order, &cuts[j]);
        set_digits(&cuts[j], order, IQ1_M_SUB, digits + IQ1_M_SUB * j);
    }
    iq1_m_put(t, nearest, x, w, cuts, digits, block);
}

void wfs_encode_weighted_iq1_s_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    const struct iq1_tables *t = wfs_iq1_tables();
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += IQ1_ELEMS, block += IQ1_S_BYTES)
        encode_iq1_s(t, src + i, weights + i, block);
}

void wfs_encode_iq1_m_c(const float *src, void *dst, size_t n_elems)
{
    const struct iq1_tables *t = wfs_iq1_tables();
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += IQ1_ELEMS, block += IQ1_M_BYTES)
        encode_iq1_m(t, src + i, NULL, block);
}

void wfs_encode_weighted_iq1_m_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    const struct iq1_tables *t = wfs_iq1_tables();
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += IQ1_ELEMS, block += IQ1_M_BYTES)
        encode_iq1_m(t, src + i, weights + i, block);
}

/* Group k of a block: its grid number, whether moved down, and its scale's three bits. */
static void get_group(float d, int scale, unsigned number, bool down, float *dst)
{
    float dl = d * (float)(2 * scale + 1);
    float worth[4] = { dl * iq1_values[down][0], dl * iq1_values[down][1], dl * iq1_values[down][2] };
    unsigned code = wfs_iq1_grid[number];

    for (int i = 0; i < IQ1_GROUP; i++)
        dst[i] = worth[code >> 2 * i & 3];
}

void wfs_dequantize_iq1_s_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t i = 0; i < n_elems; i += IQ1_ELEMS, block += IQ1_S_BYTES) {
        float d = f16_scale(get_u16(block));

        for (int k = 0; k < IQ1_ELEMS / IQ1_GROUP; k++) {
            unsigned qh = get_u16(block + IQ1_S_QH + k / 4 * 2);

            get_group(d, qh >> 12 & 7, block[IQ1_S_QS + k] | (qh >> 3 * (k % 4) & 7) << 8,
                      qh >> 15, dst + i + k * IQ1_GROUP);
        }
    }
}

void wfs_dequantize_iq1_m_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t i = 0; i < n_elems; i += IQ1_ELEMS, block += IQ1_M_BYTES) {
        float d = f16_scale(iq1_m_scale(block));

        for (int k = 0; k < IQ1_ELEMS / IQ1_GROUP; k++) {
            unsigned qh = block[IQ1_M_QH + k / 2] >> 4 * (k % 2);
            unsigned scales = get_u16(block + IQ1_M_SCALES + k / 8 * 2);

            get_group(d, scales >> 3 * (k / 2 % 4) & 7,
                      block[IQ1_M_QS + k] | (qh & 7) << 8, qh >> 3 & 1, dst + i + k * IQ1_GROUP);
        }
    }
}

static bool iq1_m_bad(const uint8_t *block)
{
    return (iq1_m_scale(block) & 0x7c00) == 0x7c00;
}

VALIDATE(iq1_s, IQ1_S_BYTES, f16_bad(p))
VALIDATE(iq1_m, IQ1_M_BYTES, iq1_m_bad(p))
