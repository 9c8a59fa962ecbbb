/*
 * Template of what the K types' encoders have in common for one instruction set; include a lanes_*.h first. Superblocks
 * are taken BATCH at a time: the searches of their sub-blocks fill registers, and so do those of their scales.
 */
#ifndef WFS_KERNELS_K_K_LANES_H
#define WFS_KERNELS_K_K_LANES_H

#include "importance.h"
#include "k.h"

#include <stddef.h>

enum { BATCH = LANES / 2, BATCH_MAX_SUBS = 16 };

/*
 * n (1 to BATCH) blocks; of x, and of weights if there are any, BATCH blocks may be read. weights NULL: without
 * importance weights.
 */
typedef void k_batch_fn(const float *x, const float *weights, uint8_t *dst, int n);

/* A row in batches; the last one, if it is not full, from a copy with zeros behind. */
static inline void k_encode_batches(k_batch_fn *encode, const float *x, const float *weights, uint8_t *dst,
                                    size_t n_elems, size_t block_bytes)
{
    float rest[BATCH * K_ELEMS], rest_weights[BATCH * K_ELEMS];
    size_t n_blocks = n_elems / K_ELEMS, b = 0;

    for (; b + BATCH <= n_blocks; b += BATCH)
        encode(x + b * K_ELEMS, weights ? weights + b * K_ELEMS : NULL, dst + b * block_bytes, BATCH);
    if (b == n_blocks)
        return;
    memset(rest, 0, sizeof rest);
    memcpy(rest, x + b * K_ELEMS, (n_blocks - b) * K_ELEMS * sizeof *rest);
    if (weights) {
        memset(rest_weights, 0, sizeof rest_weights);
        memcpy(rest_weights, weights + b * K_ELEMS, (n_blocks - b) * K_ELEMS * sizeof *rest);
    }
    encode(rest, weights ? rest_weights : NULL, dst + b * block_bytes, (int)(n_blocks - b));
}

/*
 * ggml's nearest_int as a float, wrapping included: the integer is in the mantissa of v + 1.5 * 2^23, which is taken
 * for one that begins at 2^23.
 */
static inline vf k_wrap_round(vf v)
{
    vi mantissa = vi_and(vf_bits(vf_add(v, vf_set(12582912))), vi_set(0x007fffff));

    return vf_sub(vi_floats(vi_or(mantissa, vi_set(0x4b000000))), vf_set(12582912));
}

/* LANES sub-blocks of `sub` values, one after the other, to one per lane. */
static inline void k_load_subs(const float *x, int sub, vf *ret)
{
    for (int i = 0; i < sub; i += LANES)
        vf_transpose(x + i, (size_t)sub, ret + i);
}

/* Times times the mean squares of a batch's blocks; their sums, each in order, go side by side. */
static inline void k_mean_squares(const float *x, float times, float ret[BATCH])
{
    for (int b = 0; b < BATCH; b += 2) {
        const float *y = x + b * K_ELEMS, *z = y + K_ELEMS;
        float sum_y = 0, sum_z = 0;

        for (int i = 0; i < K_ELEMS; i++) {
            sum_y += y[i] * y[i];
            sum_z += z[i] * z[i];
        }
        ret[b] = times * sum_y / K_ELEMS;
        ret[b + 1] = times * sum_z / K_ELEMS;
    }
}

/*
 * The weights of LANES sub-blocks, from number `at` of a batch with subs in a block, from their importances (in w) and
 * their blocks' mean squares.
 */
static inline void k_weigh_lanes(const vf *x, int sub, const float mean_squares[BATCH], int at, int subs, vf *w)
{
    float mean_square[LANES];
    vf m;

    for (int lane = 0; lane < LANES; lane++)
        mean_square[lane] = mean_squares[(at + lane) / subs];
    m = vf_load(mean_square);
    for (int i = 0; i < sub; i++)
        w[i] = vf_mul(w[i], vf_sqrt(vf_add(m, vf_mul(x[i], x[i]))));
}

#endif
