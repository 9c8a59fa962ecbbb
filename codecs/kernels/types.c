#include "types.h"

const struct wfs_ggml_type_info wfs_ggml_types[WFS_TYPE_COUNT] = {
    [WFS_TYPE_F32] = { "f32", 1, 4, false },         [WFS_TYPE_F16] = { "f16", 1, 2, false },
    [WFS_TYPE_Q4_0] = { "q4_0", 32, 18, true },      [WFS_TYPE_Q4_1] = { "q4_1", 32, 20, true },
    [WFS_TYPE_Q5_0] = { "q5_0", 32, 22, true },      [WFS_TYPE_Q5_1] = { "q5_1", 32, 24, true },
    [WFS_TYPE_Q8_0] = { "q8_0", 32, 34, false },     [WFS_TYPE_Q2_K] = { "q2_K", 256, 84, false },
    [WFS_TYPE_Q3_K] = { "q3_K", 256, 110, false },   [WFS_TYPE_Q4_K] = { "q4_K", 256, 144, false },
    [WFS_TYPE_Q5_K] = { "q5_K", 256, 176, false },   [WFS_TYPE_Q6_K] = { "q6_K", 256, 210, false },
    [WFS_TYPE_IQ2_XXS] = { "iq2_xxs", 256, 66, false }, [WFS_TYPE_IQ2_XS] = { "iq2_xs", 256, 74, false },
    [WFS_TYPE_IQ3_XXS] = { "iq3_xxs", 256, 98, false }, [WFS_TYPE_IQ1_S] = { "iq1_s", 256, 50, false },
    [WFS_TYPE_IQ4_NL] = { "iq4_nl", 32, 18, false }, [WFS_TYPE_IQ3_S] = { "iq3_s", 256, 110, false },
    [WFS_TYPE_IQ2_S] = { "iq2_s", 256, 82, false },  [WFS_TYPE_IQ4_XS] = { "iq4_xs", 256, 136, false },
    [WFS_TYPE_IQ1_M] = { "iq1_m", 256, 56, false },  [WFS_TYPE_BF16] = { "bf16", 1, 2, false },
    [WFS_TYPE_TQ1_0] = { "tq1_0", 256, 54, false },  [WFS_TYPE_TQ2_0] = { "tq2_0", 256, 66, false },
    [WFS_TYPE_MXFP4] = { "mxfp4", 32, 17, false },   [WFS_TYPE_NVFP4] = { "nvfp4", 64, 36, false },
    [WFS_TYPE_Q1_0] = { "q1_0", 128, 18, false },    [WFS_TYPE_Q2_0] = { "q2_0", 64, 18, false },
};
