/*
 * Where the parts of ggml's blocks lie, in bytes (source: ggml-common.h of the pinned llama.cpp). All blocks are
 * packed.
 */
#ifndef WFS_KERNELS_BLOCKS_H
#define WFS_KERNELS_BLOCKS_H

enum {
    /* 32 values: f16 scale, 32 int8 */
    Q8_0_ELEMS = 32, Q8_0_BYTES = 34, Q8_0_QS = 2,

    /* 32 values: f16 scale, the nibbles (value i low, value i + 16 high) */
    Q4_ELEMS = 32,
    Q4_0_BYTES = 18, Q4_0_QS = 2,
    /* the same with an f16 minimum after the scale */
    Q4_1_BYTES = 20, Q4_1_M = 2, Q4_1_QS = 4,

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

    /*
     * 256 ternary values: five in a byte (values i, i + 32, ... of the first 160 in byte i; i, i + 16, ... of the next
     * 80), four in each of the last four bytes (i, i + 4, ... of the last 16), f16 scale
     */
    TQ_ELEMS = 256,
    TQ1_0_BYTES = 54, TQ1_0_QS = 0, TQ1_0_QH = 48, TQ1_0_D = 52,
    /* 256 ternary values: two bits each (per 128 values 32 bytes, values i, i + 32, ... in byte i), f16 scale */
    TQ2_0_BYTES = 66, TQ2_0_QS = 0, TQ2_0_D = 64,

    /* 32 values: the scale's exponent, nibbles as in Q4_0 */
    MXFP4_ELEMS = 32, MXFP4_BYTES = 17, MXFP4_E = 0, MXFP4_QS = 1,

    /* 64 values as 4 sub-blocks of 16: a scale of 4 bits exponent and 3 mantissa each, nibbles (i low, i + 8 high) */
    NVFP4_ELEMS = 64, NVFP4_SUBS = 4, NVFP4_SUB = 16,
    NVFP4_BYTES = 36, NVFP4_D = 0, NVFP4_QS = 4,

    /* 128 values: f16 scale, a bit each (1 = positive) */
    Q1_0_ELEMS = 128, Q1_0_BYTES = 18, Q1_0_QS = 2,

    /* 64 values: f16 scale, two bits each */
    Q2_0_ELEMS = 64, Q2_0_BYTES = 18, Q2_0_QS = 2,
};

#endif
