#include "bits.h"
#include "blocks.h"
#include "slots.h"

#define TINY 1e-15f /* ggml's GROUP_MAX_EPS: anything smaller counts as zero */

/* The sums that give the least-squares scale for slope iscale, each value weighted by its square. */
static void sums(const float *x, float iscale, float *ret_xl, float *ret_l2)
{
    float xl = 0, l2 = 0;

    for (int i = 0; i < Q6_K_SUB; i++) {
        float l = (float)clamp_int(nearest_int(iscale * x[i]), -32, 31), w = x[i] * x[i];

        xl += w * x[i] * l;
        l2 += w * l * l;
    }
    *ret_xl = xl;
    *ret_l2 = l2;
}

/* The scale of one sub-block that explains most of it over 19 slopes. Source: make_qx_quants with rmse_type 1. */
static float search(const float *x, uint8_t *q)
{
    float amax = 0, max = 0, iscale, best_iscale, xl, l2, scale, best;

    for (int i = 0; i < Q6_K_SUB; i++) {
        if (abs_of(x[i]) > amax) {
            amax = abs_of(x[i]);
            max = x[i];
        }
    }
    if (amax < TINY) {
        memset(q, 0, Q6_K_SUB);
        return 0;
    }
    best_iscale = iscale = -32.0f / max;
    sums(x, iscale, &xl, &l2);
    scale = l2 != 0 ? xl / l2 : 0; /* a NaN is not zero */
    best = scale * xl;
    for (int step = -9; step <= 9; step++) {
        if (step == 0)
            continue;
        iscale = -(32.0f + 0.1f * (float)step) / max;
        sums(x, iscale, &xl, &l2);
        if (l2 > 0 && xl * xl > best * l2) {
            best_iscale = iscale;
            scale = xl / l2;
            best = scale * xl;
        }
    }
    for (int i = 0; i < Q6_K_SUB; i++)
        q[i] = (uint8_t)(32 + clamp_int(nearest_int(best_iscale * x[i]), -32, 31));
    return scale;
}

/* Per 128 values, of four runs of 32: nibbles of runs 0 and 2, then of 1 and 3; the upper two bits of all four. */
static void pack(const uint8_t q[Q6_K_ELEMS], uint8_t *block)
{
    for (int half = 0; half < 2; half++) {
        const uint8_t *h = q + 128 * half;

        for (int i = 0; i < 32; i++) {
            block[64 * half + i] = (uint8_t)((h[i] & 0x0f) | (h[i + 64] & 0x0f) << 4);
            block[64 * half + 32 + i] = (uint8_t)((h[i + 32] & 0x0f) | (h[i + 96] & 0x0f) << 4);
            block[Q6_K_QH + 32 * half + i] =
                (uint8_t)(h[i] >> 4 | h[i + 32] >> 4 << 2 | h[i + 64] >> 4 << 4 | h[i + 96] >> 4 << 6);
        }
    }
}

static void encode_block(const float *x, uint8_t *block)
{
    float scales[Q6_K_SUBS], max_abs = 0, max_scale = 0, iscale, d;
    uint8_t q[Q6_K_ELEMS];

    for (int j = 0; j < Q6_K_SUBS; j++) {
        scales[j] = search(x + Q6_K_SUB * j, q + Q6_K_SUB * j);
        if (abs_of(scales[j]) > max_abs) {
            max_abs = abs_of(scales[j]);
            max_scale = scales[j];
        }
    }
    if (max_abs < TINY) {
        memset(block, 0, Q6_K_BYTES);
        return;
    }
    iscale = -128.0f / max_scale;
    put_u16(block + Q6_K_D, f16_of(1 / iscale));
    for (int j = 0; j < Q6_K_SUBS; j++) {
        int32_t scale = nearest_int(iscale * scales[j]);

        block[Q6_K_SCALES + j] = (uint8_t)(scale < 127 ? scale : 127);
        d = float_of(f16_widen(get_u16(block + Q6_K_D))) * (float)(int8_t)block[Q6_K_SCALES + j];
        if (d == 0) /* keeps the levels of the search */
            continue;
        for (int i = Q6_K_SUB * j; i < Q6_K_SUB * (j + 1); i++)
            q[i] = (uint8_t)(32 + clamp_int(nearest_int(x[i] / d), -32, 31));
    }
    pack(q, block);
}

/* Source: quantize_row_q6_K_ref of ggml-quants.c. */
void wfs_encode_q6_k_c(const float *src, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / Q6_K_ELEMS; b++)
        encode_block(src + b * Q6_K_ELEMS, (uint8_t *)dst + b * Q6_K_BYTES);
}
