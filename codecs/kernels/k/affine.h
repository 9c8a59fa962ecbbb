/* What the searches of Q2_K, Q4_K and Q5_K have for parameters; shared by the C and the vector versions. */
#ifndef WFS_KERNELS_K_AFFINE_H
#define WFS_KERNELS_K_AFFINE_H

#include <stdbool.h>

enum { AFFINE_MAX_SUB = 32 };

struct affine {
    int levels;       /* the highest level */
    int sub;          /* values of a sub-block */
    float from, step; /* the slopes that are tried, in levels beside the plain one: from, then step more each */
    int tries;
    bool absolute;    /* an error counts with its magnitude, not its square */
};

/* In the types' order of numbers: without and with importance weights. Source: the callers in ggml-quants.c. */
static const struct affine q2_k_plain = { 3, 16, -0.5f, 0.1f, 16, true };
static const struct affine q4_k_plain = { 15, 32, -1.0f, 0.1f, 21, false };
static const struct affine q5_k_plain = { 31, 32, -0.5f, 0.1f, 16, false };
static const struct affine q2_k_weighted = { 3, 16, -0.9f, 0.05f, 37, false };
static const struct affine q4_k_weighted = { 15, 32, -0.9f, 0.05f, 37, false };
static const struct affine q5_k_weighted = { 31, 32, -0.9f, 0.05f, 37, false };

/* The slope of a try, times the range of the values. */
static inline float affine_slope(const struct affine *s, int attempt)
{
    return s->from + s->step * (float)attempt + (float)s->levels;
}

#endif
