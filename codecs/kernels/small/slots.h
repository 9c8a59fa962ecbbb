/* The versions of TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0 and Q2_0 behind the kernel table's slots. */
#ifndef WFS_KERNELS_SMALL_SLOTS_H
#define WFS_KERNELS_SMALL_SLOTS_H

#include "../slots.h"

wfs_encode_fn wfs_encode_tq1_0_c, wfs_encode_tq2_0_c, wfs_encode_mxfp4_c, wfs_encode_nvfp4_c;
wfs_encode_fn wfs_encode_q1_0_c, wfs_encode_q2_0_c;
wfs_dequantize_fn wfs_dequantize_tq1_0_c, wfs_dequantize_tq2_0_c, wfs_dequantize_mxfp4_c, wfs_dequantize_nvfp4_c;
wfs_dequantize_fn wfs_dequantize_q1_0_c, wfs_dequantize_q2_0_c;
wfs_validate_fn wfs_validate_tq1_0_c, wfs_validate_tq2_0_c, wfs_validate_mxfp4_c, wfs_validate_nvfp4_c;
wfs_validate_fn wfs_validate_q1_0_c, wfs_validate_q2_0_c;

wfs_encode_fn wfs_encode_tq1_0_avx2, wfs_encode_tq2_0_avx2, wfs_encode_mxfp4_avx2, wfs_encode_nvfp4_avx2;
wfs_encode_fn wfs_encode_q1_0_avx2, wfs_encode_q2_0_avx2;
wfs_dequantize_fn wfs_dequantize_tq1_0_avx2, wfs_dequantize_tq2_0_avx2, wfs_dequantize_mxfp4_avx2;
wfs_dequantize_fn wfs_dequantize_nvfp4_avx2, wfs_dequantize_q1_0_avx2, wfs_dequantize_q2_0_avx2;

wfs_encode_fn wfs_encode_tq1_0_avx512, wfs_encode_tq2_0_avx512, wfs_encode_mxfp4_avx512, wfs_encode_nvfp4_avx512;
wfs_encode_fn wfs_encode_q1_0_avx512, wfs_encode_q2_0_avx512;
wfs_dequantize_fn wfs_dequantize_tq1_0_avx512, wfs_dequantize_tq2_0_avx512, wfs_dequantize_mxfp4_avx512;
wfs_dequantize_fn wfs_dequantize_nvfp4_avx512, wfs_dequantize_q1_0_avx512, wfs_dequantize_q2_0_avx512;

#endif
