/*
 * IQ1_S and IQ1_M: groups of eight values -1, 0, 1, taken from a grid and moved by an eighth up or down, under a scale
 * for 32 (IQ1_S) or 16 values. Source of layouts and order of operations: quantize_row_iq1_s_impl,
 * quantize_row_iq1_m_impl and iq1_find_best_neighbour2 of ggml-quants.c (llama.cpp, MIT).
 *
 * Where ggml aborts, for no grid point is nearer than FLT_MAX or a scale is not a number (infinities; values beyond
 * some 1e9 in magnitude without weights, 1e12 with them), the block gets a scale that is no number, which validation
 * refuses.
 */
#ifndef WFS_KERNELS_IQ_IQ1_H
#define WFS_KERNELS_IQ_IQ1_H

#include "../bits.h"
#include "../blocks.h"

#include <float.h>
#include <stdbool.h>

#define IQ1_DELTA 0.125f
#define IQ1_S_TINY 1e-12f /* ggml's GROUP_MAX_EPS_IQ1_S and _IQ1_M: anything smaller counts as zero */
#define IQ1_M_TINY 1e-7f

enum {
    IQ1_GRID = 2048, IQ1_GROUP = 8, IQ1_MAX_SUB = 32,
    IQ1_OFF_GRID = 4513,   /* the other codes whose digits are 0, 1, 2 */
    IQ1_NEAR = 362352 + 16 /* the length of their lists of neighbours, each filled up to sixteens */
};

/* Eight digits of two bits, 0, 1, 2 for -1, 0, 1, the first one lowest; ascending. */
extern const uint16_t wfs_iq1_grid[IQ1_GRID];

struct iq1_tables {
    uint16_t number[0xaaab];           /* of a code: its grid number, or IQ1_GRID + the number of its list */
    uint32_t begin[IQ1_OFF_GRID];      /* of each list of neighbours, in near */
    uint16_t n_near[IQ1_OFF_GRID];
    uint16_t near[IQ1_NEAR];           /* their codes; the last one of a list repeated up to a multiple of sixteen */
    uint16_t all[IQ1_GRID];            /* the grid, in the same form */
};

/* Made when they are first needed (some 20 ms). */
const struct iq1_tables *wfs_iq1_tables(void);

/* What the digits of values moved up, and moved down, stand for. */
static const float iq1_values[2][3] = {
    { -1 + IQ1_DELTA, IQ1_DELTA, 1 + IQ1_DELTA },
    { -1 - IQ1_DELTA, -IQ1_DELTA, 1 - IQ1_DELTA },
};

/* A way to cut the sorted values of a sub-block in three. */
struct iq1_cut {
    int first, second; /* where digit 1 begins, and digit 2; -1: none found */
    int kind;          /* IQ1_S: moved down; IQ1_M: bit 1 the first group moved down, bit 0 the second */
    float scale;
};

/* One group of eight: the term of each digit at each place in the distance from the values. */
struct iq1_terms {
    float term[IQ1_GROUP][4]; /* the fourth is not used */
};

static inline void iq1_make_terms(const float *x, const float *w, float scale, const float values[3],
                                  struct iq1_terms *ret)
{
    for (int i = 0; i < IQ1_GROUP; i++) {
        for (int l = 0; l < 3; l++) {
            float diff = scale * values[l] - x[i];

            ret->term[i][l] = w[i] * diff * diff;
        }
        ret->term[i][3] = 0;
    }
}

/* The place of the first of n codes with the smallest sum of terms; -1 if none is less than FLT_MAX. */
typedef int iq1_nearest_fn(const struct iq1_terms *terms, const uint16_t *codes, int n);

/*
 * The grid points for the groups of a sub-block, near the digits that its cut gives: sets index and, if not all digits
 * are on the grid, *scale. False where ggml aborts.
 */
static inline bool iq1_snap(const struct iq1_tables *t, iq1_nearest_fn *nearest, const float *x, const float *w,
                            const uint8_t *digits, int groups, const int *down, float *scale, uint16_t *ret_index)
{
    bool all_on_grid = true;
    float xl = 0, l2 = 0;

    for (int k = 0; k < groups; k++) {
        struct iq1_terms terms;
        unsigned code = 0, number;
        int near;

        for (int i = 0; i < IQ1_GROUP; i++)
            code |= (unsigned)digits[IQ1_GROUP * k + i] << 2 * i;
        number = t->number[code];
        if (number >= IQ1_GRID) {
            const uint16_t *list = t->near + t->begin[number - IQ1_GRID];

            all_on_grid = false;
            iq1_make_terms(x + IQ1_GROUP * k, w + IQ1_GROUP * k, *scale, iq1_values[down[k]], &terms);
            near = nearest(&terms, list, t->n_near[number - IQ1_GRID]);
            if (near < 0) {
                list = t->all;
                near = nearest(&terms, list, IQ1_GRID);
            }
            if (near < 0)
                return false;
            number = t->number[list[near]];
        }
        ret_index[k] = (uint16_t)number;
    }
    for (int i = 0; i < groups * IQ1_GROUP && !all_on_grid; i++) {
        float q = iq1_values[down[i / IQ1_GROUP]][wfs_iq1_grid[ret_index[i / IQ1_GROUP]] >> 2 * (i % IQ1_GROUP) & 3];

        xl += w[i] * q * x[i];
        l2 += w[i] * q * q;
    }
    if (!all_on_grid && xl > 0 && l2 > 0)
        *scale = xl / l2;
    return *scale >= 0;
}

#endif
