/* What the plain C encoders ask of n values. The order of operations is ggml's, and so is what comes of a NaN. */
#ifndef WFS_KERNELS_VALUES_H
#define WFS_KERNELS_VALUES_H

#include "bits.h"

#include <stddef.h>

/* The largest magnitude. A NaN is taken, and the next value replaces it. */
static inline float amax_of(const float *x, size_t n)
{
    float amax = 0;

    for (size_t i = 0; i < n; i++)
        amax = amax > abs_of(x[i]) ? amax : abs_of(x[i]);
    return amax;
}

/* The largest magnitude. A NaN counts for nothing. */
static inline float amax_of_numbers(const float *x, size_t n)
{
    float amax = 0;

    for (size_t i = 0; i < n; i++)
        amax = amax < abs_of(x[i]) ? abs_of(x[i]) : amax;
    return amax;
}

/* The first value of the largest magnitude (0 if all are zeros). A NaN counts for nothing. */
static inline float most_of(const float *x, size_t n)
{
    float amax = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        if (amax < abs_of(x[i])) {
            amax = abs_of(x[i]);
            most = x[i];
        }
    }
    return most;
}

/* Added up from the first to the last. */
static inline float sum_of_squares(const float *x, size_t n)
{
    float sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

#endif
