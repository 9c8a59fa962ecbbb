/*
 * What ggml_validate_row_data refuses, as a loop over blocks: infinities and NaNs among values, and in the scales (and
 * mins) of blocks; nothing else about a block can be wrong.
 */
#ifndef WFS_KERNELS_VALIDATE_H
#define WFS_KERNELS_VALIDATE_H

#include "bits.h"

#include <stdbool.h>
#include <stddef.h>

static inline bool f16_bad(const uint8_t *p)
{
    return (get_u16(p) & 0x7c00u) == 0x7c00u;
}

/* The plain C version for a type of `bytes` a block; bad looks at the block p. */
#define VALIDATE(name, bytes, bad)                                      \
    size_t wfs_validate_##name##_c(const void *blocks, size_t n_blocks) \
    {                                                                   \
        const uint8_t *p = blocks;                                      \
                                                                        \
        for (size_t i = 0; i < n_blocks; i++, p += (bytes)) {           \
            if (bad)                                                    \
                return i;                                               \
        }                                                               \
        return n_blocks;                                                \
    }

#endif
