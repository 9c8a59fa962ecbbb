#include "../blocks.h"
#include "../validate.h"
#include "slots.h"

VALIDATE(q4_k, Q4_K_BYTES, f16_bad(p) || f16_bad(p + Q4_K_DMIN))
VALIDATE(q5_k, Q5_K_BYTES, f16_bad(p) || f16_bad(p + Q4_K_DMIN))
VALIDATE(q6_k, Q6_K_BYTES, f16_bad(p + Q6_K_D))
