/*
 * Template of Q8_0 for one instruction set; include a lanes_*.h first. The largest magnitude is the same whatever the
 * order, unless there is a NaN: such blocks are left to plain C.
 */
#include "legacy_lanes.h"
#include "slots.h"

void VF_NAME(wfs_encode_q8_0)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / Q8_0_ELEMS; b++, src += Q8_0_ELEMS, block += Q8_0_BYTES) {
        float amax = float_of(lanes_amax(src, Q8_0_ELEMS)), d;
        vf inverse;

        if (amax != amax) {
            wfs_encode_q8_0_c(src, block, Q8_0_ELEMS);
            continue;
        }
        d = amax / 127.0f;
        inverse = vf_set(legacy_inverse(d));
        put_u16(block, half_bits(d));
        for (int i = 0; i < Q8_0_ELEMS; i += LANES)
            vi_put_bytes(block + Q8_0_QS + i, lanes_round_away(vf_mul(vf_load(src + i), inverse)));
    }
}

void VF_NAME(wfs_dequantize_q8_0)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / Q8_0_ELEMS; b++, dst += Q8_0_ELEMS, block += Q8_0_BYTES) {
        vf d = vf_set(half_value(get_u16(block)));

        for (int i = 0; i < Q8_0_ELEMS; i += LANES)
            vf_store(dst + i, vf_mul(vf_of_ints(vi_get_signed_bytes(block + Q8_0_QS + i)), d));
    }
}
