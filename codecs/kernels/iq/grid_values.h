/*
 * Template: blocks of the grid types back to values, for one instruction set; include a lanes_*.h first. Levels are
 * spread to a byte each, block by block, and then looked up and scaled as plain C does it.
 */
#ifndef WFS_KERNELS_IQ_GRID_VALUES_H
#define WFS_KERNELS_IQ_GRID_VALUES_H

#include "grid.h"

struct iq_levels {
    uint8_t level[IQG_ELEMS], signs[IQG_ELEMS / 8];
    float scale[IQG_ELEMS / 16]; /* of 16 values each */
};

/* The eight digits of 2 bits of a code, a byte each. */
static inline void iq_spread_8(unsigned code, uint8_t *dst)
{
    uint64_t v = code;

    v = (v | v << 24) & 0x000000ff000000ffu;
    v = (v | v << 12) & 0x000f000f000f000fu;
    v = (v | v << 6) & 0x0303030303030303u;
    memcpy(dst, &v, sizeof v);
}

/* The digits of 4 bits of two codes. */
static inline void iq_spread_4(unsigned first, unsigned second, uint8_t *dst)
{
    uint64_t v = first | (uint64_t)second << 32;

    v = (v | v << 8) & 0x00ff00ff00ff00ffu;
    v = (v | v << 4) & 0x0f0f0f0f0f0f0f0fu;
    memcpy(dst, &v, sizeof v);
}

/* values[l] is what level l is worth. */
static inline void iq_put_values(const struct iq_levels *s, const float values[16], float *dst)
{
    for (int i = 0; i < IQG_ELEMS; i += LANES) {
        vf v = vf_mul(vf_set(s->scale[i / 16]), vf_lookup(values, vi_get_bytes(s->level + i)));
        uint32_t signs = LANES == 16 ? get_u16(s->signs + i / 8) : s->signs[i / 8];

        vf_store(dst + i, vf_mul(v, vf_pick(vm_of_bits(signs), vf_set(-1), vf_set(1))));
    }
}

#endif
