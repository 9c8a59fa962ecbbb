#include "slots.h"

static void fill_c(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_Q4_0] = wfs_encode_q4_0_c;
    k->encode[WFS_TYPE_Q4_1] = wfs_encode_q4_1_c;
    k->encode[WFS_TYPE_Q5_0] = wfs_encode_q5_0_c;
    k->encode[WFS_TYPE_Q5_1] = wfs_encode_q5_1_c;
    k->encode[WFS_TYPE_Q8_0] = wfs_encode_q8_0_c;
    k->encode_weighted[WFS_TYPE_Q4_0] = wfs_encode_weighted_q4_0_c;
    k->encode_weighted[WFS_TYPE_Q4_1] = wfs_encode_weighted_q4_1_c;
    k->encode_weighted[WFS_TYPE_Q5_0] = wfs_encode_weighted_q5_0_c;
    k->encode_weighted[WFS_TYPE_Q5_1] = wfs_encode_weighted_q5_1_c;
    k->dequantize[WFS_TYPE_Q4_0] = wfs_dequantize_q4_0_c;
    k->dequantize[WFS_TYPE_Q4_1] = wfs_dequantize_q4_1_c;
    k->dequantize[WFS_TYPE_Q5_0] = wfs_dequantize_q5_0_c;
    k->dequantize[WFS_TYPE_Q5_1] = wfs_dequantize_q5_1_c;
    k->dequantize[WFS_TYPE_Q8_0] = wfs_dequantize_q8_0_c;
    k->validate[WFS_TYPE_Q4_0] = wfs_validate_q4_0_c;
    k->validate[WFS_TYPE_Q4_1] = wfs_validate_q4_1_c;
    k->validate[WFS_TYPE_Q5_0] = wfs_validate_q5_0_c;
    k->validate[WFS_TYPE_Q5_1] = wfs_validate_q5_1_c;
    k->validate[WFS_TYPE_Q8_0] = wfs_validate_q8_0_c;
}

#if defined(__x86_64__)
static void fill_avx2(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_Q4_0] = wfs_encode_q4_0_avx2;
    k->encode[WFS_TYPE_Q4_1] = wfs_encode_q4_1_avx2;
    k->encode[WFS_TYPE_Q5_0] = wfs_encode_q5_0_avx2;
    k->encode[WFS_TYPE_Q5_1] = wfs_encode_q5_1_avx2;
    k->encode[WFS_TYPE_Q8_0] = wfs_encode_q8_0_avx2;
    k->encode_weighted[WFS_TYPE_Q4_0] = wfs_encode_weighted_q4_0_avx2;
    k->encode_weighted[WFS_TYPE_Q4_1] = wfs_encode_weighted_q4_1_avx2;
    k->encode_weighted[WFS_TYPE_Q5_0] = wfs_encode_weighted_q5_0_avx2;
    k->encode_weighted[WFS_TYPE_Q5_1] = wfs_encode_weighted_q5_1_avx2;
    k->dequantize[WFS_TYPE_Q4_0] = wfs_dequantize_q4_0_avx2;
    k->dequantize[WFS_TYPE_Q4_1] = wfs_dequantize_q4_1_avx2;
    k->dequantize[WFS_TYPE_Q5_0] = wfs_dequantize_q5_0_avx2;
    k->dequantize[WFS_TYPE_Q5_1] = wfs_dequantize_q5_1_avx2;
    k->dequantize[WFS_TYPE_Q8_0] = wfs_dequantize_q8_0_avx2;
}

static void fill_avx512(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_Q4_0] = wfs_encode_q4_0_avx512;
    k->encode[WFS_TYPE_Q4_1] = wfs_encode_q4_1_avx512;
    k->encode[WFS_TYPE_Q5_0] = wfs_encode_q5_0_avx512;
    k->encode[WFS_TYPE_Q5_1] = wfs_encode_q5_1_avx512;
    k->encode[WFS_TYPE_Q8_0] = wfs_encode_q8_0_avx512;
    k->encode_weighted[WFS_TYPE_Q4_0] = wfs_encode_weighted_q4_0_avx512;
    k->encode_weighted[WFS_TYPE_Q4_1] = wfs_encode_weighted_q4_1_avx512;
    k->encode_weighted[WFS_TYPE_Q5_0] = wfs_encode_weighted_q5_0_avx512;
    k->encode_weighted[WFS_TYPE_Q5_1] = wfs_encode_weighted_q5_1_avx512;
    k->dequantize[WFS_TYPE_Q4_0] = wfs_dequantize_q4_0_avx512;
    k->dequantize[WFS_TYPE_Q4_1] = wfs_dequantize_q4_1_avx512;
    k->dequantize[WFS_TYPE_Q5_0] = wfs_dequantize_q5_0_avx512;
    k->dequantize[WFS_TYPE_Q5_1] = wfs_dequantize_q5_1_avx512;
    k->dequantize[WFS_TYPE_Q8_0] = wfs_dequantize_q8_0_avx512;
}
#elif defined(__aarch64__)
static void fill_neon(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_Q4_0] = wfs_encode_q4_0_neon;
    k->encode[WFS_TYPE_Q4_1] = wfs_encode_q4_1_neon;
    k->encode[WFS_TYPE_Q5_0] = wfs_encode_q5_0_neon;
    k->encode[WFS_TYPE_Q5_1] = wfs_encode_q5_1_neon;
    k->encode[WFS_TYPE_Q8_0] = wfs_encode_q8_0_neon;
    k->encode_weighted[WFS_TYPE_Q4_0] = wfs_encode_weighted_q4_0_neon;
    k->encode_weighted[WFS_TYPE_Q4_1] = wfs_encode_weighted_q4_1_neon;
    k->encode_weighted[WFS_TYPE_Q5_0] = wfs_encode_weighted_q5_0_neon;
    k->encode_weighted[WFS_TYPE_Q5_1] = wfs_encode_weighted_q5_1_neon;
    k->dequantize[WFS_TYPE_Q4_0] = wfs_dequantize_q4_0_neon;
    k->dequantize[WFS_TYPE_Q4_1] = wfs_dequantize_q4_1_neon;
    k->dequantize[WFS_TYPE_Q5_0] = wfs_dequantize_q5_0_neon;
    k->dequantize[WFS_TYPE_Q5_1] = wfs_dequantize_q5_1_neon;
    k->dequantize[WFS_TYPE_Q8_0] = wfs_dequantize_q8_0_neon;
}
#endif

const struct wfs_kernel_family wfs_legacy_family = { .c = fill_c, WFS_FAMILY_SETS };
