/*
 * The kernel table: pointers chosen once at start. Filled with plain C, then each instruction set that the CPU has (and
 * WEIGHTFS_CPU allows) overwrites its slots. Every version equals plain C in every bit. Kernels take pointers only: no
 * allocation, locks or I/O.
 */
#ifndef WFS_KERNELS_KERNELS_H
#define WFS_KERNELS_KERNELS_H

#include "../dtype.h"
#include "types.h"

#include <stddef.h>

/* n elements of a source type (little endian, any alignment) to float, exact where float can hold them. */
typedef void wfs_decode_fn(const void *src, float *dst, size_t n_elems);

/* n floats (a multiple of the block) to a ggml type, in the operation order of ggml's quantize_row_*_ref. */
typedef void wfs_encode_fn(const float *src, void *dst, size_t n_elems);

/* Looks for what ggml_validate_row_data refuses (NaN, Inf in data or block scales). The first bad block, or n_blocks. */
typedef size_t wfs_validate_fn(const void *blocks, size_t n_blocks);

struct wfs_kernels {
    wfs_decode_fn *decode[WFS_DTYPE_COUNT];    /* NULL: that type has no float meaning (sub-byte, complex) */
    wfs_encode_fn *encode[WFS_TYPE_COUNT];     /* NULL: not offered */
    wfs_validate_fn *validate[WFS_TYPE_COUNT]; /* NULL: not offered */
    const char *isa;                           /* "c", "avx2", "avx512": the highest set in use */
};

/* The table for this machine, masked by the environment variable WEIGHTFS_CPU (c, avx2, avx512). Thread-safe. */
const struct wfs_kernels *wfs_kernels_get(void);

#endif
