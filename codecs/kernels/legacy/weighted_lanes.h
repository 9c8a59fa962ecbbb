/*
 * Template of Q4_0 to Q5_1 with importance weights for one instruction set; include a lanes_*.h first. The searches go
 * block by lane (symmetric_lanes.h and affine_lanes.h of the K types); what they leave aside goes to plain C.
 */
#define SYMMETRIC_SUB 32
#include "../k/affine_lanes.h"
#include "../k/symmetric_lanes.h"
#include "slots.h"
#include "weighted.h"

enum { TOGETHER = GROUPS * LANES }; /* blocks at a time */

/* n (1 to TOGETHER) blocks; of x and importance TOGETHER blocks may be read. */
typedef void weighted_batch_fn(const float *x, const float *importance, float mean_square, uint8_t *dst, int n);

/* LANES blocks, one per lane, and their weights. */
static inline void weighted_load(const float *x, const float *importance, float mean_square, vf *ret_x, vf *ret_w)
{
    k_load_subs(x, LEGACY_ELEMS, ret_x);
    k_load_subs(importance, LEGACY_ELEMS, ret_w);
    for (int i = 0; i < LEGACY_ELEMS; i++)
        ret_w[i] = vf_mul(ret_w[i], vf_sqrt(vf_add(vf_set(mean_square), vf_mul(ret_x[i], ret_x[i]))));
}

static inline void weighted_symmetric(const float *x, const float *importance, float mean_square, int n, int half,
                                      struct symmetric_found *ret)
{
    struct symmetric_lanes s;

    for (int at = 0; at < n; at += LANES) {
        weighted_load(x + at * LEGACY_ELEMS, importance + at * LEGACY_ELEMS, mean_square, s.x, s.w);
        symmetric_run(&s, half);
        symmetric_store(&s, ret, at);
    }
}

static inline void weighted_affine(const struct affine *p, const float *x, const float *importance, float mean_square,
                                   struct affine_found *ret)
{
    struct affine_lanes s[GROUPS];

    for (int g = 0; g < GROUPS; g++) {
        int at = g * LANES * LEGACY_ELEMS;

        weighted_load(x + at, importance + at, mean_square, s[g].x, s[g].w);
    }
    affine_run(p, s, ret, 0, TOGETHER);
}

/* Scale and levels of block j of those found. False: left to plain C. */
static inline bool weighted_put_symmetric(const float *x, int half, const struct symmetric_found *found, int j,
                                          uint8_t *block, uint8_t q[LEGACY_ELEMS])
{
    if (found->odd[j])
        return false;
    legacy_put_found(block, found->scale[j]);
    symmetric_put_exact(x, 0, half, found->level_iscale[j], found->tiny[j], q);
    return true;
}

/* Likewise scale, min and levels. */
static inline bool weighted_put_affine(const struct affine *p, const float *x, const struct affine_found *found, int j,
                                       uint8_t *block, uint8_t q[LEGACY_ELEMS])
{
    if (found->odd[j])
        return false;
    legacy_put_found(block, found->scale_min.x[j]);
    legacy_put_found(block + Q4_1_M, -found->scale_min.x[TOGETHER + j]);
    affine_put_levels(p, x, 0, 0, found, j, q);
    return true;
}

static void q4_0_batch(const float *x, const float *importance, float mean_square, uint8_t *dst, int n)
{
    struct symmetric_found found;
    uint8_t q[Q4_ELEMS];

    weighted_symmetric(x, importance, mean_square, n, 8, &found);
    for (int j = 0; j < n; j++, x += Q4_ELEMS, importance += Q4_ELEMS, dst += Q4_0_BYTES) {
        if (weighted_put_symmetric(x, 8, &found, j, dst, q))
            legacy_put_nibbles(q, dst + Q4_0_QS);
        else
            wfs_weighted_block_q4_0_c(x, importance, mean_square, dst);
    }
}

static void q5_0_batch(const float *x, const float *importance, float mean_square, uint8_t *dst, int n)
{
    struct symmetric_found found;
    uint8_t q[Q5_ELEMS];

    weighted_symmetric(x, importance, mean_square, n, 16, &found);
    for (int j = 0; j < n; j++, x += Q5_ELEMS, importance += Q5_ELEMS, dst += Q5_0_BYTES) {
        if (weighted_put_symmetric(x, 16, &found, j, dst, q))
            legacy_put_fives(q, dst + Q5_0_QH, dst + Q5_0_QS);
        else
            wfs_weighted_block_q5_0_c(x, importance, mean_square, dst);
    }
}

static void q4_1_batch(const float *x, const float *importance, float mean_square, uint8_t *dst, int n)
{
    struct affine_found found;
    uint8_t q[Q4_ELEMS];

    weighted_affine(&q4_k_weighted, x, importance, mean_square, &found);
    for (int j = 0; j < n; j++, x += Q4_ELEMS, importance += Q4_ELEMS, dst += Q4_1_BYTES) {
        if (weighted_put_affine(&q4_k_weighted, x, &found, j, dst, q))
            legacy_put_nibbles(q, dst + Q4_1_QS);
        else
            wfs_weighted_block_q4_1_c(x, importance, mean_square, dst);
    }
}

static void q5_1_batch(const float *x, const float *importance, float mean_square, uint8_t *dst, int n)
{
    struct affine_found found;
    uint8_t q[Q5_ELEMS];

    weighted_affine(&q5_k_weighted, x, importance, mean_square, &found);
    for (int j = 0; j < n; j++, x += Q5_ELEMS, importance += Q5_ELEMS, dst += Q5_1_BYTES) {
        if (weighted_put_affine(&q5_k_weighted, x, &found, j, dst, q))
            legacy_put_fives(q, dst + Q5_1_QH, dst + Q5_1_QS);
        else
            wfs_weighted_block_q5_1_c(x, importance, mean_square, dst);
    }
}

/* A row in batches; the last one, if it is not full, from a copy with zeros behind. */
static inline void weighted_row(weighted_batch_fn *encode, size_t block_bytes, const float *x, const float *importance,
                                uint8_t *dst, size_t n_elems)
{
    enum { BATCH_ELEMS = TOGETHER * LEGACY_ELEMS };
    float mean_square = legacy_mean_square(x, n_elems), rest[BATCH_ELEMS] = { 0 }, rest_importance[BATCH_ELEMS] = { 0 };
    size_t i = 0;

    for (; i + BATCH_ELEMS <= n_elems; i += BATCH_ELEMS, dst += TOGETHER * block_bytes)
        encode(x + i, importance + i, mean_square, dst, TOGETHER);
    if (i == n_elems)
        return;
    memcpy(rest, x + i, (n_elems - i) * sizeof *rest);
    memcpy(rest_importance, importance + i, (n_elems - i) * sizeof *rest);
    encode(rest, rest_importance, mean_square, dst, (int)((n_elems - i) / LEGACY_ELEMS));
}

void VF_NAME(wfs_encode_weighted_q4_0)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    weighted_row(q4_0_batch, Q4_0_BYTES, src, weights, dst, n_elems);
}

void VF_NAME(wfs_encode_weighted_q4_1)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    weighted_row(q4_1_batch, Q4_1_BYTES, src, weights, dst, n_elems);
}

void VF_NAME(wfs_encode_weighted_q5_0)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    weighted_row(q5_0_batch, Q5_0_BYTES, src, weights, dst, n_elems);
}

void VF_NAME(wfs_encode_weighted_q5_1)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    weighted_row(q5_1_batch, Q5_1_BYTES, src, weights, dst, n_elems);
}
