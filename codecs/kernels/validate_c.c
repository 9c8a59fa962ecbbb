#include "slots.h"
#include "validate.h"

VALIDATE(f32, 4, (get_u16(p + 2) & 0x7f80u) == 0x7f80u)
VALIDATE(bf16, 2, (get_u16(p) & 0x7f80u) == 0x7f80u)
VALIDATE(f16, 2, f16_bad(p))
