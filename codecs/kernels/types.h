/* ggml's tensor types: number, block and byte sizes (source: ggml.h and ggml-common.h of the pinned llama.cpp). */
#ifndef WFS_KERNELS_TYPES_H
#define WFS_KERNELS_TYPES_H

#include <stdbool.h>
#include <stdint.h>

enum wfs_ggml_type {
    WFS_TYPE_F32 = 0, WFS_TYPE_F16 = 1,
    WFS_TYPE_Q4_0 = 2, WFS_TYPE_Q4_1 = 3, WFS_TYPE_Q5_0 = 6, WFS_TYPE_Q5_1 = 7, WFS_TYPE_Q8_0 = 8,
    WFS_TYPE_Q2_K = 10, WFS_TYPE_Q3_K = 11, WFS_TYPE_Q4_K = 12, WFS_TYPE_Q5_K = 13, WFS_TYPE_Q6_K = 14,
    WFS_TYPE_IQ2_XXS = 16, WFS_TYPE_IQ2_XS = 17, WFS_TYPE_IQ3_XXS = 18, WFS_TYPE_IQ1_S = 19, WFS_TYPE_IQ4_NL = 20,
    WFS_TYPE_IQ3_S = 21, WFS_TYPE_IQ2_S = 22, WFS_TYPE_IQ4_XS = 23, WFS_TYPE_IQ1_M = 29,
    WFS_TYPE_BF16 = 30,
    WFS_TYPE_TQ1_0 = 34, WFS_TYPE_TQ2_0 = 35,
    WFS_TYPE_MXFP4 = 39, WFS_TYPE_NVFP4 = 40, WFS_TYPE_Q1_0 = 41, WFS_TYPE_Q2_0 = 42,
    WFS_TYPE_COUNT = 43
};

struct wfs_ggml_type_info {
    const char *name;                  /* ggml's ("q4_K"); NULL = a number that is not in the table */
    uint32_t block_elems, block_bytes; /* of one block; 1 and the element size for plain types */
    bool row_weighted;                 /* with importance weights, a block's bytes depend on its whole row */
};

/* Indexed by enum wfs_ggml_type. */
extern const struct wfs_ggml_type_info wfs_ggml_types[WFS_TYPE_COUNT];

#endif
