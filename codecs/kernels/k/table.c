#include "slots.h"

static void fill_c(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_Q2_K] = wfs_encode_q2_k_c;
    k->encode[WFS_TYPE_Q3_K] = wfs_encode_q3_k_c;
    k->encode[WFS_TYPE_Q4_K] = wfs_encode_q4_k_c;
    k->encode[WFS_TYPE_Q5_K] = wfs_encode_q5_k_c;
    k->encode[WFS_TYPE_Q6_K] = wfs_encode_q6_k_c;
    k->encode_weighted[WFS_TYPE_Q2_K] = wfs_encode_weighted_q2_k_c;
    k->encode_weighted[WFS_TYPE_Q3_K] = wfs_encode_weighted_q3_k_c;
    k->encode_weighted[WFS_TYPE_Q4_K] = wfs_encode_weighted_q4_k_c;
    k->encode_weighted[WFS_TYPE_Q5_K] = wfs_encode_weighted_q5_k_c;
    k->encode_weighted[WFS_TYPE_Q6_K] = wfs_encode_weighted_q6_k_c;
    k->dequantize[WFS_TYPE_Q2_K] = wfs_dequantize_q2_k_c;
    k->dequantize[WFS_TYPE_Q3_K] = wfs_dequantize_q3_k_c;
    k->dequantize[WFS_TYPE_Q4_K] = wfs_dequantize_q4_k_c;
    k->dequantize[WFS_TYPE_Q5_K] = wfs_dequantize_q5_k_c;
    k->dequantize[WFS_TYPE_Q6_K] = wfs_dequantize_q6_k_c;
    k->validate[WFS_TYPE_Q2_K] = wfs_validate_q2_k_c;
    k->validate[WFS_TYPE_Q3_K] = wfs_validate_q3_k_c;
    k->validate[WFS_TYPE_Q4_K] = wfs_validate_q4_k_c;
    k->validate[WFS_TYPE_Q5_K] = wfs_validate_q5_k_c;
    k->validate[WFS_TYPE_Q6_K] = wfs_validate_q6_k_c;
}

#if defined(__x86_64__)
static void fill_avx2(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_Q2_K] = wfs_encode_q2_k_avx2;
    k->encode[WFS_TYPE_Q3_K] = wfs_encode_q3_k_avx2;
    k->encode[WFS_TYPE_Q4_K] = wfs_encode_q4_k_avx2;
    k->encode[WFS_TYPE_Q5_K] = wfs_encode_q5_k_avx2;
    k->encode[WFS_TYPE_Q6_K] = wfs_encode_q6_k_avx2;
    k->encode_weighted[WFS_TYPE_Q2_K] = wfs_encode_weighted_q2_k_avx2;
    k->encode_weighted[WFS_TYPE_Q3_K] = wfs_encode_weighted_q3_k_avx2;
    k->encode_weighted[WFS_TYPE_Q4_K] = wfs_encode_weighted_q4_k_avx2;
    k->encode_weighted[WFS_TYPE_Q5_K] = wfs_encode_weighted_q5_k_avx2;
    k->encode_weighted[WFS_TYPE_Q6_K] = wfs_encode_weighted_q6_k_avx2;
    k->dequantize[WFS_TYPE_Q2_K] = wfs_dequantize_q2_k_avx2;
    k->dequantize[WFS_TYPE_Q3_K] = wfs_dequantize_q3_k_avx2;
    k->dequantize[WFS_TYPE_Q4_K] = wfs_dequantize_q4_k_avx2;
    k->dequantize[WFS_TYPE_Q5_K] = wfs_dequantize_q5_k_avx2;
    k->dequantize[WFS_TYPE_Q6_K] = wfs_dequantize_q6_k_avx2;
}

static void fill_avx512(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_Q2_K] = wfs_encode_q2_k_avx512;
    k->encode[WFS_TYPE_Q3_K] = wfs_encode_q3_k_avx512;
    k->encode[WFS_TYPE_Q4_K] = wfs_encode_q4_k_avx512;
    k->encode[WFS_TYPE_Q5_K] = wfs_encode_q5_k_avx512;
    k->encode[WFS_TYPE_Q6_K] = wfs_encode_q6_k_avx512;
    k->encode_weighted[WFS_TYPE_Q2_K] = wfs_encode_weighted_q2_k_avx512;
    k->encode_weighted[WFS_TYPE_Q3_K] = wfs_encode_weighted_q3_k_avx512;
    k->encode_weighted[WFS_TYPE_Q4_K] = wfs_encode_weighted_q4_k_avx512;
    k->encode_weighted[WFS_TYPE_Q5_K] = wfs_encode_weighted_q5_k_avx512;
    k->encode_weighted[WFS_TYPE_Q6_K] = wfs_encode_weighted_q6_k_avx512;
    k->dequantize[WFS_TYPE_Q2_K] = wfs_dequantize_q2_k_avx512;
    k->dequantize[WFS_TYPE_Q3_K] = wfs_dequantize_q3_k_avx512;
    k->dequantize[WFS_TYPE_Q4_K] = wfs_dequantize_q4_k_avx512;
    k->dequantize[WFS_TYPE_Q5_K] = wfs_dequantize_q5_k_avx512;
    k->dequantize[WFS_TYPE_Q6_K] = wfs_dequantize_q6_k_avx512;
}
#elif defined(__aarch64__)
static void fill_neon(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_Q2_K] = wfs_encode_q2_k_neon;
    k->encode[WFS_TYPE_Q3_K] = wfs_encode_q3_k_neon;
    k->encode[WFS_TYPE_Q4_K] = wfs_encode_q4_k_neon;
    k->encode[WFS_TYPE_Q5_K] = wfs_encode_q5_k_neon;
    k->encode[WFS_TYPE_Q6_K] = wfs_encode_q6_k_neon;
    k->encode_weighted[WFS_TYPE_Q2_K] = wfs_encode_weighted_q2_k_neon;
    k->encode_weighted[WFS_TYPE_Q3_K] = wfs_encode_weighted_q3_k_neon;
    k->encode_weighted[WFS_TYPE_Q4_K] = wfs_encode_weighted_q4_k_neon;
    k->encode_weighted[WFS_TYPE_Q5_K] = wfs_encode_weighted_q5_k_neon;
    k->encode_weighted[WFS_TYPE_Q6_K] = wfs_encode_weighted_q6_k_neon;
    k->dequantize[WFS_TYPE_Q2_K] = wfs_dequantize_q2_k_neon;
    k->dequantize[WFS_TYPE_Q3_K] = wfs_dequantize_q3_k_neon;
    k->dequantize[WFS_TYPE_Q4_K] = wfs_dequantize_q4_k_neon;
    k->dequantize[WFS_TYPE_Q5_K] = wfs_dequantize_q5_k_neon;
    k->dequantize[WFS_TYPE_Q6_K] = wfs_dequantize_q6_k_neon;
}
#endif

const struct wfs_kernel_family wfs_k_family = { .c = fill_c, WFS_FAMILY_SETS };
