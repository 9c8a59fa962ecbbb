/* The search of the grid types in plain C. */
#ifndef WFS_KERNELS_IQ_GRID_SEARCH_H
#define WFS_KERNELS_IQ_GRID_SEARCH_H

#include "../k/importance.h"
#include "grid.h"

#include <float.h>

/* A sub-block: magnitudes (a value whose sign was given up for an even number is negative), weights, their roots. */
struct iq_sub {
    float x[IQG_MAX_SUB], w[IQG_MAX_SUB], root[IQG_MAX_SUB];
    uint8_t signs[4];
};

static inline int iq_level(const struct iq_kind *k, unsigned code, int i)
{
    return (int)(code >> k->bits * i & ((1u << k->bits) - 1));
}

/* The levels nearest to a group's values under slope id, as a code. */
static inline unsigned iq_code(const struct iq_kind *k, const float *x, float id)
{
    unsigned code = 0;

    for (int i = 0; i < k->group; i++)
        code |= (unsigned)clamp_int(nearest_int(0.5f * (id * x[i] - 1)), 0, k->levels - 1) << k->bits * i;
    return code;
}

/* The grid point to use for a code: itself, or the nearest of its neighbours. -1: none is nearer than FLT_MAX. */
static inline int iq_nearest(const struct iq_kind *k, const struct iq_grid *g, unsigned code, const float *x,
                             const float *root, float scale)
{
    uint32_t place = g->place[code];
    const uint16_t *near = g->near + (place >> IQG_BEGIN_SHIFT);
    float term[8][8], best = FLT_MAX; /* term: of a place and a level in the distance */
    int count = place & IQG_COUNT, found = -1;

    if (place & IQG_ON_GRID)
        return (int)code;
    for (int i = 0; i < k->group; i++) {
        for (int l = 0; l < k->levels; l++) {
            float diff = scale * (float)(2 * l + 1) - x[i];

            term[i][l] = root[i] * diff * diff;
        }
    }
    for (int j = 0; j < count; j++) {
        float distance = 0;

        for (int i = 0; i < k->group; i++)
            distance += term[i][iq_level(k, near[j], i)];
        if (distance < best) {
            best = distance;
            found = near[j];
        }
    }
    return found;
}

/* The sums that give the least-squares scale for a sub-block's codes. */
static inline void iq_sums(const struct iq_kind *k, const struct iq_sub *s, const uint16_t *codes, float *ret_xq,
                           float *ret_q2)
{
    float xq = 0, q2 = 0;

    for (int i = 0; i < k->sub; i++) {
        float q = (float)(2 * iq_level(k, codes[i / k->group], i % k->group) + 1);

        xq += s->w[i] * s->x[i] * q;
        q2 += s->w[i] * q * q;
    }
    *ret_xq = xq;
    *ret_q2 = q2;
}

/* Magnitudes, signs and weights. */
static inline void iq_begin(const struct iq_kind *k, const float *x, const float *importance, float mean_square,
                            struct iq_sub *s)
{
    for (int i = 0; i < k->sub; i++) {
        if (importance)
            s->w[i] = importance[i] * __builtin_sqrtf(mean_square + x[i] * x[i]);
        else if (k->floor != 0)
            s->w[i] = k->floor * mean_square + x[i] * x[i];
        else
            s->w[i] = x[i] * x[i];
        s->root[i] = __builtin_sqrtf(s->w[i]);
    }
    for (int i = 0; i < k->sub; i += 8) {
        unsigned signs = 0;

        for (int j = i; j < i + 8; j++) {
            bool negative = !(x[j] >= 0);

            s->x[j] = negative ? -x[j] : x[j];
            signs |= (unsigned)negative << (j - i);
        }
        if (k->even && __builtin_parity(signs)) { /* the least important value takes the other sign */
            float least = s->w[i] * x[i] * x[i];
            int at = i;

            for (int j = i + 1; j < i + 8; j++) {
                float part = s->w[j] * x[j] * x[j];

                if (part < least) {
                    least = part;
                    at = j;
                }
            }
            s->x[at] = -s->x[at];
            signs ^= 1u << (at - i);
        }
        s->signs[i / 8] = (uint8_t)signs;
    }
}

/*
 * New codes from the best scale, and the scale that fits them best. on: bit i: group i's values were on the grid when
 * that scale was found. nearest: iq_nearest or its equal. False: no neighbour.
 */
typedef int iq_nearest_fn(const struct iq_kind *k, const struct iq_grid *g, unsigned code, const float *x,
                          const float *root, float scale);

static inline bool iq_again(const struct iq_kind *k, const struct iq_grid *g, const struct iq_sub *s, unsigned on,
                            iq_nearest_fn *nearest, uint16_t *codes, float *scale)
{
    unsigned all = (1u << k->sub / k->group) - 1;
    float id, xq, q2;

    if (!(*scale > 0) || (k->again != IQ_AGAIN_ALL && on == all))
        return true;
    id = 1 / *scale;
    for (int i = 0; i < k->sub / k->group; i++) {
        const float *x = s->x + k->group * i;
        int code;

        if (k->again == IQ_AGAIN_OFF_GRID && on >> i & 1)
            continue;
        code = nearest(k, g, iq_code(k, x, id), x, s->root + k->group * i, *scale);
        if (code < 0)
            return false;
        codes[i] = (uint16_t)code;
    }
    iq_sums(k, s, codes, &xq, &q2);
    if (q2 > 0)
        *scale = xq / q2;
    return true;
}

