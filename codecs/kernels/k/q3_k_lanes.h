/*
 * Template of Q3_K for one instruction set; include a lanes_*.h first. The searches go sub-block by lane
 * (refine_lanes.h; with importance weights symmetric_lanes.h, then block by lane for the scales); what they leave aside
 * goes to plain C.
 */
#include "q3_k_levels_lanes.h"
#include "slots.h"

enum { HALF = 4, SCALE_HALF = 32 }; /* the levels are -4 to 3, those of the scales -32 to 31 */

/* The levels of block b by exact quotients; its scales are there. */
static inline void q3_k_put_exact_levels(const float *x, const struct refine_found *found, int b, uint8_t *block)
{
    uint8_t q[Q3_K_ELEMS];

    for (int j = 0; j < Q3_K_SUBS; j++) {
        float d = k_get_scale(block + Q3_K_D) * (float)q3_k_scale(block + Q3_K_SCALES, j);

        if (d == 0 && found->moving[b] >> j & 1) { /* it keeps the levels of the search, which may have moved */
            wfs_encode_q3_k_c(x, block, Q3_K_ELEMS);
            return;
        }
        symmetric_put_exact(x + Q3_K_SUB * j, d, HALF, found->level_iscale[b * Q3_K_SUBS + j], found->tiny[b] >> j & 1,
                            q + Q3_K_SUB * j);
    }
    q3_k_put_levels(block, q);
}

/* n blocks, at most REFINE_BLOCKS. */
static void q3_k_batch(const float *x, uint8_t *dst, int n)
{
    struct refine_found found;
    struct q3_k_scales scales = { .odd = 0 };

    memset(found.scale, 0, sizeof found.scale); /* the lanes of blocks that are not there run too */
    refine_run(x, n, HALF, &found);
    for (int b = 0; b < n; b += LANES)
        q3_k_scale_lanes(found.scale, &scales, b);
    for (int b = 0; b < n; b++, x += Q3_K_ELEMS, dst += Q3_K_BYTES) {
        if (found.odd[b] || scales.odd >> b & 1) {
            wfs_encode_q3_k_c(x, dst, Q3_K_ELEMS);
            continue;
        }
        for (int i = 0; i < 3; i++)
            memcpy(dst + Q3_K_SCALES + 4 * i, &scales.six_bits[i][b], 4);
        put_u16(dst + Q3_K_D, scales.d[b]);
        if (scales.exact >> b & 1 || !q3_k_put_level_lanes(x, &scales.inverse[0][b], dst))
            q3_k_put_exact_levels(x, &found, b, dst);
    }
}

void VF_NAME(wfs_encode_q3_k)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += REFINE_BLOCKS * Q3_K_ELEMS, block += REFINE_BLOCKS * Q3_K_BYTES) {
        size_t n = (n_elems - i) / Q3_K_ELEMS;

        q3_k_batch(src + i, block, n < REFINE_BLOCKS ? (int)n : REFINE_BLOCKS);
    }
}

/* The searches of all sub-blocks of n blocks; weights: their sums, for the next search. */
static inline void q3_k_search_batch(const float *x, const float *weights, int n, struct symmetric_found *ret,
                                     float *ret_weights)
{
    struct symmetric_lanes s;
    float mean_squares[BATCH];

    k_mean_squares(x, 2, mean_squares);
    for (int at = 0; at < n * Q3_K_SUBS; at += LANES) {
        vf sum = vf_set(0);

        k_load_subs(x + at * Q3_K_SUB, Q3_K_SUB, s.x);
        k_load_subs(weights + at * Q3_K_SUB, Q3_K_SUB, s.w);
        k_weigh_lanes(s.x, Q3_K_SUB, mean_squares, at, Q3_K_SUBS, s.w);
        for (int i = 0; i < Q3_K_SUB; i++)
            sum = vf_add(sum, s.w[i]);
        vf_store(ret_weights + at, sum);
        symmetric_run(&s, HALF);
        symmetric_store(&s, ret, at);
    }
}

/* The block scales from those of the sub-blocks, a block per lane, and what these are stored as. */
static inline void q3_k_scale_batch(const struct symmetric_found *found, const float *weights,
                                    struct symmetric_found *ret, uint8_t six[BATCH][Q3_K_SUBS])
{
    struct symmetric_lanes s;

    k_load_subs(found->scale, Q3_K_SUBS, s.x);
    k_load_subs(weights, Q3_K_SUBS, s.w);
    symmetric_run(&s, SCALE_HALF);
    symmetric_store(&s, ret, 0);
    for (int b = 0; b < BATCH; b++)
        symmetric_put_exact(found->scale + b * Q3_K_SUBS, 0, SCALE_HALF, ret->level_iscale[b], ret->tiny[b], six[b]);
}

static void q3_k_weighted_batch(const float *x, const float *weights, uint8_t *dst, int n)
{
    struct symmetric_found found = { 0 }, scales; /* the lanes of blocks that are not there run too */
    float sums[LANES * Q3_K_SUBS] = { 0 }, d[Q3_K_SUBS];
    uint8_t six[BATCH][Q3_K_SUBS], q[Q3_K_ELEMS];

    q3_k_search_batch(x, weights, n, &found, sums);
    q3_k_scale_batch(&found, sums, &scales, six);
    for (int b = 0; b < n; b++, x += Q3_K_ELEMS, weights += Q3_K_ELEMS, dst += Q3_K_BYTES) {
        if (scales.odd[b] || symmetric_odd(&found, b * Q3_K_SUBS, Q3_K_SUBS)) {
            wfs_encode_weighted_q3_k_c(x, weights, dst, Q3_K_ELEMS);
            continue;
        }
        q3_k_put_found(dst, scales.scale[b], six[b], d);
        symmetric_put_levels(x, d, HALF, &found, b * Q3_K_SUBS, q);
        q3_k_put_levels(dst, q);
    }
}

void VF_NAME(wfs_encode_weighted_q3_k)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    k_encode_batches(q3_k_weighted_batch, src, weights, dst, n_elems, Q3_K_BYTES);
}
