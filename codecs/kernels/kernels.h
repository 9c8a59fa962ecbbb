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

/*
 * n elements of a source type (little endian, any alignment) to float, exact where float can hold them, else to nearest
 * even. NaNs have the bits that torch's .to(float32) gives, but those of F16, which keep signalling as in numpy's
 * astype(float32) (the converter leaves f16 to numpy). src and dst do not overlap. n = 0 touches nothing.
 */
typedef void wfs_decode_fn(const void *src, float *dst, size_t n_elems);

/*
 * n floats (a multiple of the block) to a ggml type (dst: any alignment), in the operation order of ggml's
 * quantize_row_*_ref. The blocks are independent: a row cut at a block gives the same bytes. F16 keeps NaN payloads as
 * numpy does. src and dst do not overlap. Any float is taken; what NaN and Inf give is for validate to find.
 */
typedef void wfs_encode_fn(const float *src, void *dst, size_t n_elems);

/*
 * As wfs_encode_fn, with an importance weight per value (weights: n_elems floats, those of the columns of src). src is
 * one whole row where the type's row_weighted says so, else whole blocks of one row. Order of operations: ggml's
 * quantize_row_*_impl. Types that take no notice of weights (F32, F16, BF16, Q8_0 ...) have no entry: use encode.
 */
typedef void wfs_encode_weighted_fn(const float *src, const float *weights, void *dst, size_t n_elems);

/* n_elems values (a multiple of the block) of a ggml type back to float, as ggml's dequantize_row_* does it. */
typedef void wfs_dequantize_fn(const void *blocks, float *dst, size_t n_elems);

/*
 * Looks for what ggml_validate_row_data refuses (NaN, Inf in data or block scales). The first bad block, or n_blocks.
 */
typedef size_t wfs_validate_fn(const void *blocks, size_t n_blocks);

struct wfs_kernels {
    wfs_decode_fn *decode[WFS_DTYPE_COUNT];    /* NULL: that type has no float meaning (sub-byte, complex) */
    wfs_encode_fn *encode[WFS_TYPE_COUNT];     /* NULL: not offered without weights */
    wfs_encode_weighted_fn *encode_weighted[WFS_TYPE_COUNT]; /* NULL: not offered, or weights count for nothing */
    wfs_dequantize_fn *dequantize[WFS_TYPE_COUNT]; /* NULL: not offered */
    wfs_validate_fn *validate[WFS_TYPE_COUNT]; /* NULL: not offered */
    const char *isa;                           /* "c", "avx2", "avx512", "neon": the highest set in use */
};

/* Instruction sets, ascending within an architecture; a set includes those of its architecture before it, and C. */
enum wfs_isa { WFS_ISA_C, WFS_ISA_AVX2, WFS_ISA_AVX512, WFS_ISA_NEON, WFS_ISA_COUNT };

/* "c", "avx2", "avx512", "neon". */
extern const char *const wfs_isa_names[WFS_ISA_COUNT];

/* The highest set that this CPU and its operating system offer, whatever WEIGHTFS_CPU says. */
enum wfs_isa wfs_cpu_isa(void);

/* Has this CPU that set? */
bool wfs_cpu_has(enum wfs_isa isa);

/*
 * Is WEIGHTFS_CPU sound? True also when it is unset, or names a set that the CPU lacks (then its highest is used).
 * False for an unknown word, which *ret_word then shows: the caller refuses to start; wfs_kernels_get ignores it.
 */
bool wfs_cpu_check(const char **ret_word);

/* The highest set of this CPU that WEIGHTFS_CPU allows. */
enum wfs_isa wfs_cpu_masked_isa(void);

/* The table for one set, which the CPU must have. For tests and benches. */
void wfs_kernels_init_for(struct wfs_kernels *k, enum wfs_isa isa);

/* The table for this machine, masked by the environment variable WEIGHTFS_CPU (c, avx2, avx512, neon). Thread-safe. */
const struct wfs_kernels *wfs_kernels_get(void);

#endif
