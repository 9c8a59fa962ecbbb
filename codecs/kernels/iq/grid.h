/*
 * The types whose groups of values are taken from a grid: IQ2_XXS, IQ2_XS, IQ2_S (groups of eight, three levels) and
 * IQ3_XXS, IQ3_S (groups of four, eight levels). Signs are kept apart; level l stands for 2 l + 1 times a sub-block's
 * scale. Source of layouts and order of operations: quantize_row_iq2_xxs_impl and its four kin, and
 * iq2_find_best_neighbour, iq3_find_best_neighbour of ggml-quants.c (llama.cpp, MIT).
 *
 * Where ggml aborts, for no grid point is nearer than FLT_MAX or a scale is not a number (NaN or infinity among the
 * values or weights, negative weights, or magnitudes so large that sums overflow: beyond some 1e9 without weights), the
 * block gets a scale that is no number, which validation refuses.
 */
#ifndef WFS_KERNELS_IQ_GRID_H
#define WFS_KERNELS_IQ_GRID_H

#include "../bits.h"
#include "../blocks.h"

#include <stdbool.h>
#include <stddef.h>

#define IQ_TINY 1e-15f /* ggml's GROUP_MAX_EPS */
#define IQ_TINY_S 1e-8f /* GROUP_MAX_EPS_IQ2_S, GROUP_MAX_EPS_IQ3_XXS */

enum {
    IQG_ELEMS = 256, IQG_MAX_SUB = 32, IQG_MAX_SUBS = 16, IQG_MAX_GROUPS = 8, /* groups of a sub-block */
    IQG_ALL_GROUPS = 64,
    IQG_PLACES = 0xaaab, /* codes of IQ2: up to eight digits 2; those of IQ3 are less */
    IQG_COUNT = 0x1ff, IQG_ON_GRID = 0x200, IQG_BEGIN_SHIFT = 10, /* parts of struct iq_grid's place */
    IQG_PAD = 16 /* what may be read past the last list */
};

/*
 * A grid point is a code: its levels as digits of 2 bits (IQ2) or 4 bits (IQ3), the first one lowest. Ascending, a
 * point's index is the number that blocks store.
 */
extern const uint16_t wfs_iq2_xxs_codes[256], wfs_iq2_xs_codes[512], wfs_iq2_s_codes[1024];
extern const uint16_t wfs_iq3_xxs_codes[256], wfs_iq3_s_codes[512];

struct iq_grid {
    /*
     * Of a code: where in near the list of its neighbours begins << IQG_BEGIN_SHIFT, and their number. A grid point has
     * IQG_ON_GRID set, and itself as its only neighbour.
     */
    uint32_t place[IQG_PLACES];
    uint16_t number[IQG_PLACES]; /* of a grid point's code */
    const uint16_t *near; /* the lists, of codes, in the order in which ties are decided */
};

/* Made when they are first needed (5 to 15 ms each), then the same for all threads. */
const struct iq_grid *wfs_iq2_xxs_grid(void);
const struct iq_grid *wfs_iq2_xs_grid(void);
const struct iq_grid *wfs_iq2_s_grid(void);
const struct iq_grid *wfs_iq3_xxs_grid(void);
const struct iq_grid *wfs_iq3_s_grid(void);

/* Which groups of a sub-block get new levels from its best scale at the end. */
enum iq_again { IQ_AGAIN_ALL, IQ_AGAIN_OFF_GRID, IQ_AGAIN_ALL_IF_ANY_OFF_GRID };

/* What the types differ in. */
struct iq_kind {
    const struct iq_grid *(*grid)(void);
    void (*put)(uint8_t *block, const uint16_t numbers[IQG_ALL_GROUPS], const uint8_t signs[32],
                const uint8_t scales[IQG_MAX_SUBS]);
    /* NULL, or moves what a block has of each sub-block up over those that count as zero (bit j: sub-block j). */
    void (*close_up)(uint8_t *block, unsigned zero);
    int bytes;               /* of a block */
    int sub, group;          /* values in a sub-block, in a group */
    int bits, levels;        /* of a digit */
    int steps;               /* the scales tried: -steps to steps beside the plain one, each `step` levels on */
    float step;
    float tiny;              /* a sub-block with nothing as large counts as zero */
    float spread;            /* times the mean square, for the weights */
    float floor;             /* the share of that in a weight where no importance is given */
    float fudge;             /* times the block's scale */
    enum iq_again again;
    bool positive_first;     /* the scales tried lie around one found for free levels (IQ2_XXS) */
    bool even;               /* the number of negative signs of eight values is even, so that seven say all */
    bool keep;               /* what was found stays in the block even if all scales are zero */
};

