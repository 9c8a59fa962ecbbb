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

/* The text of `part` is in `whole`; both are printed when not. */
#define assert_contains(whole, part) \
    do { \
        if (!strstr((whole), (part))) \
            fail_msg("\"%s\" does not contain \"%s\"", (whole), (part)); \
    } while (0)

#endif
