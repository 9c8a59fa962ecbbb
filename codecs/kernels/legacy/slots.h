/* The versions of Q4_0 to Q8_0 behind the kernel table's slots. */
#ifndef WFS_KERNELS_LEGACY_SLOTS_H
#define WFS_KERNELS_LEGACY_SLOTS_H

#include "../slots.h"

wfs_encode_fn wfs_encode_q4_0_c, wfs_encode_q4_1_c, wfs_encode_q5_0_c, wfs_encode_q5_1_c, wfs_encode_q8_0_c;
wfs_encode_weighted_fn wfs_encode_weighted_q4_0_c, wfs_encode_weighted_q4_1_c;
wfs_encode_weighted_fn wfs_encode_weighted_q5_0_c, wfs_encode_weighted_q5_1_c;
wfs_dequantize_fn wfs_dequantize_q4_0_c, wfs_dequantize_q4_1_c, wfs_dequantize_q5_0_c, wfs_dequantize_q5_1_c;
wfs_dequantize_fn wfs_dequantize_q8_0_c;
wfs_validate_fn wfs_validate_q4_0_c, wfs_validate_q4_1_c, wfs_validate_q5_0_c, wfs_validate_q5_1_c;
wfs_validate_fn wfs_validate_q8_0_c;

wfs_encode_fn wfs_encode_q8_0_avx2, wfs_encode_q5_0_avx2, wfs_encode_q5_1_avx2;
wfs_encode_fn wfs_encode_q8_0_avx512, wfs_encode_q5_0_avx512, wfs_encode_q5_1_avx512;

#endif
