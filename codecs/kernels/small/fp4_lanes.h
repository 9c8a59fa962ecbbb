/*
 * Template of MXFP4 and NVFP4 for one instruction set; include a lanes_*.h first.
 *
 * The nearest of the values k * d is found from the middles between neighbours, the lower magnitude winning a tie as it
 * does in ggml's search (its index is the lower one). That is the same in every bit as long as the search is not
 * fooled by rounding: k * d and the middles are exact, so are the differences at the middles (a float and one at most
 * twice as large), and magnitudes below 2^20 * d keep their differences to neighbouring values apart. Left to plain C:
 * NaN and infinity, and scales for which that does not hold.
 */
#include "../block_lanes.h"
#include "fp4.h"
#include "slots.h"

#include <stdbool.h>

static const float fp4_values[16] = { FP4_VALUES };

/* The middles times d; with d 0 everything is nearest to the first value. */
struct fp4_middles {
    vf at[7];
};

static inline struct fp4_middles fp4_middles_of(float d)
{
    static const float middles[7] = { 0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10 };
    struct fp4_middles ret;

    for (int i = 0; i < 7; i++)
        ret.at[i] = vf_mul(vf_set(middles[i]), vf_set(d != 0 ? d : __builtin_inff()));
    return ret;
}

static inline vi fp4_index_lanes(vf x, const struct fp4_middles *middles)
{
    vf a = vf_abs(x);
    vi one = vi_set(1), eight = vi_and(vi_shr(vf_bits(x), 28), vi_set(8));
    vi index = vm_ints(vf_gt(a, middles->at[0]), vi_or(one, eight));

    for (int i = 1; i < 7; i++)
        index = vi_add(index, vm_ints(vf_gt(a, middles->at[i]), one));
    return index;
}

/* Is the block to be left to plain C? amax as bits. Products with the scale must neither overflow nor lose bits. */
static inline bool mxfp4_odd(uint32_t amax)
{
    return amax && (amax < bits_of(0x1p-100f) || amax >= bits_of(0x1p126f));
}

void VF_NAME(wfs_encode_mxfp4)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / MXFP4_ELEMS; b++, src += MXFP4_ELEMS, block += MXFP4_BYTES) {
        uint32_t amax = lanes_amax(src, MXFP4_ELEMS);
        struct fp4_middles middles;
        uint8_t e;

        if (mxfp4_odd(amax)) {
            wfs_encode_mxfp4_c(src, block, MXFP4_ELEMS);
            continue;
        }
        block[MXFP4_E] = e = mxfp4_exponent(float_of(amax));
        middles = fp4_middles_of(mxfp4_scale(e));
        for (int i = 0; i < MXFP4_ELEMS / 2; i += LANES) {
            vi low = fp4_index_lanes(vf_load(src + i), &middles);
            vi high = fp4_index_lanes(vf_load(src + i + MXFP4_ELEMS / 2), &middles);

            vi_put_bytes(block + MXFP4_QS + i, vi_or(low, vi_shl(high, 4)));
        }
    }
}

/* Scale and values of a sub-block. False: left to plain C. */
static inline bool nvfp4_put_sub(const float *x, uint8_t *scale, uint8_t *qs)
{
    uint32_t amax = lanes_amax(x, NVFP4_SUB);
    struct fp4_middles middles;
    uint8_t index[NVFP4_SUB];
    uint64_t low, high;

    if (amax > bits_of(448.0f * 6)) /* the scale does not follow further */
        return false;
    *scale = nvfp4_scale_of(float_of(amax) / 6.0f);
    middles = fp4_middles_of(nvfp4_scale(*scale));
    for (int i = 0; i < NVFP4_SUB; i += LANES)
        vi_put_bytes(index + i, fp4_index_lanes(vf_load(x + i), &middles));
    memcpy(&low, index, sizeof low);
    memcpy(&high, index + NVFP4_SUB / 2, sizeof high);
    low |= high << 4;
    memcpy(qs, &low, sizeof low);
    return true;
}

void VF_NAME(wfs_encode_nvfp4)(const float *src, void *dst, size_t n_elems)
{
    uint8_t *block = dst;

    for (size_t b = 0; b < n_elems / NVFP4_ELEMS; b++, src += NVFP4_ELEMS, block += NVFP4_BYTES) {
        for (int s = 0; s < NVFP4_SUBS; s++) {
            if (!nvfp4_put_sub(src + NVFP4_SUB * s, block + NVFP4_D + s, block + NVFP4_QS + NVFP4_SUB / 2 * s)) {
                wfs_encode_nvfp4_c(src, block, NVFP4_ELEMS);
                break;
            }
        }
    }
}

void VF_NAME(wfs_dequantize_mxfp4)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;

    for (size_t b = 0; b < n_elems / MXFP4_ELEMS; b++, dst += MXFP4_ELEMS, block += MXFP4_BYTES) {
        vf d = vf_set(mxfp4_scale(block[MXFP4_E]));

        for (int i = 0; i < MXFP4_ELEMS / 2; i += LANES) {
            vi pair = vi_get_bytes(block + MXFP4_QS + i);

            vf_store(dst + i, vf_mul(vf_lookup(fp4_values, vi_and(pair, vi_set(15))), d));
            vf_store(dst + i + MXFP4_ELEMS / 2, vf_mul(vf_lookup(fp4_values, vi_shr(pair, 4)), d));
        }
    }
}

void VF_NAME(wfs_dequantize_nvfp4)(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *block = blocks;
    uint8_t index[NVFP4_ELEMS];

    for (size_t b = 0; b < n_elems / NVFP4_ELEMS; b++, dst += NVFP4_ELEMS, block += NVFP4_BYTES) {
        for (int s = 0; s < NVFP4_SUBS; s++) {
            uint64_t pairs, low, high;

            memcpy(&pairs, block + NVFP4_QS + 8 * s, sizeof pairs);
            low = pairs & 0x0f0f0f0f0f0f0f0fu;
            high = pairs >> 4 & 0x0f0f0f0f0f0f0f0fu;
            memcpy(index + NVFP4_SUB * s, &low, sizeof low);
            memcpy(index + NVFP4_SUB * s + 8, &high, sizeof high);
        }
        for (int i = 0; i < NVFP4_ELEMS; i += LANES)
            vf_store(dst + i, vf_mul(vf_lookup(fp4_values, vi_get_bytes(index + i)),
                                     vf_set(nvfp4_scale(block[NVFP4_D + i / NVFP4_SUB]))));
    }
}
