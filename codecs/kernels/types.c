#include "types.h"

const struct wfs_ggml_type_info wfs_ggml_types[WFS_TYPE_COUNT] = {
    [WFS_TYPE_F32] = { "f32", 1, 4, true },       [WFS_TYPE_F16] = { "f16", 1, 2, true },
    [WFS_TYPE_Q4_0] = { "q4_0", 32, 18, false },  [WFS_TYPE_Q4_1] = { "q4_1", 32, 20, false },
    [WFS_TYPE_Q5_0] = { "q5_0", 32, 22, true },   [WFS_TYPE_Q5_1] = { "q5_1", 32, 24, true },
    [WFS_TYPE_Q8_0] = { "q8_0", 32, 34, true },   [WFS_TYPE_Q2_K] = { "q2_K", 256, 84, false },
    [WFS_TYPE_Q3_K] = { "q3_K", 256, 110, false }, [WFS_TYPE_Q4_K] = { "q4_K", 256, 144, true },
    [WFS_TYPE_Q5_K] = { "q5_K", 256, 176, true }, [WFS_TYPE_Q6_K] = { "q6_K", 256, 210, true },
    [WFS_TYPE_BF16] = { "bf16", 1, 2, true },
};
