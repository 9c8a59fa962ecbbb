/* What the K types have in common: blocks of 256 values under one or two binary16 scales. */
#ifndef WFS_KERNELS_K_K_H
#define WFS_KERNELS_K_K_H

#include "../bits.h"
#include "../blocks.h"

#define K_TINY 1e-15f /* ggml's GROUP_MAX_EPS: anything smaller counts as zero */

enum { K_ELEMS = 256 };

/* A block's scale, and its value as stored. A NaN is stored as ggml does it, without its payload. */
static inline float k_put_scale(uint8_t *p, float v)
{
    put_u16(p, v != v ? (uint16_t)(0x7e00u | (bits_of(v) >> 16 & 0x8000u)) : f16_of(v));
    return float_of(f16_widen(get_u16(p)));
}

static inline float k_get_scale(const uint8_t *p)
{
    return float_of(f16_widen(get_u16(p)));
}

/* The low two bits of levels: per 128 of them 32 bytes, byte i for i, i + 32, i + 64 and i + 96, from the low end. */
static inline void k_put_two_bits(uint8_t *qs, const uint8_t q[K_ELEMS])
{
    for (int i = 0; i < K_ELEMS / 4; i++) {
        const uint8_t *l = q + i / 32 * 128 + i % 32;

        qs[i] = (uint8_t)((l[0] & 3) | (l[32] & 3) << 2 | (l[64] & 3) << 4 | (l[96] & 3) << 6);
    }
}

/* Level i of those. */
static inline int k_two_bits(const uint8_t *qs, int i)
{
    return qs[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
}

#endif
