#include "q6_k.h"
#include "slots.h"

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
    if (amax < Q6_K_TINY) {
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

static void encode_block(const float *x, uint8_t *block)
{
    float scales[Q6_K_SUBS], d[Q6_K_SUBS];
    uint8_t q[Q6_K_ELEMS];

    for (int j = 0; j < Q6_K_SUBS; j++)
        scales[j] = search(x + Q6_K_SUB * j, q + Q6_K_SUB * j);
    if (!q6_k_put_scales(block, scales, d))
        return;
    for (int i = 0; i < Q6_K_ELEMS; i++) {
        if (d[i / Q6_K_SUB] != 0) /* else the levels of the search stay */
            q[i] = (uint8_t)(32 + clamp_int(nearest_int(x[i] / d[i / Q6_K_SUB]), -32, 31));
    }
    q6_k_put_levels(block, q);
}

/* Source: quantize_row_q6_K_ref of ggml-quants.c. */
void wfs_encode_q6_k_c(const float *src, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / Q6_K_ELEMS; b++)
        encode_block(src + b * Q6_K_ELEMS, (uint8_t *)dst + b * Q6_K_BYTES);
}
