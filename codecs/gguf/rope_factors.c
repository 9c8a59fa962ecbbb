#include "rope_factors.h"
#include "torch_pow.h"

/*
 * A Python number next to a float32 tensor is rounded to float32 first; number / tensor is reciprocal(tensor) * number,
 * two roundings. Only what is between two Python numbers is computed in double.
 */
static float factor_of(float frequency, const struct wfs_rope_llama3 *rope)
{
    double low_wavelength = rope->original / rope->low, high_wavelength = rope->original / rope->high;
    float wavelength = 1.0f / frequency * (float)(2 * 3.141592653589793), smooth;

    if (wavelength < (float)high_wavelength)
        return 1;
    if (wavelength > (float)low_wavelength)
        return (float)rope->factor;
    smooth = (1.0f / wavelength * (float)rope->original - (float)rope->low) / (float)(rope->high - rope->low);
    return 1.0f / ((1.0f - smooth) / (float)rope->factor + smooth);
}

void wfs_rope_llama3_factors(const struct wfs_rope_llama3 *rope, float *ret)
{
    enum { STEP = 32 };
    uint32_t n = (rope->dim + 1) / 2;
    float exponents[STEP], powers[STEP];

    /* By 32, so that the elements fall into torch's vectors as they do in the whole tensor. */
    for (uint32_t at = 0; at < n; at += STEP) {
        uint32_t count = n - at < STEP ? n - at : STEP;

        for (uint32_t i = 0; i < count; i++)
            exponents[i] = (float)(2 * (at + i)) / (float)rope->dim;
        wfs_torch_pow((float)rope->base, exponents, powers, count);
        for (uint32_t i = 0; i < count; i++)
            ret[at + i] = factor_of(1.0f / powers[i], rope);
    }
}
