/* What the C and the vector versions of the weighted encoders share. */
#ifndef WFS_KERNELS_LEGACY_WEIGHTED_H
#define WFS_KERNELS_LEGACY_WEIGHTED_H

#include "legacy.h"

#include <stddef.h>

/* One block in plain C; importance: of its values, mean_square: of its row. */
typedef void wfs_weighted_block_fn(const float *x, const float *importance, float mean_square, uint8_t *block);
wfs_weighted_block_fn wfs_weighted_block_q4_0_c, wfs_weighted_block_q4_1_c;
wfs_weighted_block_fn wfs_weighted_block_q5_0_c, wfs_weighted_block_q5_1_c;

/* Of a whole row. */
static inline float legacy_mean_square(const float *x, size_t n)
{
    return sum_of_squares(x, n) / (float)n;
}

/* A NaN (which validation refuses) gets no sign: compilers differ in it. */
static inline void legacy_put_found(uint8_t *p, float v)
{
    put_u16(p, v != v ? 0x7e00 : f16_of(v));
}

#endif
