/* cmocka with the headers it wants in front of it. */
#ifndef WFS_TESTS_CHECK_H
#define WFS_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <stdlib.h>

/* By how much bounds on time are stretched: sanitizers cost time. */
static inline double slowness(void)
{
    const char *slow = getenv("WEIGHTFS_TEST_SLOW");

    return slow ? atof(slow) : 1;
}

/* The text of `part` is in `whole`; both are printed when not. */
#define assert_contains(whole, part) \
    do { \
        if (!strstr((whole), (part))) \
            fail_msg("\"%s\" does not contain \"%s\"", (whole), (part)); \
    } while (0)

#endif
