/*
 * Template of Q3_K for one instruction set; include a lanes_*.h first. The searches go sub-block by lane
 * (refine_lanes.h; with importance weights symmetric_lanes.h, then block by lane for the scales); what they leave aside
 * goes to plain C.
 */
#include "q3_k.h"
#include "refine_lanes.h"
#include "slots.h"

enum { HALF = 4, SCALE_HALF = 32 }; /* the levels are -4 to 3, those of the scales -32 to 31 */

static inline void q3_k_put_block(const float *x, const float *d, const struct symmetric_found *found, int first,
                                  uint8_t *block)
{
    uint8_t q[Q3_K_ELEMS];

    for (int j = 0; j < Q3_K_SUBS; j++)
        symmetric_put_levels(x + Q3_K_SUB * j, d[j], HALF, found, first + j, q + Q3_K_SUB * j);
    q3_k_put_levels(block, q);
}

/* The levels of the search where the stored scale is 0, else those that it gives. */
static inline void q3_k_put_refined(const float *x, const float *d, const float *level, uint32_t tiny, uint8_t *block)
{
    uint8_t q[Q3_K_ELEMS];

    for (int j = 0; j < Q3_K_SUBS; j++) {
        const float *at = level + j / LANES * LANES * Q3_K_SUB + j % LANES;

        for (int i = 0; i < Q3_K_SUB && d[j] == 0; i++)
            q[Q3_K_SUB * j + i] = (uint8_t)(tiny >> j & 1 ? 0 : HALF + (int)at[i * LANES]);
        for (int i = 0; i < Q3_K_SUB && d[j] != 0; i += LANES) {
            vf v = vf_div(vf_load(x + Q3_K_SUB * j + i), vf_set(d[j]));

            vi_put_bytes(q + Q3_K_SUB * j + i, symmetric_level_of(v, HALF));
        }
    }
    q3_k_put_levels(block, q);
}

void VF_NAME(wfs_encode_q3_k)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems; b += Q3_K_ELEMS, src += Q3_K_ELEMS, block += Q3_K_BYTES) {
        struct refine_lanes s;
        float scales[Q3_K_SUBS], d[Q3_K_SUBS], level[Q3_K_ELEMS];
        uint32_t odd = 0, tiny = 0;

        for (int j = 0; j < Q3_K_SUBS; j += LANES) {
            vf iscale;
            k_load_subs(src + Q3_K_SUB * j, Q3_K_SUB, s.x);
            vf_store(scales + j, refine_run(&s, HALF, &iscale));
            odd |= vm_bits(s.odd);
            tiny |= vm_bits(s.tiny) << j;
            for (int i = 0; i < Q3_K_SUB; i++)
                vf_store(level + j * Q3_K_SUB + i * LANES, s.level[i]);
        }
        if (odd) {
            wfs_encode_q3_k_c(src, block, Q3_K_ELEMS);
            continue;
        }
        q3_k_put_scales(block, scales, d);
        q3_k_put_refined(src, d, level, tiny, block);
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
        symmetric_put_levels(found->scale + b * Q3_K_SUBS, 0, SCALE_HALF, ret, b, six[b]);
}

static void q3_k_weighted_batch(const float *x, const float *weights, uint8_t *dst, int n)
{
    struct symmetric_found found = { 0 }, scales; /* the lanes of blocks that are not there run too */
    float sums[LANES * Q3_K_SUBS] = { 0 }, d[Q3_K_SUBS];
    uint8_t six[BATCH][Q3_K_SUBS];

    q3_k_search_batch(x, weights, n, &found, sums);
    q3_k_scale_batch(&found, sums, &scales, six);
    for (int b = 0; b < n; b++, x += Q3_K_ELEMS, weights += Q3_K_ELEMS, dst += Q3_K_BYTES) {
        if (scales.odd[b] || symmetric_odd(&found, b * Q3_K_SUBS, Q3_K_SUBS)) {
            wfs_encode_weighted_q3_k_c(x, weights, dst, Q3_K_ELEMS);
            continue;
        }
        q3_k_put_found(dst, scales.scale[b], six[b], d);
        q3_k_put_block(x, d, &found, b * Q3_K_SUBS, dst);
    }
}

void VF_NAME(wfs_encode_weighted_q3_k)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    k_encode_batches(q3_k_weighted_batch, src, weights, dst, n_elems, Q3_K_BYTES);
}
