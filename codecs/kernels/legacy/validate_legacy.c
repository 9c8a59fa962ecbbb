#include "../blocks.h"
#include "../validate.h"
#include "slots.h"

VALIDATE(q4_0, Q4_0_BYTES, f16_bad(p))
VALIDATE(q4_1, Q4_1_BYTES, f16_bad(p) || f16_bad(p + Q4_1_M))
VALIDATE(q5_0, Q5_0_BYTES, f16_bad(p))
VALIDATE(q5_1, Q5_1_BYTES, f16_bad(p) || f16_bad(p + Q5_1_M))
VALIDATE(q8_0, Q8_0_BYTES, f16_bad(p))
