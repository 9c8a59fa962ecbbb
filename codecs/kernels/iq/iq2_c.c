#include "../validate.h"
#include "grid_search.h"
#include "slots.h"

static void put_xxs(uint8_t *block, const uint16_t *numbers, const uint8_t *signs, const uint8_t *scales)
{
    for (int j = 0; j < 8; j++) {
        uint32_t rest = (uint32_t)scales[j] << 28;

        for (int i = 0; i < 4; i++) {
            block[IQ2_XXS_QS + 8 * j + i] = (uint8_t)numbers[4 * j + i];
            rest |= (signs[4 * j + i] & 127u) << 7 * i;
        }
        memcpy(block + IQ2_XXS_QS + 8 * j + 4, &rest, sizeof rest);
    }
}

static void put_nibbles(uint8_t *dst, const uint8_t *scales)
{
    for (int j = 0; j < 8; j++)
        dst[j] = (uint8_t)(scales[2 * j] | scales[2 * j + 1] << 4);
}

static void put_xs(uint8_t *block, const uint16_t *numbers, const uint8_t *signs, const uint8_t *scales)
{
    for (int i = 0; i < 32; i++)
        put_u16(block + IQ2_XS_QS + 2 * i, (uint16_t)(numbers[i] | (signs[i] & 127) << 9));
    put_nibbles(block + IQ2_XS_SCALES, scales);
}

static void put_s(uint8_t *block, const uint16_t *numbers, const uint8_t *signs, const uint8_t *scales)
{
    for (int i = 0; i < 32; i++) {
        block[IQ2_S_QS + i] = (uint8_t)numbers[i];
        block[IQ2_S_QH + i / 4] |= (uint8_t)(numbers[i] >> 8 << 2 * (i % 4));
    }
    memcpy(block + IQ2_S_SIGNS, signs, 32);
    put_nibbles(block + IQ2_S_SCALES, scales);
}

const struct iq_kind wfs_iq2_xxs_kind = {
    .grid = wfs_iq2_xxs_grid, .put = put_xxs, .bytes = IQ2_XXS_BYTES, .sub = 32, .group = 8, .bits = 2, .levels = 3,
    .steps = 6, .step = 0.1f, .tiny = IQ_TINY, .spread = 1, .fudge = 1, .again = IQ_AGAIN_ALL,
    .positive_first = true, .even = true,
};
const struct iq_kind wfs_iq2_xs_kind = {
    .grid = wfs_iq2_xs_grid, .put = put_xs, .bytes = IQ2_XS_BYTES, .sub = 16, .group = 8, .bits = 2, .levels = 3,
    .steps = 9, .step = 0.1f, .tiny = IQ_TINY, .spread = 1, .fudge = 1, .again = IQ_AGAIN_OFF_GRID, .even = true,
};
const struct iq_kind wfs_iq2_s_kind = {
    .grid = wfs_iq2_s_grid, .put = put_s, .bytes = IQ2_S_BYTES, .sub = 16, .group = 8, .bits = 2, .levels = 3,
    .steps = 9, .step = 0.1f, .tiny = IQ_TINY_S, .spread = 2, .floor = 0.25f, .fudge = 0.9875f,
    .again = IQ_AGAIN_OFF_GRID, .keep = true,
};

/* The code of eight values into floats. */
static void put_eight(unsigned code, unsigned signs, float scale, float *dst)
{
    for (int i = 0; i < 8; i++)
        dst[i] = scale * iq2_values[code >> 2 * i & 3] * (signs >> i & 1 ? -1.0f : 1.0f);
}

/* Source: dequantize_row_iq2_xxs, _xs and _s of ggml-quants.c. */
void wfs_dequantize_iq2_xxs_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;

    for (size_t b = 0; b < n_elems / IQG_ELEMS; b++, p += IQ2_XXS_BYTES, dst += IQG_ELEMS) {
        float d = f16_scale(get_u16(p));

        for (int i = 0; i < 32; i++) {
            uint32_t rest = iq_signs_scale(p + IQ2_XXS_QS + i / 4 * 8 + 4);

            put_eight(wfs_iq2_xxs_codes[iq2_xxs_number(p, i)], iq_seven_signs(rest, i % 4), iq2_worth(d, rest >> 28),
                      dst + 8 * i);
        }
    }
}

void wfs_dequantize_iq2_xs_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;

    for (size_t b = 0; b < n_elems / IQG_ELEMS; b++, p += IQ2_XS_BYTES, dst += IQG_ELEMS) {
        float d = f16_scale(get_u16(p));

        for (int i = 0; i < 32; i++) {
            unsigned q = get_u16(p + IQ2_XS_QS + 2 * i);

            put_eight(wfs_iq2_xs_codes[q & 511], iq_even_signs(q >> 9),
                      iq2_worth(d, iq_nibble(p + IQ2_XS_SCALES, i / 2)), dst + 8 * i);
        }
    }
}

void wfs_dequantize_iq2_s_c(const void *blocks, float *dst, size_t n_elems)
{
    const uint8_t *p = blocks;

    for (size_t b = 0; b < n_elems / IQG_ELEMS; b++, p += IQ2_S_BYTES, dst += IQG_ELEMS) {
        float d = f16_scale(get_u16(p));

        for (int i = 0; i < 32; i++)
            put_eight(wfs_iq2_s_codes[iq2_s_number(p, i)], p[IQ2_S_SIGNS + i],
                      iq2_worth(d, iq_nibble(p + IQ2_S_SCALES, i / 2)), dst + 8 * i);
    }
}

IQ_ENCODE_WEIGHTED(iq2_xxs, IQ2_XXS_BYTES)
IQ_ENCODE_WEIGHTED(iq2_xs, IQ2_XS_BYTES)
IQ_ENCODE_WEIGHTED(iq2_s, IQ2_S_BYTES)
IQ_ENCODE(iq2_s, IQ2_S_BYTES)

VALIDATE(iq2_xxs, IQ2_XXS_BYTES, f16_bad(p))
VALIDATE(iq2_xs, IQ2_XS_BYTES, f16_bad(p))
VALIDATE(iq2_s, IQ2_S_BYTES, f16_bad(p))
