/*
 * Template: the neighbours to use for a group under all slopes tried, for one instruction set; include a lanes_*.h
 * first. Some slopes one after the other give the same code: a run. Its slopes lie in the lanes, and its candidates are
 * taken one after the other: each lane does what iq_nearest does for its slope, in its order.
 */
#ifndef WFS_KERNELS_IQ_GRID_RUNS_LANES_H
#define WFS_KERNELS_IQ_GRID_RUNS_LANES_H

#include "grid_search.h"

#define IQ_INLINE static inline __attribute__((always_inline))

enum {
    IQ_SLOPES = 31, /* at most */
    IQ_SLOPES_ROOM = 40, /* with what a word that begins at the last one has beyond it, in whole words */
    IQ_TERM_WORDS = 32
};

/* The codes of LANES sub-blocks under all slopes: the nearest, and those of grid points. */
struct iq_codes {
    uint16_t near[IQ_SLOPES][IQG_MAX_GROUPS][LANES], used[IQ_SLOPES_ROOM][IQG_MAX_GROUPS][LANES];
    uint32_t begins[IQG_MAX_GROUPS][LANES]; /* bit i: a run begins at slope i */
};

/*
 * What the levels of a group's places have in the distance, for SHORT_LANES slopes: a word per place and level (four
 * levels a place, or eight if a group has four values).
 */
struct iq_terms {
    float word[IQ_TERM_WORDS * SHORT_LANES];
};

IQ_INLINE void iq_terms_fill(struct iq_terms *t, const float *x, const float *root, const float *scales, int group)
{
    int levels = group == 8 ? 3 : 8;
    vs scale = vs_load(scales), scaled[8];

    for (int l = 0; l < levels; l++)
        scaled[l] = vs_mul(scale, vs_set((float)(2 * l + 1)));
    for (int i = 0; i < group; i++) {
        vs xi = vs_set(x[i]), ri = vs_set(root[i]);

        for (int l = 0; l < levels; l++) {
            vs diff = vs_sub(scaled[l], xi);

            vs_store(t->word + (i * IQ_TERM_WORDS / group + l) * SHORT_LANES, vs_mul(vs_mul(ri, diff), diff));
        }
    }
}

/* The term of place i in a distance from code. */
IQ_INLINE vs iq_term(const struct iq_terms *t, unsigned code, int i, int group)
{
    unsigned of_levels = (unsigned)((IQ_TERM_WORDS / group - 1) * SHORT_LANES);

    return vs_load(t->word + i * IQ_TERM_WORDS / group * SHORT_LANES +
                   (code * SHORT_LANES >> i * (16 / group) & of_levels));
}

/* The bits of the best candidates' codes. */
IQ_INLINE vs iq_terms_best(const struct iq_terms *t, const uint16_t *candidates, int count, int group)
{
    vs best = vs_set(FLT_MAX), best_code = vs_set(0);

    for (int j = 0; j < count; j++) {
        unsigned code = candidates[j];
        vs d = iq_term(t, code, 0, group);
        vsm better;

#pragma GCC unroll 8
        for (int i = 1; i < group; i++)
            d = vs_add(d, iq_term(t, code, i, group));
        better = vs_lt(d, best);
        best = vs_min(d, best);
        best_code = vs_pick(better, vs_set(float_of(code)), best_code);
    }
    return best_code;
}

/* Fills used for group i of the sub-block in a lane. What is written past a run's end, the next one writes over. */
IQ_INLINE void iq_runs_nearest(const struct iq_grid *g, struct iq_codes *c, int lane, int i, const struct iq_sub *one,
                               const float *scales, int n_slopes, int group)
{
    uint32_t begins = c->begins[i][lane];

    while (begins) {
        int at = __builtin_ctz(begins), end;
        unsigned code = c->near[at][i][lane];
        uint32_t place = g->place[code];
        const uint16_t *candidates = g->near + (place >> IQG_BEGIN_SHIFT);

        begins &= begins - 1;
        end = begins ? __builtin_ctz(begins) : n_slopes;
        for (; at < end; at += SHORT_LANES) {
            vs best = vs_set(float_of(code));
            float codes[SHORT_LANES];

            if (!(place & IQG_ON_GRID)) {
                struct iq_terms t;

                iq_terms_fill(&t, one->x + group * i, one->root + group * i, scales + at, group);
                best = iq_terms_best(&t, candidates, place & IQG_COUNT, group);
            }
            vs_store(codes, best);
            for (int k = 0; k < SHORT_LANES; k++)
                c->used[at + k][i][lane] = (uint16_t)bits_of(codes[k]);
        }
    }
}

#endif
