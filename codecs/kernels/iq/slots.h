/* The versions of IQ1_S to IQ4_XS behind the kernel table's slots. */
#ifndef WFS_KERNELS_IQ_SLOTS_H
#define WFS_KERNELS_IQ_SLOTS_H

#include "../slots.h"

/* What every set has. */
#define WFS_IQ_VERSIONS(V, isa)                                                                                       \
    V(encode_weighted, WFS_TYPE_IQ1_S, iq1_s, isa) V(dequantize, WFS_TYPE_IQ1_S, iq1_s, isa)                          \
    V(encode, WFS_TYPE_IQ1_M, iq1_m, isa) V(encode_weighted, WFS_TYPE_IQ1_M, iq1_m, isa)                              \
    V(dequantize, WFS_TYPE_IQ1_M, iq1_m, isa)                                                                         \
    V(encode_weighted, WFS_TYPE_IQ2_XXS, iq2_xxs, isa) V(dequantize, WFS_TYPE_IQ2_XXS, iq2_xxs, isa)                  \
    V(encode_weighted, WFS_TYPE_IQ2_XS, iq2_xs, isa) V(dequantize, WFS_TYPE_IQ2_XS, iq2_xs, isa)                      \
    V(encode, WFS_TYPE_IQ2_S, iq2_s, isa) V(encode_weighted, WFS_TYPE_IQ2_S, iq2_s, isa)                              \
    V(dequantize, WFS_TYPE_IQ2_S, iq2_s, isa)                                                                         \
    V(encode, WFS_TYPE_IQ3_XXS, iq3_xxs, isa) V(encode_weighted, WFS_TYPE_IQ3_XXS, iq3_xxs, isa)                      \
    V(dequantize, WFS_TYPE_IQ3_XXS, iq3_xxs, isa)                                                                     \
    V(encode, WFS_TYPE_IQ3_S, iq3_s, isa) V(encode_weighted, WFS_TYPE_IQ3_S, iq3_s, isa)                              \
    V(dequantize, WFS_TYPE_IQ3_S, iq3_s, isa)                                                                         \
    V(encode, WFS_TYPE_IQ4_NL, iq4_nl, isa) V(encode_weighted, WFS_TYPE_IQ4_NL, iq4_nl, isa)                          \
    V(dequantize, WFS_TYPE_IQ4_NL, iq4_nl, isa)                                                                       \
    V(encode, WFS_TYPE_IQ4_XS, iq4_xs, isa) V(encode_weighted, WFS_TYPE_IQ4_XS, iq4_xs, isa)                          \
    V(dequantize, WFS_TYPE_IQ4_XS, iq4_xs, isa)

/* What plain C has. */
#define WFS_IQ_VERSIONS_OF_C(V, isa)                                                                                  \
    WFS_IQ_VERSIONS(V, isa)                                                                                           \
    V(validate, WFS_TYPE_IQ1_S, iq1_s, isa) V(validate, WFS_TYPE_IQ1_M, iq1_m, isa)                                   \
    V(validate, WFS_TYPE_IQ2_XXS, iq2_xxs, isa) V(validate, WFS_TYPE_IQ2_XS, iq2_xs, isa)                             \
    V(validate, WFS_TYPE_IQ2_S, iq2_s, isa) V(validate, WFS_TYPE_IQ3_XXS, iq3_xxs, isa)                               \
    V(validate, WFS_TYPE_IQ3_S, iq3_s, isa) V(validate, WFS_TYPE_IQ4_NL, iq4_nl, isa)                                 \
    V(validate, WFS_TYPE_IQ4_XS, iq4_xs, isa)

WFS_IQ_VERSIONS_OF_C(WFS_DECLARE, c)
WFS_IQ_VERSIONS(WFS_DECLARE, avx2)
WFS_IQ_VERSIONS(WFS_DECLARE, avx512)
WFS_IQ_VERSIONS(WFS_DECLARE, neon)

#endif
