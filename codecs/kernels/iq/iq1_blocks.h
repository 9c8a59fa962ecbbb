/* IQ1_S and IQ1_M: what comes before and after the search of each sub-block, for all instruction sets. */
#ifndef WFS_KERNELS_IQ_IQ1_BLOCKS_H
#define WFS_KERNELS_IQ_IQ1_BLOCKS_H

#include "../values.h"
#include "iq1.h"

#include <stddef.h>

/* Twice the mean square of a block. */
static inline float iq1_spread(const float *x)
{
    return 2 * sum_of_squares(x, IQ1_ELEMS) / IQ1_ELEMS;
}

/* Each value's weight: from its importance, or its square. */
static inline void iq1_weigh(const float *x, const float *importance, float spread, float ret_w[IQ1_ELEMS])
{
    for (int i = 0; i < IQ1_ELEMS; i++)
        ret_w[i] = importance ? importance[i] * __builtin_sqrtf(spread + x[i] * x[i]) : x[i] * x[i];
}

/* A cut whose scale is negative, turned round. */
static inline void iq1_turn(struct iq1_cut *cut, int all_kinds, uint8_t *digits, int n)
{
    if (!(cut->scale < 0))
        return;
    for (int i = 0; i < n; i++)
        digits[i] = (uint8_t)(2 - digits[i]);
    cut->scale = -cut->scale;
    cut->kind = all_kinds - cut->kind;
}

/* A sub-block's scale in units of a 15th of the largest one: three bits, for 1, 3, 5 ... 15. */
static inline int iq1_scale_level(float id, float scale)
{
    return clamp_int(nearest_int(0.5f * (id * scale - 1)), 0, 7);
}

/*
 * Writes a block from its sub-blocks' cuts and digits (of those without a cut none are needed); turns both round where
 * the scale is negative. w: all values' weights.
 */
static inline void iq1_s_put(const struct iq1_tables *t, iq1_nearest_fn *nearest, const float *x, const float *w,
                             struct iq1_cut cuts[IQ1_S_SUBS], uint8_t digits[IQ1_ELEMS], uint8_t *block)
{
    float max_scale = 0, d, id;

    memset(block, 0, IQ1_S_BYTES);
    for (int j = 0; j < IQ1_S_SUBS; j++) {
        int at = IQ1_S_SUB * j, down[4];
        uint16_t index[4];
        unsigned high = 0;

        if (cuts[j].first < 0) {
            cuts[j] = (struct iq1_cut){ .first = -1 };
            continue;
        }
        iq1_turn(&cuts[j], 1, digits + at, IQ1_S_SUB);
        for (int k = 0; k < 4; k++)
            down[k] = cuts[j].kind;
        if (!iq1_snap(t, nearest, x + at, w + at, digits + at, 4, down, &cuts[j].scale, index)) {
            memset(block, 0, IQ1_S_BYTES);
            put_u16(block, 0x7e00);
            return;
        }
        for (int k = 0; k < 4; k++) {
            block[IQ1_S_QS + 4 * j + k] = (uint8_t)index[k];
            high |= (unsigned)index[k] >> 8 << 3 * k;
        }
        put_u16(block + IQ1_S_QH + 2 * j, (uint16_t)high);
        max_scale = max_scale > cuts[j].scale ? max_scale : cuts[j].scale;
    }
    if (max_scale == 0)
        return;
    d = max_scale / 15;
    put_u16(block, f16_scale_of(d * 1.125f));
    id = 1 / d;
    for (int j = 0; j < IQ1_S_SUBS; j++) {
        unsigned top = (unsigned)iq1_scale_level(id, cuts[j].scale) | (unsigned)cuts[j].kind << 3;

        put_u16(block + IQ1_S_QH + 2 * j, (uint16_t)(get_u16(block + IQ1_S_QH + 2 * j) | top << 12));
    }
}

/* The f16 scale of an IQ1_M block, four bits in each word of scales. */
static inline uint16_t iq1_m_scale(const uint8_t *block)
{
    unsigned scale = 0;

    for (int i = 0; i < 4; i++)
        scale |= (unsigned)(get_u16(block + IQ1_M_SCALES + 2 * i) >> 12) << 4 * i;
    return (uint16_t)scale;
}

