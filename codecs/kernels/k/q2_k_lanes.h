/*
 * Template of Q2_K for one instruction set; include a lanes_*.h first. The searches go sub-block by lane
 * (affine_lanes.h, importance_lanes.h); what they leave aside goes to plain C.
 */
#include "affine_lanes.h"
#include "q2_k.h"
#include "slots.h"

/* The searches of all sub-blocks of n blocks. */
static inline void q2_k_search_batch(const struct affine *p, const float *x, const float *weights, int n,
                                     struct affine_found *ret)
{
    struct affine_lanes s[GROUPS];
    float mean_squares[BATCH];

    if (weights)
        k_mean_squares(x, 1, mean_squares);
    for (int at = 0; at < n * Q2_K_SUBS; at += GROUPS * LANES) {
        for (int g = 0; g < GROUPS; g++) {
            int first = at + g * LANES;

            k_load_subs(x + first * Q2_K_SUB, Q2_K_SUB, s[g].x);
            if (weights) {
                k_load_subs(weights + first * Q2_K_SUB, Q2_K_SUB, s[g].w);
                k_weigh_lanes(s[g].x, Q2_K_SUB, mean_squares, first, Q2_K_SUBS, s[g].w);
                continue;
            }
            for (int i = 0; i < Q2_K_SUB; i++)
                s[g].w[i] = vf_abs(s[g].x[i]);
        }
        affine_run(p, s, ret, at, BATCH * Q2_K_SUBS);
    }
}

/* Block b of a batch, with the scales of a search by importance if there was one. False: left to plain C. */
static inline bool q2_k_put_block(const float *x, const struct affine_found *found, const struct positive_found *scales,
                                  int b, uint8_t *block)
{
    float d[Q2_K_SUBS], dmin[Q2_K_SUBS];
    int first = b * Q2_K_SUBS;
    uint8_t q[Q2_K_ELEMS], four[Q2_K_SUBS], four_min[Q2_K_SUBS];

    if (affine_odd(found, first, Q2_K_SUBS) || (scales && positive_odd(scales, b)))
        return false;
    if (scales) {
        positive_levels(scales, b, Q2_K_SUBS, four, four_min);
        q2_k_put_found(block, scales->scale[b], scales->scale[BATCH + b], four, four_min, d, dmin);
    } else {
        q2_k_put_scales(block, found->scale_min.x + first, found->scale_min.x + BATCH * Q2_K_SUBS + first, d, dmin);
    }
    for (int j = 0; j < Q2_K_SUBS; j++)
        affine_put_levels(&q2_k_plain, x + Q2_K_SUB * j, d[j], dmin[j], found, first + j, q + Q2_K_SUB * j);
    k_put_two_bits(block + Q2_K_QS, q);
    return true;
}

static void q2_k_batch(const float *x, const float *weights, uint8_t *dst, int n)
{
    struct affine_found found = { 0 }; /* the lanes of blocks that are not there run too */
    struct positive_found scales;

    if (weights) {
        q2_k_search_batch(&q2_k_weighted, x, weights, n, &found);
        positive_batch(&found.scale_min, Q2_K_SUBS, 15, &scales);
    } else {
        q2_k_search_batch(&q2_k_plain, x, NULL, n, &found);
    }
    for (int b = 0; b < n; b++, x += Q2_K_ELEMS, dst += Q2_K_BYTES) {
        if (q2_k_put_block(x, &found, weights ? &scales : NULL, b, dst))
            continue;
        if (weights)
            wfs_encode_weighted_q2_k_c(x, weights + b * Q2_K_ELEMS, dst, Q2_K_ELEMS);
        else
            wfs_encode_q2_k_c(x, dst, Q2_K_ELEMS);
    }
}

void VF_NAME(wfs_encode_q2_k)(const float *src, void *dst, size_t n_elems)
{
    k_encode_batches(q2_k_batch, src, NULL, dst, n_elems, Q2_K_BYTES);
}

void VF_NAME(wfs_encode_weighted_q2_k)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    k_encode_batches(q2_k_batch, src, weights, dst, n_elems, Q2_K_BYTES);
}
