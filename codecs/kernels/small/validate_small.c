#include "../blocks.h"
#include "../validate.h"
#include "slots.h"

VALIDATE(tq1_0, TQ1_0_BYTES, f16_bad(p + TQ1_0_D))
VALIDATE(tq2_0, TQ2_0_BYTES, f16_bad(p + TQ2_0_D))
VALIDATE(mxfp4, MXFP4_BYTES, p[MXFP4_E] == 0xff)
VALIDATE(q1_0, Q1_0_BYTES, f16_bad(p))
VALIDATE(q2_0, Q2_0_BYTES, f16_bad(p))

/* ggml takes any scale. */
size_t wfs_validate_nvfp4_c(const void *blocks, size_t n_blocks)
{
    (void)blocks;
    return n_blocks;
}
