#include "kernels.h"
#include "slots.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

static void fill_c(struct wfs_kernels *k)
{
    static wfs_decode_fn *const decode[WFS_DTYPE_COUNT] = {
        [WFS_BOOL] = wfs_decode_bool_c,
        [WFS_U8] = wfs_decode_u8_c, [WFS_U16] = wfs_decode_u16_c,
        [WFS_U32] = wfs_decode_u32_c, [WFS_U64] = wfs_decode_u64_c,
        [WFS_I8] = wfs_decode_i8_c, [WFS_I16] = wfs_decode_i16_c,
        [WFS_I32] = wfs_decode_i32_c, [WFS_I64] = wfs_decode_i64_c,
        [WFS_F8_E5M2] = wfs_decode_f8_e5m2_c, [WFS_F8_E4M3] = wfs_decode_f8_e4m3_c,
        [WFS_F8_E8M0] = wfs_decode_f8_e8m0_c, [WFS_F8_E4M3FNUZ] = wfs_decode_f8_e4m3fnuz_c,
        [WFS_F8_E5M2FNUZ] = wfs_decode_f8_e5m2fnuz_c,
        [WFS_F16] = wfs_decode_f16_c, [WFS_BF16] = wfs_decode_bf16_c,
        [WFS_F32] = wfs_decode_f32_c, [WFS_F64] = wfs_decode_f64_c,
    };

    memcpy(k->decode, decode, sizeof decode);
    k->encode[WFS_TYPE_F32] = wfs_encode_f32_c;
    k->encode[WFS_TYPE_F16] = wfs_encode_f16_c;
    k->encode[WFS_TYPE_BF16] = wfs_encode_bf16_c;
    k->dequantize[WFS_TYPE_F32] = wfs_dequantize_f32_c;
    k->dequantize[WFS_TYPE_F16] = wfs_dequantize_f16_c;
    k->dequantize[WFS_TYPE_BF16] = wfs_dequantize_bf16_c;
    k->validate[WFS_TYPE_F32] = wfs_validate_f32_c;
    k->validate[WFS_TYPE_F16] = wfs_validate_f16_c;
    k->validate[WFS_TYPE_BF16] = wfs_validate_bf16_c;
}

#if defined(__x86_64__)
static void fill_avx2(struct wfs_kernels *k)
{
    k->decode[WFS_F16] = wfs_decode_f16_avx2;
    k->decode[WFS_BF16] = wfs_decode_bf16_avx2;
    k->encode[WFS_TYPE_F16] = wfs_encode_f16_avx2;
    k->encode[WFS_TYPE_BF16] = wfs_encode_bf16_avx2;
    k->dequantize[WFS_TYPE_F16] = wfs_dequantize_f16_avx2;
    k->dequantize[WFS_TYPE_BF16] = wfs_dequantize_bf16_avx2;
    k->validate[WFS_TYPE_F32] = wfs_validate_f32_avx2;
    k->validate[WFS_TYPE_F16] = wfs_validate_f16_avx2;
    k->validate[WFS_TYPE_BF16] = wfs_validate_bf16_avx2;
}

static void fill_avx512(struct wfs_kernels *k)
{
    k->decode[WFS_F16] = wfs_decode_f16_avx512;
    k->decode[WFS_BF16] = wfs_decode_bf16_avx512;
    k->encode[WFS_TYPE_F16] = wfs_encode_f16_avx512;
    k->encode[WFS_TYPE_BF16] = wfs_encode_bf16_avx512;
    k->dequantize[WFS_TYPE_F16] = wfs_dequantize_f16_avx512;
    k->dequantize[WFS_TYPE_BF16] = wfs_dequantize_bf16_avx512;
    k->validate[WFS_TYPE_F32] = wfs_validate_f32_avx512;
    k->validate[WFS_TYPE_F16] = wfs_validate_f16_avx512;
    k->validate[WFS_TYPE_BF16] = wfs_validate_bf16_avx512;
}
#elif defined(__aarch64__)
static void fill_neon(struct wfs_kernels *k)
{
    k->decode[WFS_F16] = wfs_decode_f16_neon;
    k->decode[WFS_BF16] = wfs_decode_bf16_neon;
    k->encode[WFS_TYPE_F16] = wfs_encode_f16_neon;
    k->encode[WFS_TYPE_BF16] = wfs_encode_bf16_neon;
    k->dequantize[WFS_TYPE_F16] = wfs_dequantize_f16_neon;
    k->dequantize[WFS_TYPE_BF16] = wfs_dequantize_bf16_neon;
    k->validate[WFS_TYPE_F32] = wfs_validate_f32_neon;
    k->validate[WFS_TYPE_F16] = wfs_validate_f16_neon;
    k->validate[WFS_TYPE_BF16] = wfs_validate_bf16_neon;
}
#endif

const struct wfs_kernel_family wfs_casts_family = { .c = fill_c, WFS_FAMILY_SETS };

/* A set includes those of its architecture before it. */
static void fill_family(struct wfs_kernels *k, const struct wfs_kernel_family *f, enum wfs_isa isa)
{
    f->c(k);
    if (f->avx2 && (isa == WFS_ISA_AVX2 || isa == WFS_ISA_AVX512))
        f->avx2(k);
    if (f->avx512 && isa == WFS_ISA_AVX512)
        f->avx512(k);
    if (f->neon && isa == WFS_ISA_NEON)
        f->neon(k);
}

void wfs_kernels_init_for(struct wfs_kernels *k, enum wfs_isa isa)
{
    static const struct wfs_kernel_family *const families[] = { &wfs_casts_family, &wfs_legacy_family, &wfs_k_family,
                                                                &wfs_iq_family, &wfs_small_family };

    assert(wfs_cpu_has(isa));
    *k = (struct wfs_kernels){ .isa = wfs_isa_names[isa] };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        fill_family(k, families[i], isa);
}

static struct wfs_kernels table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    wfs_kernels_init_for(&table, wfs_cpu_masked_isa());
}

const struct wfs_kernels *wfs_kernels_get(void)
{
    pthread_once(&table_once, fill_table);
    return &table;
}
