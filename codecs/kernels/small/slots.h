/* The versions of TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0 and Q2_0 behind the kernel table's slots. */
#ifndef WFS_KERNELS_SMALL_SLOTS_H
#define WFS_KERNELS_SMALL_SLOTS_H

#include "../slots.h"

/* What every set has. */
#define WFS_SMALL_VERSIONS(V, isa)                                                                                    \
    V(encode, WFS_TYPE_TQ1_0, tq1_0, isa) V(dequantize, WFS_TYPE_TQ1_0, tq1_0, isa)                                   \
    V(encode, WFS_TYPE_TQ2_0, tq2_0, isa) V(dequantize, WFS_TYPE_TQ2_0, tq2_0, isa)                                   \
    V(encode, WFS_TYPE_MXFP4, mxfp4, isa) V(dequantize, WFS_TYPE_MXFP4, mxfp4, isa)                                   \
    V(encode, WFS_TYPE_NVFP4, nvfp4, isa) V(dequantize, WFS_TYPE_NVFP4, nvfp4, isa)                                   \
    V(encode, WFS_TYPE_Q1_0, q1_0, isa) V(dequantize, WFS_TYPE_Q1_0, q1_0, isa)                                       \
    V(encode, WFS_TYPE_Q2_0, q2_0, isa) V(dequantize, WFS_TYPE_Q2_0, q2_0, isa)

/* What plain C has. */
#define WFS_SMALL_VERSIONS_OF_C(V, isa)                                                                               \
    WFS_SMALL_VERSIONS(V, isa)                                                                                        \
    V(validate, WFS_TYPE_TQ1_0, tq1_0, isa) V(validate, WFS_TYPE_TQ2_0, tq2_0, isa)                                   \
    V(validate, WFS_TYPE_MXFP4, mxfp4, isa) V(validate, WFS_TYPE_NVFP4, nvfp4, isa)                                   \
    V(validate, WFS_TYPE_Q1_0, q1_0, isa) V(validate, WFS_TYPE_Q2_0, q2_0, isa)

WFS_SMALL_VERSIONS_OF_C(WFS_DECLARE, c)
WFS_SMALL_VERSIONS(WFS_DECLARE, avx2)
WFS_SMALL_VERSIONS(WFS_DECLARE, avx512)
WFS_SMALL_VERSIONS(WFS_DECLARE, neon)

#endif
