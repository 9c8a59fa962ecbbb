/* MXFP4's own floor(log2) against libm's, where log2f rounds up to a whole number and around. */
#include "check.h"
#include "kernels/small/fp4.h"

#include <math.h>

static void the_floor_of_the_logarithm_is_libms(void **state)
{
    (void)state;
    for (int e = -149; e <= 128; e++) {
        uint32_t power = e == 128 ? 0x7f800000u : bits_of(ldexpf(1, e));

        for (uint32_t below = 0; below <= 200; below++) {
            volatile float v; /* else the compiler's idea of log2f counts */

            if (below >= power || power - below >= 0x7f800000u)
                continue;
            v = float_of(power - below);
            assert_int_equal(fp4_log2_floor(v), (int)floorf(log2f(v)));
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_floor_of_the_logarithm_is_libms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
