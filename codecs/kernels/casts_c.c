#include "bits.h"
#include "slots.h"

/* One source type: its C type, and the float's bits from a value v of it. */
#define DECODE(name, type, value)                                          \
    void wfs_decode_##name##_c(const void *src, float *dst, size_t n_elems) \
    {                                                                      \
        const uint8_t *s = src;                                            \
                                                                           \
        for (size_t i = 0; i < n_elems; i++) {                             \
            type v;                                                        \
            uint32_t bits;                                                 \
                                                                           \
            memcpy(&v, s + i * sizeof v, sizeof v);                        \
            bits = (value);                                                \
            memcpy(&dst[i], &bits, sizeof bits);                           \
        }                                                                  \
    }

/*
 * The small floats share one way: shifted to where float has exponent and mantissa, they are too small by a power of
 * two; the product is exact, subnormals included. The bits of their NaNs are those that torch gives.
 */
static inline uint32_t f8_scaled(uint8_t v, int mantissa_bits, float power)
{
    return (uint32_t)(v & 0x80u) << 24 | bits_of(float_of((uint32_t)(v & 0x7fu) << (23 - mantissa_bits)) * power);
}

static inline uint32_t f8_e4m3(uint8_t v)
{
    if ((v & 0x7fu) == 0x7fu)
        return (uint32_t)v << 24 | 0x7ff00000u;
    return f8_scaled(v, 3, 0x1p120f);
}

static inline uint32_t f8_e5m2(uint8_t v)
{
    uint32_t sign = (uint32_t)(v & 0x80u) << 24;

    if ((v & 0x7fu) > 0x7cu)
        return sign | 0x7fc00000u | (uint32_t)(v & 3u) << 21;
    if ((v & 0x7fu) == 0x7cu)
        return sign | 0x7f800000u;
    return f8_scaled(v, 2, 0x1p112f);
}

static inline uint32_t f8_fnuz(uint8_t v, int mantissa_bits, float power)
{
    return v == 0x80u ? 0x7f800001u : f8_scaled(v, mantissa_bits, power);
}

static inline uint32_t f8_e8m0(uint8_t v)
{
    return v == 0xffu ? 0x7f800001u : v == 0 ? 0x00400000u : (uint32_t)v << 23;
}

DECODE(bool, uint8_t, v ? 0x3f800000u : 0)
DECODE(i8, int8_t, bits_of((float)v))
DECODE(i16, int16_t, bits_of((float)v))
DECODE(i32, int32_t, bits_of((float)v))
DECODE(i64, int64_t, bits_of((float)v))
DECODE(u8, uint8_t, bits_of((float)v))
DECODE(u16, uint16_t, bits_of((float)v))
DECODE(u32, uint32_t, bits_of((float)v))
DECODE(u64, uint64_t, bits_of((float)v))
DECODE(f64, double, bits_of((float)v))
DECODE(f16, uint16_t, f16_widen(v))
DECODE(bf16, uint16_t, (uint32_t)v << 16)
DECODE(f8_e4m3, uint8_t, f8_e4m3(v))
DECODE(f8_e5m2, uint8_t, f8_e5m2(v))
DECODE(f8_e8m0, uint8_t, f8_e8m0(v))
DECODE(f8_e4m3fnuz, uint8_t, f8_fnuz(v, 3, 0x1p119f))
DECODE(f8_e5m2fnuz, uint8_t, f8_fnuz(v, 2, 0x1p111f))

void wfs_decode_f32_c(const void *src, float *dst, size_t n_elems)
{
    if (n_elems)
        memcpy(dst, src, n_elems * sizeof *dst);
}

void wfs_encode_f32_c(const float *src, void *dst, size_t n_elems)
{
    if (n_elems)
        memcpy(dst, src, n_elems * sizeof *src);
}

void wfs_encode_f16_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *d = dst;

    for (size_t i = 0; i < n_elems; i++)
        put_u16(d + 2 * i, f16_of(src[i]));
}

void wfs_encode_bf16_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *d = dst;

    for (size_t i = 0; i < n_elems; i++)
        put_u16(d + 2 * i, bf16_of(bits_of(src[i])));
}

void wfs_dequantize_f32_c(const void *blocks, float *dst, size_t n_elems)
{
    wfs_decode_f32_c(blocks, dst, n_elems);
}

/* Unlike the decoder it makes NaNs quiet. Source: ggml_fp16_to_fp32_row of ggml.c. */
void wfs_dequantize_f16_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;

    for (size_t i = 0; i < n_elems; i++) {
        float v = f16_scale(get_u16(p + 2 * i));

        memcpy(&dst[i], &v, sizeof v);
    }
}

void wfs_dequantize_bf16_c(const void *blocks, float *dst, size_t n_elems)
{
    wfs_decode_bf16_c(blocks, dst, n_elems);
}
