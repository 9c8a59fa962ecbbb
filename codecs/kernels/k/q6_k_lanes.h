/*
 * Template of Q6_K for one instruction set; include a lanes_*.h first. The search goes sub-block by lane
 * (symmetric_lanes.h); superblocks that it leaves aside go to plain C.
 */
#include "q6_k.h"
#include "slots.h"
#include "symmetric_lanes.h"

enum { HALF = 32 }; /* the levels are -32 to 31 */

/* False: left to plain C. importance NULL: each value weighs its square. */
static inline bool encode_super(const float *x, const float *importance, uint8_t *block)
{
    struct symmetric_lanes s;
    struct symmetric_found found;
    float d[Q6_K_SUBS];
    uint8_t q[Q6_K_ELEMS];

    for (int j = 0; j < Q6_K_SUBS; j += LANES) {
        k_load_subs(x + Q6_K_SUB * j, Q6_K_SUB, s.x);
        if (importance)
            k_load_subs(importance + Q6_K_SUB * j, Q6_K_SUB, s.w);
        for (int i = 0; i < Q6_K_SUB && !importance; i++)
            s.w[i] = vf_mul(s.x[i], s.x[i]);
        symmetric_run(&s, HALF);
        symmetric_store(&s, &found, j);
    }
    if (symmetric_odd(&found, 0, Q6_K_SUBS))
        return false;
    if (!q6_k_put_scales(block, found.scale, d))
        return true;
    symmetric_put_levels(x, d, HALF, &found, 0, q);
    q6_k_put_levels(block, q);
    return true;
}

void VF_NAME(wfs_encode_q6_k)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += Q6_K_ELEMS, block += Q6_K_BYTES) {
        if (!encode_super(src + i, NULL, block))
            wfs_encode_q6_k_c(src + i, block, Q6_K_ELEMS);
    }
}

void VF_NAME(wfs_encode_weighted_q6_k)(const float *src, const float *weights, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t i = 0; i < n_elems; i += Q6_K_ELEMS, block += Q6_K_BYTES) {
        if (!encode_super(src + i, weights + i, block))
            wfs_encode_weighted_q6_k_c(src + i, weights + i, block, Q6_K_ELEMS);
    }
}
