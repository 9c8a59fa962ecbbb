/* Checked arithmetic on sizes that come from files. Every function returns true when the result is exact. */
#ifndef WFS_BASE_CHECKED_H
#define WFS_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool wfs_add_u64(uint64_t a, uint64_t b, uint64_t *ret)
{
    return !__builtin_add_overflow(a, b, ret);
}

static inline bool wfs_mul_u64(uint64_t a, uint64_t b, uint64_t *ret)
{
    return !__builtin_mul_overflow(a, b, ret);
}

/* Rounds value up to a multiple of align (any positive number). */
static inline bool wfs_align_u64(uint64_t value, uint64_t align, uint64_t *ret)
{
    uint64_t rest = value % align;

    return wfs_add_u64(value, rest ? align - rest : 0, ret);
}

#endif
