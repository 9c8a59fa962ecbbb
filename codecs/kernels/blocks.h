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

    /* 256 values as 16 sub-blocks of 16: scale and min as nibbles of a byte, two bits a value, f16 scale and min */
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

    /* 256 values: f16 scale, low 8 bits of 32 grid numbers, 8 words of 4 numbers' high 3 bits, 3 bits scale, sign */
    IQ1_ELEMS = 256,
    IQ1_S_SUBS = 8, IQ1_S_SUB = 32,
    IQ1_S_BYTES = 50, IQ1_S_QS = 2, IQ1_S_QH = 34,
    /*
     * 256 values: low 8 bits of 32 grid numbers, 32 nibbles of their high 3 bits and a sign, 4 words of 4 scales of 3
     * bits and, on top, 4 bits of the f16 scale
     */
    IQ1_M_SUBS = 16, IQ1_M_SUB = 16,
    IQ1_M_BYTES = 56, IQ1_M_QS = 0, IQ1_M_QH = 32, IQ1_M_SCALES = 48,

    /*
     * 256 values: f16 scale; per 32 values four grid numbers of 8 bits, then in 32 bits four times seven signs and a
     * scale of 4 bits
     */
    IQ2_XXS_BYTES = 66, IQ2_XXS_QS = 2,
    /* 256 values: f16 scale; 32 times 9 bits grid number and seven signs; 16 scales of 4 bits */
    IQ2_XS_BYTES = 74, IQ2_XS_QS = 2, IQ2_XS_SCALES = 66,
    /* 256 values: f16 scale; low 8 bits of 32 grid numbers, signs, the numbers' high 2 bits, 16 scales of 4 bits */
    IQ2_S_BYTES = 82, IQ2_S_QS = 2, IQ2_S_SIGNS = 34, IQ2_S_QH = 66, IQ2_S_SCALES = 74,
    /* 256 values: f16 scale; 64 grid numbers; per 32 values 32 bits as in IQ2_XXS */
    IQ3_XXS_BYTES = 98, IQ3_XXS_QS = 2, IQ3_XXS_SIGNS = 66,
    /* 256 values: f16 scale; low 8 bits of 64 grid numbers, their high bits, signs, 8 scales of 4 bits */
    IQ3_S_BYTES = 110, IQ3_S_QS = 2, IQ3_S_QH = 66, IQ3_S_SIGNS = 74, IQ3_S_SCALES = 106,

    /* 32 values: f16 scale, nibbles as in Q4_0 */
    IQ4_NL_ELEMS = 32, IQ4_NL_BYTES = 18, IQ4_NL_QS = 2,

    /* 256 values as 8 sub-blocks of 32: f16 scale, 8 scales' upper 2 bits, their low nibbles, nibbles as in Q4_0 */
    IQ4_XS_ELEMS = 256, IQ4_XS_SUBS = 8, IQ4_XS_SUB = 32,
    IQ4_XS_BYTES = 136, IQ4_XS_SCALES_H = 2, IQ4_XS_SCALES_L = 4, IQ4_XS_QS = 8,
};

#endif
