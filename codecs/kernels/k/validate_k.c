#include "../blocks.h"
#include "../validate.h"
#include "slots.h"

VALIDATE(q2_k, Q2_K_BYTES, f16_bad(p + Q2_K_D) || f16_bad(p + Q2_K_DMIN))
VALIDATE(q3_k, Q3_K_BYTES, f16_bad(p + Q3_K_D))
VALIDATE(q4_k, Q4_K_BYTES, f16_bad(p) || f16_bad(p + Q4_K_DMIN))
VALIDATE(q5_k, Q5_K_BYTES, f16_bad(p) || f16_bad(p + Q4_K_DMIN))
VALIDATE(q6_k, Q6_K_BYTES, f16_bad(p + Q6_K_D))
