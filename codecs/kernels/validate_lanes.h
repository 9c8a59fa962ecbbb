/*
 * Template of the validation of plain types for one instruction set; include a lanes_*.h first. Runs of vectors with
 * all exponents below the highest are sound; the first other run, and the tail, are left to plain C.
 */
#include "bits.h"
#include "slots.h"

enum { RUN = 4 * LANES * 4 }; /* bytes looked at in one go */

size_t VF_NAME(wfs_validate_f32)(const void *blocks, size_t n_blocks)
{
    const uint8_t *p = blocks;
    const vi exponent = vi_set(0x7f800000);
    size_t i = 0;

    for (; i + RUN / 4 <= n_blocks; i += RUN / 4, p += RUN) {
        if (vi_any_has(vi_load(p), exponent) || vi_any_has(vi_load(p + RUN / 4), exponent) ||
            vi_any_has(vi_load(p + RUN / 2), exponent) || vi_any_has(vi_load(p + RUN / 4 * 3), exponent))
            break;
    }
    return i + wfs_validate_f32_c(p, n_blocks - i);
}

static inline size_t sound_words(const uint8_t *p, size_t n_blocks, int32_t exponent_twice)
{
    const vi exponent = vi_set(exponent_twice);
    size_t i = 0;

    for (; i + RUN / 2 <= n_blocks; i += RUN / 2, p += RUN) {
        if (vi_any_word_has(vi_load(p), exponent) || vi_any_word_has(vi_load(p + RUN / 4), exponent) ||
            vi_any_word_has(vi_load(p + RUN / 2), exponent) || vi_any_word_has(vi_load(p + RUN / 4 * 3), exponent))
            break;
    }
    return i;
}

size_t VF_NAME(wfs_validate_f16)(const void *blocks, size_t n_blocks)
{
    const uint8_t *p = blocks;
    size_t i = sound_words(p, n_blocks, 0x7c007c00);

    return i + wfs_validate_f16_c(p + 2 * i, n_blocks - i);
}

size_t VF_NAME(wfs_validate_bf16)(const void *blocks, size_t n_blocks)
{
    const uint8_t *p = blocks;
    size_t i = sound_words(p, n_blocks, 0x7f807f80);

    return i + wfs_validate_bf16_c(p + 2 * i, n_blocks - i);
}