extern const struct iq_kind wfs_iq2_xxs_kind, wfs_iq2_xs_kind, wfs_iq2_s_kind, wfs_iq3_xxs_kind, wfs_iq3_s_kind;

/* A block's worth of results: the code of each group, and per sub-block a scale; a sub-block that counts as zero has
 * scale, codes and signs 0. */
struct iq_found {
    uint16_t codes[IQG_ALL_GROUPS];
    uint8_t signs[32];             /* bit i of [j]: value 8 j + i is negative */
    float scales[IQG_MAX_SUBS];
    unsigned zero;                 /* bit j: sub-block j counts as zero */
};

/* The block cannot be: a scale that is no number. */
static inline void iq_put_refused(const struct iq_kind *k, uint8_t *block)
{
    memset(block, 0, (size_t)k->bytes);
    put_u16(block, 0x7e00u);
}

/* Everything after the search. */
static inline void iq_put_found(const struct iq_kind *k, const struct iq_grid *g, const struct iq_found *f,
                                uint8_t *block)
{
    uint16_t numbers[IQG_ALL_GROUPS];
    uint8_t scales[IQG_MAX_SUBS] = { 0 };
    float max = 0, d, inverse;

    memset(block, 0, (size_t)k->bytes);
    for (int j = 0; j < IQG_ELEMS / k->sub; j++)
        max = max > f->scales[j] ? max : f->scales[j];
    if (max == 0 && !k->keep)
        return;
    for (int i = 0; i < IQG_ELEMS / k->group; i++)
        numbers[i] = g->number[f->codes[i]];
    d = max / 31;
    inverse = 1 / d;
    for (int j = 0; j < IQG_ELEMS / k->sub && max != 0; j++)
        scales[j] = (uint8_t)clamp_int(nearest_int(0.5f * (inverse * f->scales[j] - 1)), 0, 15);
    put_u16(block, max != 0 ? f16_of(d * k->fudge) : 0);
    k->put(block, numbers, f->signs, scales);
    if (k->close_up && f->zero)
        k->close_up(block, f->zero);
}

/* Seven signs and the eighth, which makes their number even. */
static inline uint8_t iq_even_signs(unsigned seven)
{
    return (uint8_t)(seven | (unsigned)__builtin_parity(seven) << 7);
}

/* Back to values: what a level is worth, times its sub-block's scale. */
static const float iq2_values[16] = { 8, 25, 43 };
static const float iq3_xxs_values[16] = { 4, 12, 20, 28, 36, 44, 52, 62 };
static const float iq3_s_values[16] = { 1, 3, 5, 7, 9, 11, 13, 15 };

/* The scale of a sub-block of IQ2: a quarter of its level in the middle of its step. */
static inline float iq2_worth(float d, unsigned level)
{
    return d * (0.5f + (float)level) * 0.25f;
}

/* The number and the signs of group (IQ2: eight values, IQ3: four) i; the scale of sub-block j, to be times levels. */
static inline unsigned iq2_xxs_number(const uint8_t *block, int i)
{
    return block[IQ2_XXS_QS + i / 4 * 8 + i % 4];
}

static inline unsigned iq2_s_number(const uint8_t *block, int i)
{
    return block[IQ2_S_QS + i] | (block[IQ2_S_QH + i / 4] >> i % 4 * 2 & 3u) << 8;
}

static inline unsigned iq3_s_number(const uint8_t *block, int i)
{
    return block[IQ3_S_QS + i] | (block[IQ3_S_QH + i / 8] >> i % 8 & 1u) << 8;
}

/* The 32 bits with four times seven signs and a scale in the upper four, of the sub-block of 32 at p. */
static inline uint32_t iq_signs_scale(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint8_t iq_seven_signs(uint32_t signs_scale, int i)
{
    return iq_even_signs(signs_scale >> 7 * i & 127);
}

static inline unsigned iq_nibble(const uint8_t *p, int i)
{
    return p[i / 2] >> i % 2 * 4 & 15u;
}

#endif
