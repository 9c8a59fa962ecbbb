/*
 * Template of Q3_K for one instruction set; include a lanes_*.h first. The searches go sub-block by lane
 * (refine_lanes.h; with importance weights symmetric_lanes.h, then block by lane for the scales); what they leave aside
 * goes to plain C.
 */
#include "q3_k.h"
#include "refine_lanes.h"
#include "slots.h"

enum { HALF = 4, SCALE_HALF = 32 }; /* the levels are -4 to 3, those of the scales -32 to 31 */

/* The scales of a block from those of its sub-blocks, as q3_k_put_scales does it. */
static inline void q3_k_put_scale_lanes(uint8_t *block, const float scales[Q3_K_SUBS], float ret_d[Q3_K_SUBS])
{
    vf lowest = vf_set(-SCALE_HALF), highest = vf_set(SCALE_HALF - 1), amax = vf_set(0);
    float largest, iscale, d;
    uint32_t which = 0;
    uint8_t six[Q3_K_SUBS];

    for (int j = 0; j < Q3_K_SUBS; j += LANES)
        amax = vf_max(vf_abs(vf_load(scales + j)), amax);
    largest = vf_reduce_max(amax);
    if (!(largest > 0x1p-60f && largest < 0x1p60f)) {
        q3_k_put_scales(block, scales, ret_d);
        return;
    }
    for (int j = 0; j < Q3_K_SUBS; j += LANES)
        which |= vm_bits(vf_eq(vf_abs(vf_load(scales + j)), vf_set(largest))) << j;
    iscale = -SCALE_HALF / scales[__builtin_ctz(which)];
    d = k_put_scale(block + Q3_K_D, 1 / iscale);
    for (int j = 0; j < Q3_K_SUBS; j += LANES) {
        vf level = vf_round(vf_mul(vf_set(iscale), vf_load(scales + j)));

        level = vf_max(vf_min(level, highest), lowest);
        vf_store(ret_d + j, vf_mul(vf_set(d), level));
        vi_put_bytes(six + j, vf_trunc(vf_sub(level, lowest)));
    }
    q3_k_put_six_bits(block + Q3_K_SCALES, six);
}

/* Is there a sub-block whose stored scale is 0 (it has the levels of the search) and whose levels may have moved? */
static inline bool q3_k_keeps_moved(const float *d, const bool *moved)
{
    bool any = false;

    for (int j = 0; j < Q3_K_SUBS; j++)
        any |= (d[j] == 0) & moved[j];
    return any;
}

static void q3_k_batch(const float *x, const float *weights, uint8_t *dst, int n)
{
    struct symmetric_found found;
    struct refine_found refined;
    float d[Q3_K_SUBS];
    uint8_t q[Q3_K_ELEMS];

    (void)weights;
    refine_run(x, n * Q3_K_SUBS, HALF, &found, &refined);
    for (int b = 0; b < n; b++, x += Q3_K_ELEMS, dst += Q3_K_BYTES) {
        int first = b * Q3_K_SUBS;

        if (symmetric_odd(&found, first, Q3_K_SUBS)) {
            wfs_encode_q3_k_c(x, dst, Q3_K_ELEMS);
            continue;
        }
        q3_k_put_scale_lanes(dst, found.scale + first, d);
        if (q3_k_keeps_moved(d, refined.moved + first)) {
            wfs_encode_q3_k_c(x, dst, Q3_K_ELEMS);
            continue;
        }
        symmetric_put_levels(x, d, HALF, &found, first, q);
        q3_k_put_levels(dst, q);
    }
}

void VF_NAME(wfs_encode_q3_k)(const float *src, void *dst, size_t n_elems)
{
    k_encode_batches(q3_k_batch, src, NULL, dst, n_elems, Q3_K_BYTES);
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
        symmetric_put_exact(found->scale + b * Q3_K_SUBS, 0, SCALE_HALF, ret, b, six[b]);
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
