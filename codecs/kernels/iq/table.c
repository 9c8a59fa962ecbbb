#include "slots.h"

static void fill_c(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_IQ4_NL] = wfs_encode_iq4_nl_c;
    k->encode[WFS_TYPE_IQ4_XS] = wfs_encode_iq4_xs_c;
    k->encode[WFS_TYPE_IQ1_M] = wfs_encode_iq1_m_c;
    k->encode_weighted[WFS_TYPE_IQ4_NL] = wfs_encode_weighted_iq4_nl_c;
    k->encode_weighted[WFS_TYPE_IQ4_XS] = wfs_encode_weighted_iq4_xs_c;
    k->encode_weighted[WFS_TYPE_IQ1_S] = wfs_encode_weighted_iq1_s_c;
    k->encode_weighted[WFS_TYPE_IQ1_M] = wfs_encode_weighted_iq1_m_c;
    k->dequantize[WFS_TYPE_IQ4_NL] = wfs_dequantize_iq4_nl_c;
    k->dequantize[WFS_TYPE_IQ4_XS] = wfs_dequantize_iq4_xs_c;
    k->dequantize[WFS_TYPE_IQ1_S] = wfs_dequantize_iq1_s_c;
    k->dequantize[WFS_TYPE_IQ1_M] = wfs_dequantize_iq1_m_c;
    k->validate[WFS_TYPE_IQ4_NL] = wfs_validate_iq4_nl_c;
    k->validate[WFS_TYPE_IQ4_XS] = wfs_validate_iq4_xs_c;
    k->validate[WFS_TYPE_IQ1_S] = wfs_validate_iq1_s_c;
    k->validate[WFS_TYPE_IQ1_M] = wfs_validate_iq1_m_c;
    k->encode[WFS_TYPE_IQ2_S] = wfs_encode_iq2_s_c;
    k->encode[WFS_TYPE_IQ3_XXS] = wfs_encode_iq3_xxs_c;
    k->encode[WFS_TYPE_IQ3_S] = wfs_encode_iq3_s_c;
    k->encode_weighted[WFS_TYPE_IQ2_XXS] = wfs_encode_weighted_iq2_xxs_c;
    k->encode_weighted[WFS_TYPE_IQ2_XS] = wfs_encode_weighted_iq2_xs_c;
    k->encode_weighted[WFS_TYPE_IQ2_S] = wfs_encode_weighted_iq2_s_c;
    k->encode_weighted[WFS_TYPE_IQ3_XXS] = wfs_encode_weighted_iq3_xxs_c;
    k->encode_weighted[WFS_TYPE_IQ3_S] = wfs_encode_weighted_iq3_s_c;
    k->dequantize[WFS_TYPE_IQ2_XXS] = wfs_dequantize_iq2_xxs_c;
    k->dequantize[WFS_TYPE_IQ2_XS] = wfs_dequantize_iq2_xs_c;
    k->dequantize[WFS_TYPE_IQ2_S] = wfs_dequantize_iq2_s_c;
    k->dequantize[WFS_TYPE_IQ3_XXS] = wfs_dequantize_iq3_xxs_c;
    k->dequantize[WFS_TYPE_IQ3_S] = wfs_dequantize_iq3_s_c;
    k->validate[WFS_TYPE_IQ2_XXS] = wfs_validate_iq2_xxs_c;
    k->validate[WFS_TYPE_IQ2_XS] = wfs_validate_iq2_xs_c;
    k->validate[WFS_TYPE_IQ2_S] = wfs_validate_iq2_s_c;
    k->validate[WFS_TYPE_IQ3_XXS] = wfs_validate_iq3_xxs_c;
    k->validate[WFS_TYPE_IQ3_S] = wfs_validate_iq3_s_c;
}

