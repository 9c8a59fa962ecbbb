/* Template of Q2_0 for one instruction set; include a lanes_*.h first. Blocks with a NaN are left to plain C. */
#include "../block_lanes.h"
#include "../blocks.h"
#include "slots.h"

/* Levels a byte each to two bits each, from the low end. */
static inline void q2_0_put_levels(const uint8_t q[Q2_0_ELEMS], uint8_t *qs)
{
    for (int i = 0; i < Q2_0_ELEMS / 4; i += 2) {
        uint64_t eight;

        memcpy(&eight, q + 4 * i, sizeof eight);
        eight |= eight >> 6 | eight >> 12 | eight >> 18; /* of each four bytes the lowest holds all */
        qs[i] = (uint8_t)eight;
        qs[i + 1] = (uint8_t)(eight >> 32);
    }
}

void VF_NAME(wfs_encode_q2_0)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst, q[Q2_0_ELEMS];

    for (size_t b = 0; b < n_elems / Q2_0_ELEMS; b++, src += Q2_0_ELEMS, block += Q2_0_BYTES) {
        uint32_t amax = lanes_amax(src, Q2_0_ELEMS);
        vf inverse;

        if (amax > 0x7f800000u) {
            wfs_encode_q2_0_c(src, block, Q2_0_ELEMS);
            continue;
        }
        put_u16(block, half_bits(float_of(amax)));
        inverse = vf_set(amax ? 1.0f / float_of(amax) : 0);
        for (int i = 0; i < Q2_0_ELEMS; i += LANES) {
            vi level = vi_add(lanes_round_away(vf_mul(vf_load(src + i), inverse)), vi_set(1));

            vi_put_bytes(q + i, vi_max(vi_min(level, vi_set(3)), vi_set(0)));
        }
        q2_0_put_levels(q, block + Q2_0_QS);
    }
}

void VF_NAME(wfs_dequantize_q2_0)(const void *blocks, float *dst, size_t n_elems)
{
    static const int32_t shifts[16] = { 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30 };
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q2_0_ELEMS; b++, dst += Q2_0_ELEMS, block += Q2_0_BYTES) {
        vf d = vf_set(half_value(get_u16(block)));

        for (int i = 0; i < Q2_0_ELEMS; i += 16) {
            int32_t sixteen;

            memcpy(&sixteen, block + Q2_0_QS + i / 4, sizeof sixteen);
            for (int k = 0; k < 16; k += LANES) {
                vi level = vi_and(vi_shr_each(vi_set(sixteen), vi_load(shifts + k)), vi_set(3));

                vf_store(dst + i + k, vf_mul(vf_of_ints(vi_sub(level, vi_set(1))), d));
            }
        }
    }
}
