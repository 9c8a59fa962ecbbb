/*
 * Where the parts of ggml's blocks lie, in bytes (source: ggml-common.h of the pinned llama.cpp). All blocks are
 * packed.
 */
#ifndef WFS_KERNELS_BLOCKS_H
#define WFS_KERNELS_BLOCKS_H

enum {
    /* 32 values: f16 scale, 32 int8 */
    Q8_0_ELEMS = 32, Q8_0_BYTES = 34, Q8_0_QS = 2,

    /* 32 values: f16 scale, the fifth bits (bit i = value i), the low nibbles (value i low, value i + 16 high) */
    Q5_ELEMS = 32,
    Q5_0_BYTES = 22, Q5_0_QH = 2, Q5_0_QS = 6,
    /* the same with an f16 minimum after the scale */
    Q5_1_BYTES = 24, Q5_1_M = 2, Q5_1_QH = 4, Q5_1_QS = 8,

    /* 256 values as 16 sub-blocks of 16: scale and min as nibbles of a byte each, two bits a value, f16 scale and min */
    Q2_K_ELEMS = 256, Q2_K_SUBS = 16, Q2_K_SUB = 16,
    Q2_K_BYTES = 84, Q2_K_SCALES = 0, Q2_K_QS = 16, Q2_K_D = 80, Q2_K_DMIN = 82,

    /* 256 values as 16 sub-blocks of 16: third bits, the other two, 16 scales of 6 bits in 12 bytes, f16 scale */
    Q3_K_ELEMS = 256, Q3_K_SUBS = 16, Q3_K_SUB = 16,
    Q3_K_BYTES = 110, Q3_K_HMASK = 0, Q3_K_QS = 32, Q3_K_SCALES = 96, Q3_K_D = 108,

    /* 256 values as 8 sub-blocks of 32: f16 scale and min, 8 scales and 8 mins of 6 bits in 12 bytes, nibbles */
    Q4_K_ELEMS = 256, Q4_K_SUBS = 8, Q4_K_SUB = 32,
    Q4_K_BYTES = 144, Q4_K_DMIN = 2, Q4_K_SCALES = 4, Q4_K_QS = 16,

    /* as Q4_K, with the fifth bits before the nibbles: bit j of byte i is value i of sub-block j */
    Q5_K_BYTES = 176, Q5_K_QH = 16, Q5_K_QS = 48,

    /* 256 values as 16 sub-blocks of 16: low nibbles, upper two bits, 16 int8 scales, f16 scale */
    Q6_K_ELEMS = 256, Q6_K_SUBS = 16, Q6_K_SUB = 16,
    Q6_K_BYTES = 210, Q6_K_QH = 128, Q6_K_SCALES = 192, Q6_K_D = 208,
};

#endif
