#include "fp4.h"
#include "../values.h"
#include "slots.h"

static const float values[16] = { FP4_VALUES };

/* The first value that comes nearest, as the floats have it; 0 for a NaN. */
static uint8_t index_of(float x, float d)
{
    float least = abs_of(values[0] * d - x);
    uint8_t best = 0;

    for (uint8_t i = 1; i < 16; i++) {
        float error = abs_of(values[i] * d - x);

        if (error < least) {
            least = error;
            best = i;
        }
    }
    return best;
}

/* n values: the first half in the low nibbles, the second in the high ones. */
static void put_values(const float *x, int n, float d, uint8_t *qs)
{
    for (int i = 0; i < n / 2; i++)
        qs[i] = (uint8_t)(index_of(x[i], d) | index_of(x[i + n / 2], d) << 4);
}

static void get_values(const uint8_t *qs, int n, float d, float *dst)
{
    for (int i = 0; i < n / 2; i++) {
        dst[i] = values[qs[i] & 15] * d;
        dst[i + n / 2] = values[qs[i] >> 4] * d;
    }
}

/* Source: quantize_row_mxfp4_ref of ggml-quants.c. */
void wfs_encode_mxfp4_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / MXFP4_ELEMS; b++, src += MXFP4_ELEMS, block += MXFP4_BYTES) {
        uint8_t e = mxfp4_exponent(amax_of_numbers(src, MXFP4_ELEMS));

        block[MXFP4_E] = e;
        put_values(src, MXFP4_ELEMS, mxfp4_scale(e), block + MXFP4_QS);
    }
}

/* Source: quantize_row_nvfp4_ref. */
void wfs_encode_nvfp4_c(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / NVFP4_ELEMS; b++, block += NVFP4_BYTES) {
        for (int s = 0; s < NVFP4_SUBS; s++, src += NVFP4_SUB) {
            uint8_t e = nvfp4_scale_of(amax_of_numbers(src, NVFP4_SUB) / 6.0f);

            block[NVFP4_D + s] = e;
            put_values(src, NVFP4_SUB, nvfp4_scale(e), block + NVFP4_QS + NVFP4_SUB / 2 * s);
        }
    }
}

/* Source: dequantize_row_mxfp4. */
void wfs_dequantize_mxfp4_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / MXFP4_ELEMS; b++, dst += MXFP4_ELEMS, block += MXFP4_BYTES)
        get_values(block + MXFP4_QS, MXFP4_ELEMS, mxfp4_scale(block[MXFP4_E]), dst);
}

/* Source: dequantize_row_nvfp4. */
void wfs_dequantize_nvfp4_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / NVFP4_ELEMS; b++, block += NVFP4_BYTES) {
        for (int s = 0; s < NVFP4_SUBS; s++, dst += NVFP4_SUB)
            get_values(block + NVFP4_QS + NVFP4_SUB / 2 * s, NVFP4_SUB, nvfp4_scale(block[NVFP4_D + s]), dst);
    }
}
