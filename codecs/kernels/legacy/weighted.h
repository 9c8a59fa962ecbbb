/* What the C and the vector versions of the weighted encoders share: the weight of a row's values. */
#ifndef WFS_KERNELS_LEGACY_WEIGHTED_H
#define WFS_KERNELS_LEGACY_WEIGHTED_H

#include <stddef.h>

/* The mean square of a whole row; it is added up in the row's order. */
static inline float legacy_mean_square(const float *x, size_t n)
{
    float sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum / (float)n;
}

#endif
