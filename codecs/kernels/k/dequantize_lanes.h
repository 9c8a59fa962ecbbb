/*
 * Template of Q2_K to Q6_K back to float for one instruction set; include a lanes_*.h first. Each value is that of
 * dequantize_row_*: what a level is worth times the level, less the min.
 */
#include "k.h"
#include "q2_k.h"
#include "q3_k.h"
#include "q4_k.h"
#include "slots.h"

/* LANES values from their levels. */
static inline void put_values(float *dst, vi levels, float worth)
{
    vf_store(dst, vf_mul(vf_set(worth), vf_of_ints(levels)));
}

static inline void put_values_above(float *dst, vi levels, float worth, float min)
{
    vf_store(dst, vf_sub(vf_mul(vf_set(worth), vf_of_ints(levels)), vf_set(min)));
}

void VF_NAME(wfs_dequantize_q2_k)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks, *end = block + n_elems / Q2_K_ELEMS * Q2_K_BYTES;

    for (; block < end; block += Q2_K_BYTES, dst += Q2_K_ELEMS) {
        float all = k_get_scale(block + Q2_K_D), all_min = k_get_scale(block + Q2_K_DMIN);
        float d[Q2_K_SUBS], min[Q2_K_SUBS];

        for (int j = 0; j < Q2_K_SUBS; j++)
            q2_k_worth(block, all, all_min, j, &d[j], &min[j]);
        for (int i = 0; i < Q2_K_ELEMS / 4; i += LANES) { /* bytes i..; each holds values 32 apart */
            int first = i / 32 * 128 + i % 32;
            vi levels = vi_get_bytes(block + Q2_K_QS + i);

            for (int k = first; k < first + 128; k += 32, levels = vi_shr(levels, 2))
                put_values_above(dst + k, vi_and(levels, vi_set(3)), d[k / Q2_K_SUB], min[k / Q2_K_SUB]);
        }
    }
}

void VF_NAME(wfs_dequantize_q3_k)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks, *end = block + n_elems / Q3_K_ELEMS * Q3_K_BYTES;

    for (; block < end; block += Q3_K_BYTES, dst += Q3_K_ELEMS) {
        float all = k_get_scale(block + Q3_K_D), d[Q3_K_SUBS];

        for (int j = 0; j < Q3_K_SUBS; j++)
            d[j] = all * (float)q3_k_scale(block + Q3_K_SCALES, j);
        for (int i = 0; i < 32; i += LANES) { /* bytes i.. of the third bits, whose values are 32 apart */
            vi high = vi_shl(vi_get_bytes(block + Q3_K_HMASK + i), 2);

            for (int half = 0; half < 2; half++) {
                vi low = vi_get_bytes(block + Q3_K_QS + 32 * half + i);
                int first = 128 * half + i;

                for (int k = first; k < first + 128; k += 32, low = vi_shr(low, 2), high = vi_shr(high, 1)) {
                    vi level = vi_or(vi_and(low, vi_set(3)), vi_and(high, vi_set(4)));

                    put_values(dst + k, vi_sub(level, vi_set(4)), d[k / Q3_K_SUB]);
                }
            }
        }
    }
}

/* What the levels of Q4_K's and Q5_K's sub-blocks are worth, and what is taken off. */
static inline void get_worths(const uint8_t *block, float d[Q4_K_SUBS], float min[Q4_K_SUBS])
{
    float all = k_get_scale(block), all_min = k_get_scale(block + Q4_K_DMIN);
    uint8_t scale, m;

    for (int j = 0; j < Q4_K_SUBS; j++) {
        q4_k_get_scale_min(block + Q4_K_SCALES, j, &scale, &m);
        d[j] = all * (float)scale;
        min[j] = all_min * (float)m;
    }
}

void VF_NAME(wfs_dequantize_q4_k)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks, *end = block + n_elems / Q4_K_ELEMS * Q4_K_BYTES;
    float d[Q4_K_SUBS], min[Q4_K_SUBS];

    for (; block < end; block += Q4_K_BYTES, dst += Q4_K_ELEMS) {
        get_worths(block, d, min);
        for (int j = 0; j < Q4_K_SUBS; j += 2) {
            for (int i = 0; i < Q4_K_SUB; i += LANES) {
                vi pair = vi_get_bytes(block + Q4_K_QS + j / 2 * Q4_K_SUB + i);
                float *at = dst + j * Q4_K_SUB + i;

                put_values_above(at, vi_and(pair, vi_set(15)), d[j], min[j]);
                put_values_above(at + Q4_K_SUB, vi_shr(pair, 4), d[j + 1], min[j + 1]);
            }
        }
    }
}

void VF_NAME(wfs_dequantize_q5_k)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks, *end = block + n_elems / Q4_K_ELEMS * Q5_K_BYTES;
    float d[Q4_K_SUBS], min[Q4_K_SUBS];

    for (; block < end; block += Q5_K_BYTES, dst += Q4_K_ELEMS) {
        get_worths(block, d, min);
        for (int i = 0; i < Q4_K_SUB; i += LANES) {
            vi high = vi_shl(vi_get_bytes(block + Q5_K_QH + i), 4);

            for (int j = 0; j < Q4_K_SUBS; j += 2, high = vi_shr(high, 2)) {
                vi pair = vi_get_bytes(block + Q5_K_QS + j / 2 * Q4_K_SUB + i);
                vi one = vi_or(vi_and(pair, vi_set(15)), vi_and(high, vi_set(16)));
                vi other = vi_or(vi_shr(pair, 4), vi_and(vi_shr(high, 1), vi_set(16)));

                put_values_above(dst + j * Q4_K_SUB + i, one, d[j], min[j]);
                put_values_above(dst + (j + 1) * Q4_K_SUB + i, other, d[j + 1], min[j + 1]);
            }
        }
    }
}

void VF_NAME(wfs_dequantize_q6_k)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks, *end = block + n_elems / Q6_K_ELEMS * Q6_K_BYTES;

    for (; block < end; block += Q6_K_BYTES, dst += Q6_K_ELEMS) {
        float all = k_get_scale(block + Q6_K_D), d[Q6_K_SUBS];

        for (int j = 0; j < Q6_K_SUBS; j++)
            d[j] = all * (float)(int8_t)block[Q6_K_SCALES + j];
        for (int i = 0; i < Q6_K_ELEMS / 4; i += LANES) { /* bytes i.. of the upper bits, whose values are 32 apart */
            const uint8_t *qs = block + i / 32 * 64 + i % 32;
            vi high = vi_get_bytes(block + Q6_K_QH + i), low0 = vi_get_bytes(qs), low1 = vi_get_bytes(qs + 32);
            vi levels[4] = {
                vi_or(vi_and(low0, vi_set(15)), vi_shl(vi_and(high, vi_set(3)), 4)),
                vi_or(vi_and(low1, vi_set(15)), vi_shl(vi_and(high, vi_set(12)), 2)),
                vi_or(vi_shr(low0, 4), vi_and(high, vi_set(48))),
                vi_or(vi_shr(low1, 4), vi_shr(vi_and(high, vi_set(192)), 2)),
            };

            for (int k = 0; k < 4; k++) {
                int at = i / 32 * 128 + i % 32 + 32 * k;

                put_values(dst + at, vi_sub(levels[k], vi_set(32)), d[at / Q6_K_SUB]);
            }
        }
    }
}
