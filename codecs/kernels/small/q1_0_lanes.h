/*
 * Template of Q1_0 for one instruction set; include a lanes_*.h first. One block per lane, so that each lane adds the
 * magnitudes up in plain C's order.
 */
#include "../bits.h"
#include "../blocks.h"
#include "slots.h"

/* LANES blocks. */
static void q1_0_put_blocks(const float *x, uint8_t *block)
{
    float mean[LANES];
    vf sum = vf_set(0);

    for (int i = 0; i < Q1_0_ELEMS; i += LANES) {
        vf column[LANES];

        vf_transpose(x + i, Q1_0_ELEMS, column);
        for (int k = 0; k < LANES; k++)
            sum = vf_add(sum, vf_abs(column[k]));
    }
    vf_store(mean, vf_div(sum, vf_set(Q1_0_ELEMS)));
    for (int b = 0; b < LANES; b++, x += Q1_0_ELEMS, block += Q1_0_BYTES) {
        put_u16(block, f16_scale_of(mean[b]));
        for (int i = 0; i < Q1_0_ELEMS; i += 16) {
            uint32_t positive = 0;

            for (int k = 0; k < 16; k += LANES)
                positive |= vm_bits(vf_le(vf_set(0), vf_load(x + i + k))) << k;
            put_u16(block + Q1_0_QS + i / 8, (uint16_t)positive);
        }
    }
}

void VF_NAME(wfs_encode_q1_0)(const float *src, void *dst, size_t n_elems)
{
    size_t n_blocks = n_elems / Q1_0_ELEMS, b = 0;
    uint8_t *d = dst;

    for (; b + LANES <= n_blocks; b += LANES)
        q1_0_put_blocks(src + b * Q1_0_ELEMS, d + b * Q1_0_BYTES);
    if (b < n_blocks) { /* fewer than fill the lanes: the rest is zeros, whose blocks are dropped */
        float x[LANES * Q1_0_ELEMS] = { 0 };
        uint8_t blocks[LANES * Q1_0_BYTES];

        memcpy(x, src + b * Q1_0_ELEMS, (n_blocks - b) * Q1_0_ELEMS * sizeof *x);
        q1_0_put_blocks(x, blocks);
        memcpy(d + b * Q1_0_BYTES, blocks, (n_blocks - b) * Q1_0_BYTES);
    }
}

void VF_NAME(wfs_dequantize_q1_0)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q1_0_ELEMS; b++, dst += Q1_0_ELEMS, block += Q1_0_BYTES) {
        vf d = vf_set(half_value(get_u16(block))), minus_d = vf_neg(d);

        for (int i = 0; i < Q1_0_ELEMS; i += 16) {
            uint32_t positive = get_u16(block + Q1_0_QS + i / 8);

            for (int k = 0; k < 16; k += LANES)
                vf_store(dst + i + k, vf_pick(vm_of_bits(positive >> k), d, minus_d));
        }
    }
}
