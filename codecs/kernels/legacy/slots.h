/* The versions of Q4_0 to Q8_0 behind the kernel table's slots. */
#ifndef WFS_KERNELS_LEGACY_SLOTS_H
#define WFS_KERNELS_LEGACY_SLOTS_H

#include "../slots.h"

/* What every set has. */
#define WFS_LEGACY_VERSIONS(V, isa)                                                                                   \
    V(encode, WFS_TYPE_Q4_0, q4_0, isa) V(encode_weighted, WFS_TYPE_Q4_0, q4_0, isa)                                  \
    V(dequantize, WFS_TYPE_Q4_0, q4_0, isa)                                                                           \
    V(encode, WFS_TYPE_Q4_1, q4_1, isa) V(encode_weighted, WFS_TYPE_Q4_1, q4_1, isa)                                  \
    V(dequantize, WFS_TYPE_Q4_1, q4_1, isa)                                                                           \
    V(encode, WFS_TYPE_Q5_0, q5_0, isa) V(encode_weighted, WFS_TYPE_Q5_0, q5_0, isa)                                  \
    V(dequantize, WFS_TYPE_Q5_0, q5_0, isa)                                                                           \
    V(encode, WFS_TYPE_Q5_1, q5_1, isa) V(encode_weighted, WFS_TYPE_Q5_1, q5_1, isa)                                  \
    V(dequantize, WFS_TYPE_Q5_1, q5_1, isa)                                                                           \
    V(encode, WFS_TYPE_Q8_0, q8_0, isa) V(dequantize, WFS_TYPE_Q8_0, q8_0, isa)

/* What plain C has. */
#define WFS_LEGACY_VERSIONS_OF_C(V, isa)                                                                              \
    WFS_LEGACY_VERSIONS(V, isa)                                                                                       \
    V(validate, WFS_TYPE_Q4_0, q4_0, isa) V(validate, WFS_TYPE_Q4_1, q4_1, isa)                                       \
    V(validate, WFS_TYPE_Q5_0, q5_0, isa) V(validate, WFS_TYPE_Q5_1, q5_1, isa)                                       \
    V(validate, WFS_TYPE_Q8_0, q8_0, isa)

WFS_LEGACY_VERSIONS_OF_C(WFS_DECLARE, c)
WFS_LEGACY_VERSIONS(WFS_DECLARE, avx2)
WFS_LEGACY_VERSIONS(WFS_DECLARE, avx512)
WFS_LEGACY_VERSIONS(WFS_DECLARE, neon)

#endif
