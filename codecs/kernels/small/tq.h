/* What the C and the vector versions of TQ1_0 and TQ2_0 share. Source: ggml-quants.c. */
#ifndef WFS_KERNELS_SMALL_TQ_H
#define WFS_KERNELS_SMALL_TQ_H

#include "../bits.h"
#include "../blocks.h"

/*
 * Five ternary digits as a number below 243, the first the highest, to a byte: a fraction of 256, rounded up. Taking
 * the digits out again is multiplying by 3 and keeping what overflows.
 */
static inline uint8_t tq1_0_fraction(uint8_t number)
{
    return (uint8_t)(((uint32_t)number * 256 + 242) / 243);
}

/* `count` digits from n bytes each; digit k of byte i stands at k * n + i. Too large ones (after a NaN) wrap. */
static inline void tq1_0_put_digits(const uint8_t *digits, int n, int count, uint8_t *ret)
{
    for (int i = 0; i < n; i++) {
        uint8_t number = 0;

        for (int k = 0; k < 5; k++)
            number = (uint8_t)(number * 3 + (k < count ? digits[k * n + i] : 0));
        ret[i] = tq1_0_fraction(number);
    }
}

static inline void tq1_0_get_digits(const uint8_t *p, int n, int count, float d, float *dst)
{
    for (int i = 0; i < n; i++) {
        uint8_t rest = p[i];

        for (int k = 0; k < count; k++) {
            dst[k * n + i] = (float)((rest * 3 >> 8) - 1) * d;
            rest = (uint8_t)(rest * 3);
        }
    }
}

#endif
