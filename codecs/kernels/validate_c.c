#include "bits.h"
#include "blocks.h"
#include "slots.h"

/*
 * Source: ggml_validate_row_data. It refuses infinities and NaNs among values, and in the f16 scales (and mins) of
 * blocks; nothing else about a block can be wrong.
 */
static inline bool f16_bad(const uint8_t *p)
{
    return (get_u16(p) & 0x7c00u) == 0x7c00u;
}

#define VALIDATE(name, bytes, bad)                                \
    size_t wfs_validate_##name##_c(const void *blocks, size_t n_blocks) \
    {                                                             \
        const uint8_t *p = blocks;                                \
                                                                  \
        for (size_t i = 0; i < n_blocks; i++, p += (bytes)) {     \
            if (bad)                                              \
                return i;                                         \
        }                                                         \
        return n_blocks;                                          \
    }

VALIDATE(f32, 4, (get_u16(p + 2) & 0x7f80u) == 0x7f80u)
VALIDATE(bf16, 2, (get_u16(p) & 0x7f80u) == 0x7f80u)
VALIDATE(f16, 2, f16_bad(p))
VALIDATE(q8_0, Q8_0_BYTES, f16_bad(p))
VALIDATE(q5_0, Q5_0_BYTES, f16_bad(p))
VALIDATE(q5_1, Q5_1_BYTES, f16_bad(p) || f16_bad(p + Q5_1_M))
VALIDATE(q4_k, Q4_K_BYTES, f16_bad(p) || f16_bad(p + Q4_K_DMIN))
VALIDATE(q5_k, Q5_K_BYTES, f16_bad(p) || f16_bad(p + Q4_K_DMIN))
VALIDATE(q6_k, Q6_K_BYTES, f16_bad(p + Q6_K_D))
