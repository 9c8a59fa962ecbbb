#include "slots.h"

static void fill_c(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_TQ1_0] = wfs_encode_tq1_0_c;
    k->encode[WFS_TYPE_TQ2_0] = wfs_encode_tq2_0_c;
    k->encode[WFS_TYPE_MXFP4] = wfs_encode_mxfp4_c;
    k->encode[WFS_TYPE_NVFP4] = wfs_encode_nvfp4_c;
    k->encode[WFS_TYPE_Q1_0] = wfs_encode_q1_0_c;
    k->encode[WFS_TYPE_Q2_0] = wfs_encode_q2_0_c;
    k->dequantize[WFS_TYPE_TQ1_0] = wfs_dequantize_tq1_0_c;
    k->dequantize[WFS_TYPE_TQ2_0] = wfs_dequantize_tq2_0_c;
    k->dequantize[WFS_TYPE_MXFP4] = wfs_dequantize_mxfp4_c;
    k->dequantize[WFS_TYPE_NVFP4] = wfs_dequantize_nvfp4_c;
    k->dequantize[WFS_TYPE_Q1_0] = wfs_dequantize_q1_0_c;
    k->dequantize[WFS_TYPE_Q2_0] = wfs_dequantize_q2_0_c;
    k->validate[WFS_TYPE_TQ1_0] = wfs_validate_tq1_0_c;
    k->validate[WFS_TYPE_TQ2_0] = wfs_validate_tq2_0_c;
    k->validate[WFS_TYPE_MXFP4] = wfs_validate_mxfp4_c;
    k->validate[WFS_TYPE_NVFP4] = wfs_validate_nvfp4_c;
    k->validate[WFS_TYPE_Q1_0] = wfs_validate_q1_0_c;
    k->validate[WFS_TYPE_Q2_0] = wfs_validate_q2_0_c;
}

#if defined(__x86_64__)
static void fill_avx2(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_TQ1_0] = wfs_encode_tq1_0_avx2;
    k->encode[WFS_TYPE_TQ2_0] = wfs_encode_tq2_0_avx2;
    k->encode[WFS_TYPE_MXFP4] = wfs_encode_mxfp4_avx2;
    k->encode[WFS_TYPE_NVFP4] = wfs_encode_nvfp4_avx2;
    k->encode[WFS_TYPE_Q1_0] = wfs_encode_q1_0_avx2;
    k->encode[WFS_TYPE_Q2_0] = wfs_encode_q2_0_avx2;
    k->dequantize[WFS_TYPE_TQ1_0] = wfs_dequantize_tq1_0_avx2;
    k->dequantize[WFS_TYPE_TQ2_0] = wfs_dequantize_tq2_0_avx2;
    k->dequantize[WFS_TYPE_MXFP4] = wfs_dequantize_mxfp4_avx2;
    k->dequantize[WFS_TYPE_NVFP4] = wfs_dequantize_nvfp4_avx2;
    k->dequantize[WFS_TYPE_Q1_0] = wfs_dequantize_q1_0_avx2;
    k->dequantize[WFS_TYPE_Q2_0] = wfs_dequantize_q2_0_avx2;
}

static void fill_avx512(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_TQ1_0] = wfs_encode_tq1_0_avx512;
    k->encode[WFS_TYPE_TQ2_0] = wfs_encode_tq2_0_avx512;
    k->encode[WFS_TYPE_MXFP4] = wfs_encode_mxfp4_avx512;
    k->encode[WFS_TYPE_NVFP4] = wfs_encode_nvfp4_avx512;
    k->encode[WFS_TYPE_Q1_0] = wfs_encode_q1_0_avx512;
    k->encode[WFS_TYPE_Q2_0] = wfs_encode_q2_0_avx512;
    k->dequantize[WFS_TYPE_TQ1_0] = wfs_dequantize_tq1_0_avx512;
    k->dequantize[WFS_TYPE_TQ2_0] = wfs_dequantize_tq2_0_avx512;
    k->dequantize[WFS_TYPE_MXFP4] = wfs_dequantize_mxfp4_avx512;
    k->dequantize[WFS_TYPE_NVFP4] = wfs_dequantize_nvfp4_avx512;
    k->dequantize[WFS_TYPE_Q1_0] = wfs_dequantize_q1_0_avx512;
    k->dequantize[WFS_TYPE_Q2_0] = wfs_dequantize_q2_0_avx512;
}
#elif defined(__aarch64__)
static void fill_neon(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_TQ1_0] = wfs_encode_tq1_0_neon;
    k->encode[WFS_TYPE_TQ2_0] = wfs_encode_tq2_0_neon;
    k->encode[WFS_TYPE_MXFP4] = wfs_encode_mxfp4_neon;
    k->encode[WFS_TYPE_NVFP4] = wfs_encode_nvfp4_neon;
    k->encode[WFS_TYPE_Q1_0] = wfs_encode_q1_0_neon;
    k->encode[WFS_TYPE_Q2_0] = wfs_encode_q2_0_neon;
    k->dequantize[WFS_TYPE_TQ1_0] = wfs_dequantize_tq1_0_neon;
    k->dequantize[WFS_TYPE_TQ2_0] = wfs_dequantize_tq2_0_neon;
    k->dequantize[WFS_TYPE_MXFP4] = wfs_dequantize_mxfp4_neon;
    k->dequantize[WFS_TYPE_NVFP4] = wfs_dequantize_nvfp4_neon;
    k->dequantize[WFS_TYPE_Q1_0] = wfs_dequantize_q1_0_neon;
    k->dequantize[WFS_TYPE_Q2_0] = wfs_dequantize_q2_0_neon;
}
#endif

const struct wfs_kernel_family wfs_small_family = { .c = fill_c, WFS_FAMILY_SETS };
