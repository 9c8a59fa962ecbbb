/* What the types of this folder have in common: blocks of 32 values, a binary16 scale (and minimum), nibbles. */
#ifndef WFS_KERNELS_LEGACY_LEGACY_H
#define WFS_KERNELS_LEGACY_LEGACY_H

#include "../blocks.h"
#include "../values.h"

#include <float.h>

enum { LEGACY_ELEMS = 32 };

/* The first smallest and the first largest value; a NaN counts for nothing. */
static inline void legacy_range(const float *x, float *ret_min, float *ret_max)
{
    float min = FLT_MAX, max = -FLT_MAX;

    for (int i = 0; i < LEGACY_ELEMS; i++) {
        if (x[i] < min)
            min = x[i];
        if (x[i] > max)
            max = x[i];
    }
    *ret_min = min;
    *ret_max = max;
}

static inline float legacy_inverse(float d)
{
    return d != 0 ? 1.0f / d : 0; /* a NaN is not zero */
}

/* Value i low, value i + 16 high. ggml masks neither: what does not fit (after a NaN) runs into the other. */
static inline void legacy_put_nibbles(const uint8_t q[LEGACY_ELEMS], uint8_t *qs)
{
    for (int i = 0; i < LEGACY_ELEMS / 2; i++)
        qs[i] = (uint8_t)(q[i] | q[i + 16] << 4);
}

static inline void legacy_get_nibbles(const uint8_t *qs, uint8_t q[LEGACY_ELEMS])
{
    for (int i = 0; i < LEGACY_ELEMS / 2; i++) {
        q[i] = qs[i] & 15;
        q[i + 16] = qs[i] >> 4;
    }
}

/* Five-bit levels: the nibbles as above, and the fifth bits. */
static inline void legacy_put_fives(const uint8_t q[LEGACY_ELEMS], uint8_t *qh, uint8_t *qs)
{
    uint32_t high = 0;

    for (int i = 0; i < LEGACY_ELEMS / 2; i++)
        qs[i] = (uint8_t)((q[i] & 0x0f) | (q[i + 16] & 0x0f) << 4);
    for (int i = 0; i < LEGACY_ELEMS; i++)
        high |= (uint32_t)(q[i] >> 4 & 1) << i;
    memcpy(qh, &high, sizeof high);
}

static inline void legacy_get_fives(const uint8_t *qh, const uint8_t *qs, uint8_t q[LEGACY_ELEMS])
{
    uint32_t high;

    memcpy(&high, qh, sizeof high);
    legacy_get_nibbles(qs, q);
    for (int i = 0; i < LEGACY_ELEMS; i++)
        q[i] = (uint8_t)(q[i] | (high >> i & 1) << 4);
}

/* scale * (level + offset) */
static inline void legacy_scale(const uint8_t q[LEGACY_ELEMS], int offset, float d, float *dst)
{
    for (int i = 0; i < LEGACY_ELEMS; i++)
        dst[i] = (float)(q[i] + offset) * d;
}

/*
 * scale * level + min; of two NaNs the product's is taken, as x86 does it (compilers turn sums around). With a min that
 * is a number there is no choice to make, nor a branch for each value.
 */
static inline void legacy_scale_min(const uint8_t q[LEGACY_ELEMS], float d, float min, float *dst)
{
    if (min == min) {
        for (int i = 0; i < LEGACY_ELEMS; i++)
            dst[i] = (float)q[i] * d + min;
        return;
    }
    for (int i = 0; i < LEGACY_ELEMS; i++) {
        float product = (float)q[i] * d;

        dst[i] = product != product ? product : product + min;
    }
}

#endif
