/*
 * Template of Q4_K and Q5_K for one instruction set; include a lanes_*.h first. The searches go sub-block by lane
 * (affine_lanes.h, importance_lanes.h); what they leave aside goes to plain C.
 */
#include "affine_lanes.h"
#include "q4_k.h"
#include "slots.h"

/* Root mean square plus magnitude. */
static inline void q4_k_weigh(struct affine_lanes *s)
{
    vf sum_x2 = vf_mul(s->x[0], s->x[0]), rms;

    for (int i = 1; i < Q4_K_SUB; i++)
        sum_x2 = vf_add(sum_x2, vf_mul(s->x[i], s->x[i]));
    rms = vf_sqrt(vf_div(sum_x2, vf_set(Q4_K_SUB)));
    for (int i = 0; i < Q4_K_SUB; i++)
        s->w[i] = vf_add(rms, vf_abs(s->x[i]));
}

/* The searches of all sub-blocks of n blocks. */
static inline void q4_k_search_batch(const struct affine *p, const float *x, const float *weights, int n,
                                     struct affine_found *ret)
{
    struct affine_lanes s[GROUPS];
    float mean_squares[BATCH];

    if (weights)
        k_mean_squares(x, 2, mean_squares);
    for (int at = 0; at < n * Q4_K_SUBS; at += GROUPS * LANES) {
        for (int g = 0; g < GROUPS; g++) {
            int first = at + g * LANES;

            k_load_subs(x + first * Q4_K_SUB, Q4_K_SUB, s[g].x);
            if (weights) {
                k_load_subs(weights + first * Q4_K_SUB, Q4_K_SUB, s[g].w);
                k_weigh_lanes(s[g].x, Q4_K_SUB, mean_squares, first, Q4_K_SUBS, s[g].w);
            } else {
                q4_k_weigh(&s[g]);
            }
        }
        affine_run(p, s, ret, at, BATCH * Q4_K_SUBS);
    }
}

/* Scales and levels of block b of a batch; q: its levels. False: left to plain C. */
static inline bool q4_k_put_block(const struct affine *p, const float *x, const struct affine_found *found,
                                  const struct positive_found *scales, int b, uint8_t *block, uint8_t *q)
{
    float d[Q4_K_SUBS], dmin[Q4_K_SUBS];
    int first = b * Q4_K_SUBS;
    uint8_t six[Q4_K_SUBS], six_min[Q4_K_SUBS];

    if (affine_odd(found, first, Q4_K_SUBS) || (scales && positive_odd(scales, b)))
        return false;
    if (scales) {
        positive_levels(scales, b, Q4_K_SUBS, six, six_min);
        q4_k_put_found(block, scales->scale[b], scales->scale[BATCH + b], six, six_min, d, dmin);
    } else {
        q4_k_put_scales(block, found->scale_min.x + first, found->scale_min.x + BATCH * Q4_K_SUBS + first, d, dmin);
    }
    for (int j = 0; j < Q4_K_SUBS; j++)
        affine_put_levels(p, x + Q4_K_SUB * j, d[j], dmin[j], found, first + j, q + Q4_K_SUB * j);
    return true;
}

static void q4_k_batch(const float *x, const float *weights, uint8_t *dst, int n)
{
    struct affine_found found = { 0 }; /* the lanes of blocks that are not there run too */
    struct positive_found scales;
    uint8_t q[Q4_K_ELEMS];

    if (weights) {
        q4_k_search_batch(&q4_k_weighted, x, weights, n, &found);
        positive_batch(&found.scale_min, Q4_K_SUBS, 63, &scales);
    } else {
        q4_k_search_batch(&q4_k_plain, x, NULL, n, &found);
    }
    for (int b = 0; b < n; b++, x += Q4_K_ELEMS, dst += Q4_K_BYTES) {
        if (q4_k_put_block(&q4_k_plain, x, &found, weights ? &scales : NULL, b, dst, q))
            q4_k_put_nibbles(dst + Q4_K_QS, q);
        else if (weights)
            wfs_encode_weighted_q4_k_c(x, weights + b * Q4_K_ELEMS, dst, Q4_K_ELEMS);
        else
            wfs_encode_q4_k_c(x, dst, Q4_K_ELEMS);
    }
}

static void q5_k_batch(const float *x, const float *weights, uint8_t *dst, int n)
{
    struct affine_found found = { 0 }; /* the lanes of blocks that are not there run too */
    struct positive_found scales;
    uint8_t q[Q4_K_ELEMS];

    if (weights) {
        q4_k_search_batch(&q5_k_weighted, x, weights, n, &found);
        positive_batch(&found.scale_min, Q4_K_SUBS, 63, &scales);
    } else {
        q4_k_search_batch(&q5_k_plain, x, NULL, n, &found);
    }
    for (int b = 0; b < n; b++, x += Q4_K_ELEMS, dst += Q5_K_BYTES) {
        if (q4_k_put_block(&q5_k_plain, x, &found, weights ? &scales : NULL, b, dst, q)) {
            q4_k_put_nibbles(dst + Q5_K_QS, q);
            k_put_one_bit(dst + Q5_K_QH, q, 4);
        } else if (weights) {
            wfs_encode_weighted_q5_k_c(x, weights + b * Q4_K_ELEMS, dst, Q4_K_ELEMS);
        } else {
            wfs_encode_q5_k_c(x, dst, Q4_K_ELEMS);
        }
    }
}

void VF_NAME(wfs_encode_q4_k)(const float *src, void *dst, size_t n_elems)
{
    k_encode_batches(q4_k_batch, src, NULL, dst, n_elems, Q4_K_BYTES);
}

void VF_NAME(wfs_encode_weighted_q4_k)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    k_encode_batches(q4_k_batch, src, weights, dst, n_elems, Q4_K_BYTES);
}

void VF_NAME(wfs_encode_q5_k)(const float *src, void *dst, size_t n_elems)
{
    k_encode_batches(q5_k_batch, src, NULL, dst, n_elems, Q5_K_BYTES);
}

void VF_NAME(wfs_encode_weighted_q5_k)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    k_encode_batches(q5_k_batch, src, weights, dst, n_elems, Q5_K_BYTES);
}