/* The best scale and codes of a sub-block: 1; 0: it counts as zero; -1: ggml aborts. */
static inline int iq_search(const struct iq_kind *k, const struct iq_grid *g, const struct iq_sub *s, float max,
                             uint16_t *codes, float *ret_scale)
{
    int n_groups = k->sub / k->group;
    unsigned on = k->again == IQ_AGAIN_ALL_IF_ANY_OFF_GRID ? 0 : (1u << n_groups) - 1;
    float best = 0, scale = max / (float)(2 * k->levels - 1), range = max;

    if (k->positive_first) {
        uint8_t q[IQG_MAX_SUB];

        scale = k_positive_find(s->x, s->w, k->sub, k->levels + 1, q);
        range = scale * (float)k->levels;
        if (range <= 0)
            return 0;
    }
    for (int step = -k->steps; step <= k->steps; step++) {
        float id = ((float)(2 * k->levels - 1) + (float)step * k->step) / range, xq, q2;
        uint16_t trial[IQG_MAX_GROUPS];
        unsigned trial_on = 0;

        for (int i = 0; i < n_groups; i++) {
            const float *x = s->x + k->group * i;
            unsigned code = iq_code(k, x, id);
            int use = iq_nearest(k, g, code, x, s->root + k->group * i, 1 / id);

            if (use < 0)
                return -1;
            trial_on |= (unsigned)(code == (unsigned)use) << i; /* a neighbour is never the code itself */
            trial[i] = (uint16_t)use;
        }
        iq_sums(k, s, trial, &xq, &q2);
        if (q2 > 0 && xq * xq > best * q2) {
            scale = xq / q2;
            best = scale * xq;
            memcpy(codes, trial, (size_t)n_groups * sizeof *trial);
            on = trial_on;
        }
    }
    if (!iq_again(k, g, s, on, iq_nearest, codes, &scale) || scale != scale)
        return -1;
    *ret_scale = scale;
    return 1;
}

/* One block; importance may be NULL. */
static inline void iq_encode_block(const struct iq_kind *k, const struct iq_grid *g, const float *x,
                                   const float *importance, uint8_t *block)
{
    struct iq_found f = { 0 };
    float mean_square = k_mean_square(x, k->spread);

    for (int j = 0; j < IQG_ELEMS / k->sub; j++) {
        const float *xs = x + k->sub * j;
        uint16_t *codes = f.codes + k->sub / k->group * j;
        uint8_t *signs = f.signs + k->sub / 8 * j;
        struct iq_sub s = { .signs = { 0 } };
        float max;
        int found;

        iq_begin(k, xs, importance ? importance + k->sub * j : NULL, mean_square, &s);
        max = s.x[0];
        for (int i = 1; i < k->sub; i++)
            max = max > s.x[i] ? max : s.x[i]; /* in this order: the value after a NaN replaces it */
        if (k->tiny != 0 ? max < k->tiny : max == 0) {
            f.zero |= 1u << j;
            continue;
        }
        found = iq_search(k, g, &s, max, codes, &f.scales[j]);
        if (found < 0) {
            iq_put_refused(k, block);
            return;
        }
        if (!found) {
            f.zero |= 1u << j;
            continue;
        }
        memcpy(signs, s.signs, (size_t)k->sub / 8);
        if (f.scales[j] < 0) {
            f.scales[j] = -f.scales[j];
            for (int i = 0; i < k->sub / 8; i++)
                signs[i] = (uint8_t)~signs[i];
        }
    }
    iq_put_found(k, g, &f, block);
}

/* Define the encoders of a type: copies of the search of its own, with what it differs in as constants. */
#define IQ_ENCODE_WEIGHTED(name, bytes)                                                                              \
    void wfs_encode_weighted_##name##_c(const float *src, const float *weights, void *dst, size_t n_elems)           \
    {                                                                                                                \
        const struct iq_grid *g = wfs_##name##_grid();                                                               \
                                                                                                                     \
        for (size_t i = 0; i < n_elems / IQG_ELEMS; i++)                                                             \
            iq_encode_block(&wfs_##name##_kind, g, src + i * IQG_ELEMS, weights + i * IQG_ELEMS,                     \
                            (uint8_t *)dst + i * (bytes));                                                           \
    }
#define IQ_ENCODE(name, bytes)                                                                                       \
    void wfs_encode_##name##_c(const float *src, void *dst, size_t n_elems)                                          \
    {                                                                                                                \
        const struct iq_grid *g = wfs_##name##_grid();                                                               \
                                                                                                                     \
        for (size_t i = 0; i < n_elems / IQG_ELEMS; i++)                                                             \
            iq_encode_block(&wfs_##name##_kind, g, src + i * IQG_ELEMS, NULL,                                        \
                            (uint8_t *)dst + i * (bytes));                                                           \
    }

#endif