static inline void iq1_m_set_scale(uint8_t *block, uint16_t scale)
{
    for (int i = 0; i < 4; i++) {
        uint8_t *p = block + IQ1_M_SCALES + 2 * i;

        put_u16(p, (uint16_t)(get_u16(p) | (scale >> 4 * i & 15) << 12));
    }
}

/* The grid points of all sub-blocks. False where ggml aborts. */
static inline bool iq1_m_snap(const struct iq1_tables *t, iq1_nearest_fn *nearest, const float *x, const float *w,
                              struct iq1_cut cuts[IQ1_M_SUBS], uint8_t digits[IQ1_ELEMS], uint16_t index[][2])
{
    for (int j = 0; j < IQ1_M_SUBS; j++) {
        int at = IQ1_M_SUB * j, down[2];

        index[j][0] = index[j][1] = 0;
        if (cuts[j].first < 0) {
            cuts[j] = (struct iq1_cut){ .first = -1 };
            continue;
        }
        iq1_turn(&cuts[j], 3, digits + at, IQ1_M_SUB);
        down[0] = cuts[j].kind >> 1;
        down[1] = cuts[j].kind & 1;
        if (!iq1_snap(t, nearest, x + at, w + at, digits + at, 2, down, &cuts[j].scale, index[j]))
            return false;
    }
    return true;
}

/* The least-squares scale for a block's grid points and its sub-blocks' scales; d if there is none. */
static inline float iq1_m_fit(const float *x, const float *w, const struct iq1_cut *cuts, const uint16_t index[][2],
                              const int *levels, float d)
{
    float xl = 0, l2 = 0;

    for (int i = 0; i < IQ1_ELEMS; i++) {
        int j = i / IQ1_M_SUB, k = i / IQ1_GROUP % 2, down = k ? cuts[j].kind & 1 : cuts[j].kind >> 1;
        float q = iq1_values[down][wfs_iq1_grid[index[j][k]] >> 2 * (i % IQ1_GROUP) & 3] * (float)(2 * levels[j] + 1);

        xl += w[i] * q * x[i];
        l2 += w[i] * q * q;
    }
    return l2 > 0 ? xl / l2 : d;
}

/* As iq1_s_put. */
static inline void iq1_m_put(const struct iq1_tables *t, iq1_nearest_fn *nearest, const float *x, const float *w,
                             struct iq1_cut cuts[IQ1_M_SUBS], uint8_t digits[IQ1_ELEMS], uint8_t *block)
{
    uint16_t index[IQ1_M_SUBS][2];
    float max_scale = 0, d, id;
    int levels[IQ1_M_SUBS];

    memset(block, 0, IQ1_M_BYTES);
    if (!iq1_m_snap(t, nearest, x, w, cuts, digits, index)) {
        iq1_m_set_scale(block, 0x7e00);
        return;
    }
    for (int j = 0; j < IQ1_M_SUBS; j++) {
        max_scale = max_scale > cuts[j].scale ? max_scale : cuts[j].scale;
        block[IQ1_M_QS + 2 * j] = (uint8_t)index[j][0];
        block[IQ1_M_QS + 2 * j + 1] = (uint8_t)index[j][1];
        block[IQ1_M_QH + j] = (uint8_t)(index[j][0] >> 8 | index[j][1] >> 8 << 4);
    }
    if (max_scale == 0)
        return;
    d = max_scale / 15;
    id = 1 / d;
    for (int j = 0; j < IQ1_M_SUBS; j++) {
        uint8_t *p = block + IQ1_M_SCALES + j / 4 * 2;

        levels[j] = iq1_scale_level(id, cuts[j].scale);
        put_u16(p, (uint16_t)(get_u16(p) | levels[j] << 3 * (j % 4)));
        block[IQ1_M_QH + j] |= (uint8_t)((cuts[j].kind >> 1) << 3 | (cuts[j].kind & 1) << 7);
    }
    iq1_m_set_scale(block, f16_scale_of(iq1_m_fit(x, w, cuts, index, levels, d) * 1.1125f));
}

#endif