#if defined(__x86_64__)
static void fill_avx2(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_IQ1_M] = wfs_encode_iq1_m_avx2;
    k->encode_weighted[WFS_TYPE_IQ1_S] = wfs_encode_weighted_iq1_s_avx2;
    k->encode_weighted[WFS_TYPE_IQ1_M] = wfs_encode_weighted_iq1_m_avx2;
    k->dequantize[WFS_TYPE_IQ1_S] = wfs_dequantize_iq1_s_avx2;
    k->dequantize[WFS_TYPE_IQ1_M] = wfs_dequantize_iq1_m_avx2;
    k->encode[WFS_TYPE_IQ4_NL] = wfs_encode_iq4_nl_avx2;
    k->encode[WFS_TYPE_IQ4_XS] = wfs_encode_iq4_xs_avx2;
    k->encode_weighted[WFS_TYPE_IQ4_NL] = wfs_encode_weighted_iq4_nl_avx2;
    k->encode_weighted[WFS_TYPE_IQ4_XS] = wfs_encode_weighted_iq4_xs_avx2;
    k->dequantize[WFS_TYPE_IQ4_NL] = wfs_dequantize_iq4_nl_avx2;
    k->dequantize[WFS_TYPE_IQ4_XS] = wfs_dequantize_iq4_xs_avx2;
    k->encode[WFS_TYPE_IQ2_S] = wfs_encode_iq2_s_avx2;
    k->encode[WFS_TYPE_IQ3_XXS] = wfs_encode_iq3_xxs_avx2;
    k->encode[WFS_TYPE_IQ3_S] = wfs_encode_iq3_s_avx2;
    k->encode_weighted[WFS_TYPE_IQ2_XXS] = wfs_encode_weighted_iq2_xxs_avx2;
    k->encode_weighted[WFS_TYPE_IQ2_XS] = wfs_encode_weighted_iq2_xs_avx2;
    k->encode_weighted[WFS_TYPE_IQ2_S] = wfs_encode_weighted_iq2_s_avx2;
    k->encode_weighted[WFS_TYPE_IQ3_XXS] = wfs_encode_weighted_iq3_xxs_avx2;
    k->encode_weighted[WFS_TYPE_IQ3_S] = wfs_encode_weighted_iq3_s_avx2;
    k->dequantize[WFS_TYPE_IQ2_XXS] = wfs_dequantize_iq2_xxs_avx2;
    k->dequantize[WFS_TYPE_IQ2_XS] = wfs_dequantize_iq2_xs_avx2;
    k->dequantize[WFS_TYPE_IQ2_S] = wfs_dequantize_iq2_s_avx2;
    k->dequantize[WFS_TYPE_IQ3_XXS] = wfs_dequantize_iq3_xxs_avx2;
    k->dequantize[WFS_TYPE_IQ3_S] = wfs_dequantize_iq3_s_avx2;
}

