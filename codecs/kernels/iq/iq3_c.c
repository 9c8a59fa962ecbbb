#include "../validate.h"
#include "grid_search.h"
#include "slots.h"

static void put_xxs(uint8_t *block, const uint16_t *numbers, const uint8_t *signs, const uint8_t *scales)
{
    for (int i = 0; i < 64; i++)
        block[IQ3_XXS_QS + i] = (uint8_t)numbers[i];
    for (int j = 0; j < 8; j++) {
        uint32_t rest = (uint32_t)scales[j] << 28;

        for (int i = 0; i < 4; i++)
            rest |= (signs[4 * j + i] & 127u) << 7 * i;
        memcpy(block + IQ3_XXS_SIGNS + 4 * j, &rest, sizeof rest);
    }
}

static void put_s(uint8_t *block, const uint16_t *numbers, const uint8_t *signs, const uint8_t *scales)
{
    for (int i = 0; i < 64; i++) {
        block[IQ3_S_QS + i] = (uint8_t)numbers[i];
        block[IQ3_S_QH + i / 8] |= (uint8_t)(numbers[i] >> 8 << i % 8);
    }
    memcpy(block + IQ3_S_SIGNS, signs, 32);
    for (int j = 0; j < 4; j++)
        block[IQ3_S_SCALES + j] = (uint8_t)(scales[2 * j] | scales[2 * j + 1] << 4);
}

/*
 * ggml does not go on in its low bytes and signs when a sub-block is all zeros: the next one's come in their place. The
 * high bits and the scales stay where they belong.
 */
static void close_up_s(uint8_t *block, unsigned zero)
{
    int to = 0;

    for (int j = 0; j < 8; j++) {
        if (zero >> j & 1)
            continue;
        memmove(block + IQ3_S_QS + 8 * to, block + IQ3_S_QS + 8 * j, 8);
        memmove(block + IQ3_S_SIGNS + 4 * to, block + IQ3_S_SIGNS + 4 * j, 4);
        to++;
    }
    memset(block + IQ3_S_QS + 8 * to, 0, (size_t)(64 - 8 * to));
    memset(block + IQ3_S_SIGNS + 4 * to, 0, (size_t)(32 - 4 * to));
}

const struct iq_kind wfs_iq3_xxs_kind = {
    .grid = wfs_iq3_xxs_grid, .put = put_xxs, .bytes = IQ3_XXS_BYTES, .sub = 32, .group = 4, .bits = 4, .levels = 8,
    .steps = 15, .step = 0.2f, .tiny = IQ_TINY_S, .spread = 2, .fudge = 1.0125f, .again = IQ_AGAIN_OFF_GRID,
    .even = true,
};
const struct iq_kind wfs_iq3_s_kind = {
    .grid = wfs_iq3_s_grid, .put = put_s,
    .close_up = close_up_s, .bytes = IQ3_S_BYTES, .sub = 32, .group = 4, .bits = 4, .levels = 8,
    .steps = 9, .step = 0.2f, .spread = 2, .fudge = 1.033f, .again = IQ_AGAIN_ALL_IF_ANY_OFF_GRID, .keep = true,
};

/* The codes of eight values into floats. values: what a level is worth, times scale. */
static void put_eight(unsigned code, unsigned signs, float scale, const float values[8], float *dst)
{
    for (int i = 0; i < 8; i++)
        dst[i] = scale * values[code >> 4 * i & 7] * (signs >> i & 1 ? -1.0f : 1.0f);
}

/* Source: dequantize_row_iq3_xxs and dequantize_row_iq3_s of ggml-quants.c. */
void wfs_dequantize_iq3_xxs_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;

    for (size_t b = 0; b < n_elems / IQG_ELEMS; b++, p += IQ3_XXS_BYTES, dst += IQG_ELEMS) {
        float d = f16_scale(get_u16(p));

        for (int i = 0; i < 32; i++) {
            uint32_t rest = iq_signs_scale(p + IQ3_XXS_SIGNS + i / 4 * 4);
            unsigned low = wfs_iq3_xxs_codes[p[IQ3_XXS_QS + 2 * i]];
            unsigned high = wfs_iq3_xxs_codes[p[IQ3_XXS_QS + 2 * i + 1]];

            put_eight(low | high << 16, iq_seven_signs(rest, i % 4), d * (0.5f + (float)(rest >> 28)) * 0.5f,
                      iq3_xxs_values, dst + 8 * i);
        }
    }
}

void wfs_dequantize_iq3_s_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;

    for (size_t b = 0; b < n_elems / IQG_ELEMS; b++, p += IQ3_S_BYTES, dst += IQG_ELEMS) {
        float d = f16_scale(get_u16(p));

        for (int i = 0; i < 32; i++) {
            unsigned low = wfs_iq3_s_codes[iq3_s_number(p, 2 * i)], high = wfs_iq3_s_codes[iq3_s_number(p, 2 * i + 1)];

            put_eight(low | high << 16, p[IQ3_S_SIGNS + i],
                      d * (float)(1 + 2 * iq_nibble(p + IQ3_S_SCALES, i / 4)), iq3_s_values, dst + 8 * i);
        }
    }
}

IQ_ENCODE_WEIGHTED(iq3_xxs, IQ3_XXS_BYTES)
IQ_ENCODE_WEIGHTED(iq3_s, IQ3_S_BYTES)
IQ_ENCODE(iq3_xxs, IQ3_XXS_BYTES)
IQ_ENCODE(iq3_s, IQ3_S_BYTES)

VALIDATE(iq3_xxs, IQ3_XXS_BYTES, f16_bad(p))
VALIDATE(iq3_s, IQ3_S_BYTES, f16_bad(p))
