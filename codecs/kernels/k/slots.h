/* The versions of Q2_K to Q6_K behind the kernel table's slots. */
#ifndef WFS_KERNELS_K_SLOTS_H
#define WFS_KERNELS_K_SLOTS_H

#include "../slots.h"

wfs_encode_fn wfs_encode_q2_k_c, wfs_encode_q3_k_c, wfs_encode_q4_k_c, wfs_encode_q5_k_c, wfs_encode_q6_k_c;
wfs_encode_weighted_fn wfs_encode_weighted_q2_k_c, wfs_encode_weighted_q3_k_c, wfs_encode_weighted_q4_k_c;
wfs_encode_weighted_fn wfs_encode_weighted_q5_k_c, wfs_encode_weighted_q6_k_c;
wfs_dequantize_fn wfs_dequantize_q2_k_c, wfs_dequantize_q3_k_c, wfs_dequantize_q4_k_c, wfs_dequantize_q5_k_c;
wfs_dequantize_fn wfs_dequantize_q6_k_c;
wfs_validate_fn wfs_validate_q2_k_c, wfs_validate_q3_k_c;
wfs_validate_fn wfs_validate_q4_k_c, wfs_validate_q5_k_c, wfs_validate_q6_k_c;

wfs_encode_fn wfs_encode_q4_k_avx2, wfs_encode_q6_k_avx2;
wfs_encode_fn wfs_encode_q4_k_avx512, wfs_encode_q6_k_avx512;

#endif