static void fill_avx512(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_IQ1_M] = wfs_encode_iq1_m_avx512;
    k->encode_weighted[WFS_TYPE_IQ1_S] = wfs_encode_weighted_iq1_s_avx512;
    k->encode_weighted[WFS_TYPE_IQ1_M] = wfs_encode_weighted_iq1_m_avx512;
    k->dequantize[WFS_TYPE_IQ1_S] = wfs_dequantize_iq1_s_avx512;
    k->dequantize[WFS_TYPE_IQ1_M] = wfs_dequantize_iq1_m_avx512;
    k->encode[WFS_TYPE_IQ4_NL] = wfs_encode_iq4_nl_avx512;
    k->encode[WFS_TYPE_IQ4_XS] = wfs_encode_iq4_xs_avx512;
    k->encode_weighted[WFS_TYPE_IQ4_NL] = wfs_encode_weighted_iq4_nl_avx512;
    k->encode_weighted[WFS_TYPE_IQ4_XS] = wfs_encode_weighted_iq4_xs_avx512;
    k->dequantize[WFS_TYPE_IQ4_NL] = wfs_dequantize_iq4_nl_avx512;
    k->dequantize[WFS_TYPE_IQ4_XS] = wfs_dequantize_iq4_xs_avx512;
    k->encode[WFS_TYPE_IQ2_S] = wfs_encode_iq2_s_avx512;
    k->encode[WFS_TYPE_IQ3_XXS] = wfs_encode_iq3_xxs_avx512;
    k->encode[WFS_TYPE_IQ3_S] = wfs_encode_iq3_s_avx512;
    k->encode_weighted[WFS_TYPE_IQ2_XXS] = wfs_encode_weighted_iq2_xxs_avx512;
    k->encode_weighted[WFS_TYPE_IQ2_XS] = wfs_encode_weighted_iq2_xs_avx512;
    k->encode_weighted[WFS_TYPE_IQ2_S] = wfs_encode_weighted_iq2_s_avx512;
    k->encode_weighted[WFS_TYPE_IQ3_XXS] = wfs_encode_weighted_iq3_xxs_avx512;
    k->encode_weighted[WFS_TYPE_IQ3_S] = wfs_encode_weighted_iq3_s_avx512;
    k->dequantize[WFS_TYPE_IQ2_XXS] = wfs_dequantize_iq2_xxs_avx512;
    k->dequantize[WFS_TYPE_IQ2_XS] = wfs_dequantize_iq2_xs_avx512;
    k->dequantize[WFS_TYPE_IQ2_S] = wfs_dequantize_iq2_s_avx512;
    k->dequantize[WFS_TYPE_IQ3_XXS] = wfs_dequantize_iq3_xxs_avx512;
    k->dequantize[WFS_TYPE_IQ3_S] = wfs_dequantize_iq3_s_avx512;
}
#elif defined(__aarch64__)
static void fill_neon(struct wfs_kernels *k)
{
    k->encode[WFS_TYPE_IQ1_M] = wfs_encode_iq1_m_neon;
    k->encode_weighted[WFS_TYPE_IQ1_S] = wfs_encode_weighted_iq1_s_neon;
    k->encode_weighted[WFS_TYPE_IQ1_M] = wfs_encode_weighted_iq1_m_neon;
    k->dequantize[WFS_TYPE_IQ1_S] = wfs_dequantize_iq1_s_neon;
    k->dequantize[WFS_TYPE_IQ1_M] = wfs_dequantize_iq1_m_neon;
    k->encode[WFS_TYPE_IQ4_NL] = wfs_encode_iq4_nl_neon;
    k->encode[WFS_TYPE_IQ4_XS] = wfs_encode_iq4_xs_neon;
    k->encode_weighted[WFS_TYPE_IQ4_NL] = wfs_encode_weighted_iq4_nl_neon;
    k->encode_weighted[WFS_TYPE_IQ4_XS] = wfs_encode_weighted_iq4_xs_neon;
    k->dequantize[WFS_TYPE_IQ4_NL] = wfs_dequantize_iq4_nl_neon;
    k->dequantize[WFS_TYPE_IQ4_XS] = wfs_dequantize_iq4_xs_neon;
    k->encode[WFS_TYPE_IQ2_S] = wfs_encode_iq2_s_neon;
    k->encode[WFS_TYPE_IQ3_XXS] = wfs_encode_iq3_xxs_neon;
    k->encode[WFS_TYPE_IQ3_S] = wfs_encode_iq3_s_neon;
    k->encode_weighted[WFS_TYPE_IQ2_XXS] = wfs_encode_weighted_iq2_xxs_neon;
    k->encode_weighted[WFS_TYPE_IQ2_XS] = wfs_encode_weighted_iq2_xs_neon;
    k->encode_weighted[WFS_TYPE_IQ2_S] = wfs_encode_weighted_iq2_s_neon;
    k->encode_weighted[WFS_TYPE_IQ3_XXS] = wfs_encode_weighted_iq3_xxs_neon;
    k->encode_weighted[WFS_TYPE_IQ3_S] = wfs_encode_weighted_iq3_s_neon;
    k->dequantize[WFS_TYPE_IQ2_XXS] = wfs_dequantize_iq2_xxs_neon;
    k->dequantize[WFS_TYPE_IQ2_XS] = wfs_dequantize_iq2_xs_neon;
    k->dequantize[WFS_TYPE_IQ2_S] = wfs_dequantize_iq2_s_neon;
    k->dequantize[WFS_TYPE_IQ3_XXS] = wfs_dequantize_iq3_xxs_neon;
    k->dequantize[WFS_TYPE_IQ3_S] = wfs_dequantize_iq3_s_neon;
}
#endif

const struct wfs_kernel_family wfs_iq_family = { .c = fill_c, WFS_FAMILY_SETS };
