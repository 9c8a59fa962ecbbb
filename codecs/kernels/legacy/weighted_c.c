/*
 * Q4_0 to Q5_1 with importance weights, in plain C: the searches of Q6_K and of Q4_K, over blocks of 32, with weights
 * that know the row. Source: quantize_row_q4_0_impl, ... q5_1_impl of ggml-quants.c.
 */
#include "weighted.h"
#include "../k/affine_search.h"
#include "../k/symmetric_search.h"
#include "slots.h"

static void weigh(const float *x, const float *importance, float mean_square, float w[LEGACY_ELEMS])
{
    for (int i = 0; i < LEGACY_ELEMS; i++)
        w[i] = importance[i] * __builtin_sqrtf(mean_square + x[i] * x[i]);
}

static void find_symmetric(const float *x, const float *importance, float mean_square, int half, uint8_t *block,
                           uint8_t q[LEGACY_ELEMS])
{
    float w[LEGACY_ELEMS];

    weigh(x, importance, mean_square, w);
    legacy_put_found(block, symmetric_find_n(x, w, LEGACY_ELEMS, half, q));
}

static void find_affine(const struct affine *s, const float *x, const float *importance, float mean_square,
                        uint8_t *block, uint8_t q[LEGACY_ELEMS])
{
    float w[LEGACY_ELEMS], min;

    weigh(x, importance, mean_square, w);
    legacy_put_found(block, affine_find(s, x, w, q, &min));
    legacy_put_found(block + Q4_1_M, -min);
}

void wfs_weighted_block_q4_0_c(const float *x, const float *importance, float mean_square, uint8_t *block)
{
    uint8_t q[Q4_ELEMS];

    find_symmetric(x, importance, mean_square, 8, block, q);
    legacy_put_nibbles(q, block + Q4_0_QS);
}

void wfs_weighted_block_q5_0_c(const float *x, const float *importance, float mean_square, uint8_t *block)
{
    uint8_t q[Q5_ELEMS];

    find_symmetric(x, importance, mean_square, 16, block, q);
    legacy_put_fives(q, block + Q5_0_QH, block + Q5_0_QS);
}

void wfs_weighted_block_q4_1_c(const float *x, const float *importance, float mean_square, uint8_t *block)
{
    uint8_t q[Q4_ELEMS];

    find_affine(&q4_k_weighted, x, importance, mean_square, block, q);
    legacy_put_nibbles(q, block + Q4_1_QS);
}

void wfs_weighted_block_q5_1_c(const float *x, const float *importance, float mean_square, uint8_t *block)
{
    uint8_t q[Q5_ELEMS];

    find_affine(&q5_k_weighted, x, importance, mean_square, block, q);
    legacy_put_fives(q, block + Q5_1_QH, block + Q5_1_QS);
}

static void encode_row(wfs_weighted_block_fn *encode, size_t block_bytes, const float *src, const float *weights,
                       uint8_t *dst, size_t n_elems)
{
    float mean_square = legacy_mean_square(src, n_elems);

    for (size_t i = 0; i < n_elems; i += LEGACY_ELEMS, dst += block_bytes)
        encode(src + i, weights + i, mean_square, dst);
}

void wfs_encode_weighted_q4_0_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    encode_row(wfs_weighted_block_q4_0_c, Q4_0_BYTES, src, weights, dst, n_elems);
}

void wfs_encode_weighted_q4_1_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    encode_row(wfs_weighted_block_q4_1_c, Q4_1_BYTES, src, weights, dst, n_elems);
}

void wfs_encode_weighted_q5_0_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    encode_row(wfs_weighted_block_q5_0_c, Q5_0_BYTES, src, weights, dst, n_elems);
}

void wfs_encode_weighted_q5_1_c(const float *src, const float *weights, void *dst, size_t n_elems)
{
    encode_row(wfs_weighted_block_q5_1_c, Q5_1_BYTES, src, weights, dst, n_elems);
}
