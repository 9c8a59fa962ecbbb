/*
 * Template of the 16-bit casts for one instruction set; include a lanes_*.h first. The tail of less than a vector, and
 * vectors with a NaN (whose payload the instructions do not keep as wanted), are left to plain C.
 */
#include "bits.h"
#include "slots.h"

void VF_NAME(wfs_decode_f16)(const void *src, float *dst, size_t n_elems)
{
    const uint8_t *s = src;
    size_t i = 0;

    for (; i + LANES <= n_elems; i += LANES) {
        vf v = vf_get_halves(s + 2 * i);

        if (vm_bits(vf_nan(v)))
            wfs_decode_f16_c(s + 2 * i, dst + i, LANES);
        else
            vf_store(dst + i, v);
    }
    wfs_decode_f16_c(s + 2 * i, dst + i, n_elems - i);
}

void VF_NAME(wfs_decode_bf16)(const void *src, float *dst, size_t n_elems)
{
    const uint8_t *s = src;
    size_t i = 0;

    for (; i + LANES <= n_elems; i += LANES)
        vf_store(dst + i, vi_floats(vi_shl(vi_get_words(s + 2 * i), 16)));
    wfs_decode_bf16_c(s + 2 * i, dst + i, n_elems - i);
}

void VF_NAME(wfs_dequantize_f16)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;
    size_t i = 0;

    for (; i + LANES <= n_elems; i += LANES)
        vf_store(dst + i, vf_get_halves(p + 2 * i));
    wfs_dequantize_f16_c(p + 2 * i, dst + i, n_elems - i);
}

void VF_NAME(wfs_dequantize_bf16)(const void *blocks, float *dst, size_t n_elems)
{
    VF_NAME(wfs_decode_bf16)(blocks, dst, n_elems);
}

void VF_NAME(wfs_encode_f16)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *d = dst;
    size_t i = 0;

    for (; i + LANES <= n_elems; i += LANES) {
        vf v = vf_load(src + i);

        if (vm_bits(vf_nan(v)))
            wfs_encode_f16_c(src + i, d + 2 * i, LANES);
        else
            vf_put_halves(d + 2 * i, v);
    }
    wfs_encode_f16_c(src + i, d + 2 * i, n_elems - i);
}

void VF_NAME(wfs_encode_bf16)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *d = dst;
    size_t i = 0;

    for (; i + LANES <= n_elems; i += LANES) {
        vf v = vf_load(src + i);
        vi bits = vf_bits(v), odd = vi_and(vi_shr(bits, 16), vi_set(1));

        if (vm_bits(vf_nan(v)))
            wfs_encode_bf16_c(src + i, d + 2 * i, LANES);
        else
            vi_put_words(d + 2 * i, vi_shr(vi_add(bits, vi_add(odd, vi_set(0x7fff))), 16));
    }
    wfs_encode_bf16_c(src + i, d + 2 * i, n_elems - i);
}
