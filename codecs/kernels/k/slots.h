/* The versions of Q2_K to Q6_K behind the kernel table's slots. */
#ifndef WFS_KERNELS_K_SLOTS_H
#define WFS_KERNELS_K_SLOTS_H

#include "../slots.h"

/* What every set has. */
#define WFS_K_VERSIONS(V, isa)                                                                                        \
    V(encode, WFS_TYPE_Q2_K, q2_k, isa) V(encode_weighted, WFS_TYPE_Q2_K, q2_k, isa)                                  \
    V(dequantize, WFS_TYPE_Q2_K, q2_k, isa)                                                                           \
    V(encode, WFS_TYPE_Q3_K, q3_k, isa) V(encode_weighted, WFS_TYPE_Q3_K, q3_k, isa)                                  \
    V(dequantize, WFS_TYPE_Q3_K, q3_k, isa)                                                                           \
    V(encode, WFS_TYPE_Q4_K, q4_k, isa) V(encode_weighted, WFS_TYPE_Q4_K, q4_k, isa)                                  \
    V(dequantize, WFS_TYPE_Q4_K, q4_k, isa)                                                                           \
    V(encode, WFS_TYPE_Q5_K, q5_k, isa) V(encode_weighted, WFS_TYPE_Q5_K, q5_k, isa)                                  \
    V(dequantize, WFS_TYPE_Q5_K, q5_k, isa)                                                                           \
    V(encode, WFS_TYPE_Q6_K, q6_k, isa) V(encode_weighted, WFS_TYPE_Q6_K, q6_k, isa)                                  \
    V(dequantize, WFS_TYPE_Q6_K, q6_k, isa)

/* What plain C has. */
#define WFS_K_VERSIONS_OF_C(V, isa)                                                                                   \
    WFS_K_VERSIONS(V, isa)                                                                                            \
    V(validate, WFS_TYPE_Q2_K, q2_k, isa) V(validate, WFS_TYPE_Q3_K, q3_k, isa)                                       \
    V(validate, WFS_TYPE_Q4_K, q4_k, isa) V(validate, WFS_TYPE_Q5_K, q5_k, isa)                                       \
    V(validate, WFS_TYPE_Q6_K, q6_k, isa)

WFS_K_VERSIONS_OF_C(WFS_DECLARE, c)
WFS_K_VERSIONS(WFS_DECLARE, avx2)
WFS_K_VERSIONS(WFS_DECLARE, avx512)
WFS_K_VERSIONS(WFS_DECLARE, neon)

#endif
