/*
 * Template of Q8_0 for one instruction set; include a lanes_*.h first. The largest magnitude is the same whatever the
 * order, unless there is a NaN: such blocks are left to plain C.
 */
#include "../bits.h"
#include "../blocks.h"
#include "slots.h"

void VF_NAME(wfs_encode_q8_0)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;
    vi sign = vi_set(INT32_MIN), half = vf_bits(vf_set(0x1.fffffep-2f)); /* the largest float below 0.5 */

    for (size_t b = 0; b < n_elems / Q8_0_ELEMS; b++, src += Q8_0_ELEMS, block += Q8_0_BYTES) {
        vi largest = vi_set(0);
        float amax, d;
        vf inverse;

        for (int i = 0; i < Q8_0_ELEMS; i += LANES) /* magnitudes order like their bits; NaNs come after infinity */
            largest = vi_max_u(largest, vf_bits(vf_abs(vf_load(src + i))));
        amax = float_of(vi_reduce_max_u(largest));
        if (amax != amax) {
            wfs_encode_q8_0_c(src, block, Q8_0_ELEMS);
            continue;
        }
        d = amax / 127.0f;
        inverse = vf_set(d != 0 ? 1.0f / d : 0);
        put_u16(block, (uint16_t)_cvtss_sh(d, _MM_FROUND_TO_NEAREST_INT));
        for (int i = 0; i < Q8_0_ELEMS; i += LANES) {
            vf v = vf_mul(vf_load(src + i), inverse);
            /* halves away from zero: add the float below a half towards the sign, then cut */
            vf away = vi_floats(vi_or(half, vi_and(vf_bits(v), sign)));

            vi_put_bytes(block + Q8_0_QS + i, vf_trunc(vf_add(v, away)));
        }
    }
}
