/* What the K types have in common: blocks of 256 values under one or two binary16 scales. */
#ifndef WFS_KERNELS_K_K_H
#define WFS_KERNELS_K_K_H

#include "../blocks.h"
#include "../values.h"

#define K_TINY 1e-15f /* ggml's GROUP_MAX_EPS: anything smaller counts as zero */

enum { K_ELEMS = 256 };

/* Stores a block's scale; gives its value as it was stored. */
static inline float k_put_scale(uint8_t *p, float v)
{
    put_u16(p, f16_scale_of(v));
    return f16_scale(get_u16(p));
}

static inline float k_get_scale(const uint8_t *p)
{
    return f16_scale(get_u16(p));
}

/* Eight levels, one a byte, to be shifted and merged together. */
static inline uint64_t k_eight(const uint8_t *levels, unsigned mask)
{
    uint64_t eight;

    memcpy(&eight, levels, sizeof eight);
    return eight & 0x0101010101010101u * mask;
}

/* The low two bits of levels: per 128 of them 32 bytes, byte i for i, i + 32, i + 64 and i + 96, from the low end. */
static inline void k_put_two_bits(uint8_t *qs, const uint8_t q[K_ELEMS])
{
    for (int i = 0; i < K_ELEMS / 4; i += 8) {
        const uint8_t *l = q + i / 32 * 128 + i % 32;
        uint64_t eight = k_eight(l, 3) | k_eight(l + 32, 3) << 2 | k_eight(l + 64, 3) << 4 | k_eight(l + 96, 3) << 6;

        memcpy(qs + i, &eight, sizeof eight);
    }
}

/* Bit `bit` of levels: bit j of byte i is that of level 32 j + i. */
static inline void k_put_one_bit(uint8_t *dst, const uint8_t q[K_ELEMS], int bit)
{
    for (int i = 0; i < K_ELEMS / 8; i += 8) {
        uint64_t eight = 0;

        for (int j = 0; j < 8; j++)
            eight |= (k_eight(q + 32 * j + i, 1u << bit) >> bit) << j;
        memcpy(dst + i, &eight, sizeof eight);
    }
}

/* Level i of those. */
static inline int k_two_bits(const uint8_t *qs, int i)
{
    return qs[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
}

#endif
