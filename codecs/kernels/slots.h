/*
 * The versions behind the table's slots, for the files of this folder: plain C (the truth, also called by vector code
 * for what it leaves aside), and one filler per instruction set, applied in ascending order.
 */
#ifndef WFS_KERNELS_SLOTS_H
#define WFS_KERNELS_SLOTS_H

#include "kernels.h"

wfs_decode_fn wfs_decode_f32_c, wfs_decode_f64_c, wfs_decode_f16_c, wfs_decode_bf16_c;
wfs_decode_fn wfs_decode_bool_c, wfs_decode_i8_c, wfs_decode_i16_c, wfs_decode_i32_c, wfs_decode_i64_c;
wfs_decode_fn wfs_decode_u8_c, wfs_decode_u16_c, wfs_decode_u32_c, wfs_decode_u64_c;
wfs_decode_fn wfs_decode_f8_e4m3_c, wfs_decode_f8_e5m2_c, wfs_decode_f8_e8m0_c;
wfs_decode_fn wfs_decode_f8_e4m3fnuz_c, wfs_decode_f8_e5m2fnuz_c;

wfs_encode_fn wfs_encode_f32_c, wfs_encode_f16_c, wfs_encode_bf16_c;
wfs_encode_fn wfs_encode_q8_0_c, wfs_encode_q5_0_c, wfs_encode_q5_1_c, wfs_encode_q4_k_c, wfs_encode_q5_k_c;
wfs_encode_fn wfs_encode_q6_k_c;

wfs_validate_fn wfs_validate_f32_c, wfs_validate_f16_c, wfs_validate_bf16_c;
wfs_validate_fn wfs_validate_q8_0_c, wfs_validate_q5_0_c, wfs_validate_q5_1_c, wfs_validate_q4_k_c, wfs_validate_q5_k_c;
wfs_validate_fn wfs_validate_q6_k_c;

wfs_decode_fn wfs_decode_f16_avx2, wfs_decode_bf16_avx2;
wfs_encode_fn wfs_encode_f16_avx2, wfs_encode_bf16_avx2;
wfs_encode_fn wfs_encode_q8_0_avx2, wfs_encode_q5_0_avx2, wfs_encode_q5_1_avx2;
wfs_encode_fn wfs_encode_q4_k_avx2, wfs_encode_q6_k_avx2;
wfs_validate_fn wfs_validate_f32_avx2, wfs_validate_f16_avx2, wfs_validate_bf16_avx2;

wfs_decode_fn wfs_decode_f16_avx512, wfs_decode_bf16_avx512;
wfs_encode_fn wfs_encode_f16_avx512, wfs_encode_bf16_avx512;
wfs_encode_fn wfs_encode_q8_0_avx512, wfs_encode_q5_0_avx512, wfs_encode_q5_1_avx512;
wfs_encode_fn wfs_encode_q4_k_avx512, wfs_encode_q6_k_avx512;
wfs_validate_fn wfs_validate_f32_avx512, wfs_validate_f16_avx512, wfs_validate_bf16_avx512;

#endif
