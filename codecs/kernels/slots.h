/*
 * The versions behind the table's slots of the types without blocks, and the fillers of all families, for the files of
 * this folder: plain C (the truth, also called by vector code for what it leaves aside), and one version per
 * instruction set. Each family of block types has a folder of its own with its slots.h and table.c.
 */
#ifndef WFS_KERNELS_SLOTS_H
#define WFS_KERNELS_SLOTS_H

#include "kernels.h"

/* A family of types: what fills its slots, per instruction set. NULL where the architecture has no such set. */
typedef void wfs_fill_fn(struct wfs_kernels *k);
struct wfs_kernel_family {
    wfs_fill_fn *c, *avx2, *avx512, *neon;
};
extern const struct wfs_kernel_family wfs_casts_family, wfs_legacy_family, wfs_k_family, wfs_iq_family,
                                      wfs_small_family;

/* The sets of this architecture for a family's initialiser, from the file's own fill_avx2, fill_avx512, fill_neon. */
#if defined(__x86_64__)
#define WFS_FAMILY_SETS .avx2 = fill_avx2, .avx512 = fill_avx512
#elif defined(__aarch64__)
#define WFS_FAMILY_SETS .neon = fill_neon
#else
#define WFS_FAMILY_SETS .avx2 = NULL
#endif

wfs_decode_fn wfs_decode_f32_c, wfs_decode_f64_c, wfs_decode_f16_c, wfs_decode_bf16_c;
wfs_decode_fn wfs_decode_bool_c, wfs_decode_i8_c, wfs_decode_i16_c, wfs_decode_i32_c, wfs_decode_i64_c;
wfs_decode_fn wfs_decode_u8_c, wfs_decode_u16_c, wfs_decode_u32_c, wfs_decode_u64_c;
wfs_decode_fn wfs_decode_f8_e4m3_c, wfs_decode_f8_e5m2_c, wfs_decode_f8_e8m0_c;
wfs_decode_fn wfs_decode_f8_e4m3fnuz_c, wfs_decode_f8_e5m2fnuz_c;
wfs_encode_fn wfs_encode_f32_c, wfs_encode_f16_c, wfs_encode_bf16_c;
wfs_dequantize_fn wfs_dequantize_f32_c, wfs_dequantize_f16_c, wfs_dequantize_bf16_c;
wfs_validate_fn wfs_validate_f32_c, wfs_validate_f16_c, wfs_validate_bf16_c;

wfs_decode_fn wfs_decode_f16_avx2, wfs_decode_bf16_avx2;
wfs_encode_fn wfs_encode_f16_avx2, wfs_encode_bf16_avx2;
wfs_dequantize_fn wfs_dequantize_f16_avx2, wfs_dequantize_bf16_avx2;
wfs_validate_fn wfs_validate_f32_avx2, wfs_validate_f16_avx2, wfs_validate_bf16_avx2;

wfs_decode_fn wfs_decode_f16_avx512, wfs_decode_bf16_avx512;
wfs_encode_fn wfs_encode_f16_avx512, wfs_encode_bf16_avx512;
wfs_dequantize_fn wfs_dequantize_f16_avx512, wfs_dequantize_bf16_avx512;
wfs_validate_fn wfs_validate_f32_avx512, wfs_validate_f16_avx512, wfs_validate_bf16_avx512;

wfs_decode_fn wfs_decode_f16_neon, wfs_decode_bf16_neon;
wfs_encode_fn wfs_encode_f16_neon, wfs_encode_bf16_neon;
wfs_dequantize_fn wfs_dequantize_f16_neon, wfs_dequantize_bf16_neon;
wfs_validate_fn wfs_validate_f32_neon, wfs_validate_f16_neon, wfs_validate_bf16_neon;

#endif
