/*
 * Q4_0 to Q5_1 with importance weights, in plain C: the searches of Q6_K and of Q4_K, over blocks of 32, with weights
 * that know the row. Source: quantize_row_q4_0_impl, ... q5_1_impl of ggml-quants.c.
 */
#include "../k/affine_search.h"
#include "../k/symmetric_search.h"
#include "legacy.h"
#include "slots.h"
#include "weighted.h"

static void weigh(const float *x, const float *importance, float mean_square, float w[LEGACY_ELEMS])
{
    for (int i = 0; i < LEGACY_ELEMS; i++)
        w[i] = importance[i] * __builtin_sqrtf(mean_square + x[i] * x[i]);
}

/* A NaN (which validation refuses) gets no sign: compilers differ in it. */
static void put_scale(uint8_t *p, float d)
{
    put_u16(p, d != d ? 0x7e00 : f16_of(d));
}

void wfs_encode_weighted_q4_0_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    float mean_square = legacy_mean_square(src, n_elems), w[Q4_ELEMS];
    uint8_t *block = dst, q[Q4_ELEMS];

    for (size_t i = 0; i < n_elems; i += Q4_ELEMS, block += Q4_0_BYTES) {
        weigh(src + i, weights + i, mean_square, w);
        put_scale(block, symmetric_find_n(src + i, w, Q4_ELEMS, 8, q));
        legacy_put_nibbles(q, block + Q4_0_QS);
    }
}

void wfs_encode_weighted_q5_0_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    float mean_square = legacy_mean_square(src, n_elems), w[Q5_ELEMS];
    uint8_t *block = dst, q[Q5_ELEMS];

    for (size_t i = 0; i < n_elems; i += Q5_ELEMS, block += Q5_0_BYTES) {
        weigh(src + i, weights + i, mean_square, w);
        put_scale(block, symmetric_find_n(src + i, w, Q5_ELEMS, 16, q));
        legacy_put_fives(q, block + Q5_0_QH, block + Q5_0_QS);
    }
}

/* Scale and minimum at block; the levels are those of the search. */
static void find_affine(const struct affine *s, const float *x, const float *importance, float mean_square,
                        uint8_t *block, uint8_t q[LEGACY_ELEMS])
{
    float w[LEGACY_ELEMS], min;

    weigh(x, importance, mean_square, w);
    put_scale(block, affine_find(s, x, w, q, &min));
    put_scale(block + Q4_1_M, -min);
}

void wfs_encode_weighted_q4_1_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    float mean_square = legacy_mean_square(src, n_elems);
    uint8_t *block = dst, q[Q4_ELEMS];

    for (size_t i = 0; i < n_elems; i += Q4_ELEMS, block += Q4_1_BYTES) {
        find_affine(&q4_k_weighted, src + i, weights + i, mean_square, block, q);
        legacy_put_nibbles(q, block + Q4_1_QS);
    }
}

void wfs_encode_weighted_q5_1_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    float mean_square = legacy_mean_square(src, n_elems);
    uint8_t *block = dst, q[Q5_ELEMS];

    for (size_t i = 0; i < n_elems; i += Q5_ELEMS, block += Q5_1_BYTES) {
        find_affine(&q5_k_weighted, src + i, weights + i, mean_square, block, q);
        legacy_put_fives(q, block + Q5_1_QH, block + Q5_1_QS);
    }
}
