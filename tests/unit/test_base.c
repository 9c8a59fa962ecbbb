/* Errors, UTF-8, buffers, maps and the layout of segments' foundations. */
#include "base/buf.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/map.h"
#include "base/utf8.h"
#include "check.h"

#include <stdio.h>

static void errors_escape_and_wrap(void **state)
{
    struct wfs_error err = { 0 };
    char huge[5000];

    (void)state;
    assert_int_equal(wfs_error_set(&err, 5, "%s: bad \x1b[2J\xff \xe2\x80\xae", "a/b"), -5);
    assert_string_equal(err.msg, "a/b: bad \\x1b[2J\\xff \\xe2\\x80\\xae");
    assert_int_equal(wfs_error_wrap(&err, "tensor %d", 3), -5);
    assert_string_equal(err.msg, "tensor 3: a/b: bad \\x1b[2J\\xff \\xe2\\x80\\xae");
    memset(huge, 'x', sizeof huge);
    huge[sizeof huge - 1] = 0;
    wfs_error_set(&err, 5, "%s", huge);
    assert_true(strlen(err.msg) < sizeof err.msg);
    assert_string_equal(err.msg + strlen(err.msg) - 4, "x...");
    assert_int_equal(wfs_error_set(NULL, 7, "nobody listens"), -7);
}

/* Cases of Markus Kuhn's UTF-8 decoder stress test: what must be refused, and the edges of what must not. */
static void utf8(void **state)
{
    static const char *const bad[] = { "\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xe0\x9f\xbf", "\xf0\x80\x80\xaf",
                                       "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80",
                                       "\xf8\x88\x80\x80\x80", "\xe2\x82", "\xfe", "\xff" };
    static const char *const good[] = { "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                        "\xef\xbf\xbd", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf" };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(wfs_utf8_check(bad[i], strlen(bad[i])), 0);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint32_t c = 0;
        char again[4];
        unsigned n = wfs_utf8_decode(good[i], strlen(good[i]), &c);

        assert_int_equal(n, strlen(good[i]));
        assert_int_equal(wfs_utf8_encode(c, again), n);
        assert_memory_equal(again, good[i], n);
    }
}

static void maps(void **state)
{
    static char names[5000][8];
    struct wfs_map m;
    uint32_t v = 0;

    (void)state;
    wfs_map_init(&m);
    assert_false(wfs_map_get(&m, "a", 1, &v));
    for (uint32_t i = 0; i < 5000; i++) {
        int n = snprintf(names[i], sizeof names[i], "%u", i);

        assert_int_equal(wfs_map_add(&m, names[i], (size_t)n, i, NULL), 1);
    }
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(wfs_map_get(&m, names[i], strlen(names[i]), &v));
        assert_int_equal(v, i);
    }
    assert_int_equal(wfs_map_add(&m, "17", 2, 99, &v), 0);
    assert_int_equal(v, 17);
    assert_int_equal(wfs_map_set(&m, "17", 2, 99), 0);
    assert_true(wfs_map_get(&m, "17", 2, &v));
    assert_int_equal(v, 99);
    assert_int_equal(wfs_map_add(&m, "", 0, 1, NULL), 1);
    assert_int_equal(wfs_map_add(&m, "", 0, 2, &v), 0);
    assert_int_equal(v, 1);
    assert_int_equal(m.count, 5001);
    wfs_map_done(&m);
}

static void cursor_stays_in_bounds(void **state)
{
    const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 0xac, 0x02 };
    struct wfs_cursor c = wfs_cursor_over(bytes, sizeof bytes);
    uint64_t v;
    uint32_t w;

    (void)state;
    assert_true(wfs_cursor_u64le(&c, &v));
    assert_true(v == 0x0807060504030201u);
    assert_false(wfs_cursor_u32le(&c, &w));
    assert_int_equal(c.at, 8);
    assert_true(wfs_cursor_varint(&c, &v));
    assert_int_equal(v, 300); /* the example of the protobuf encoding guide */
    assert_false(wfs_cursor_varint(&c, &v));
    assert_null(wfs_cursor_take(&c, SIZE_MAX));
}

static void checked_arithmetic(void **state)
{
    uint64_t v;

    (void)state;
    assert_false(wfs_add_u64(UINT64_MAX, 1, &v));
    assert_false(wfs_mul_u64(UINT64_MAX / 2 + 1, 2, &v));
    assert_false(wfs_align_u64(UINT64_MAX - 3, 32, &v));
    assert_true(wfs_align_u64(33, 32, &v));
    assert_int_equal(v, 64);
    assert_true(wfs_align_u64(64, 32, &v));
    assert_int_equal(v, 64);
}

static void buffers(void **state)
{
    struct wfs_buf b = WFS_BUF_INIT;
    uint8_t *data;
    size_t len;

    (void)state;
    wfs_buf_put(&b, "\1\2", 2);
    wfs_buf_u32le(&b, 0x06050403);
    wfs_buf_f32le(&b, 1.0f);
    wfs_buf_printf(&b, "%d", 42);
    wfs_buf_fill(&b, 'z', 2);
    data = wfs_buf_steal(&b, &len);
    assert_int_equal(len, 14);
    assert_memory_equal(data, "\1\2\3\4\5\6\0\0\x80\x3f" "42zz", 15);
    free(data);
    assert_null(wfs_buf_reserve(&b, SIZE_MAX));
    wfs_buf_str(&b, "lost");
    assert_null(wfs_buf_steal(&b, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_escape_and_wrap), cmocka_unit_test(utf8),    cmocka_unit_test(maps),
        cmocka_unit_test(cursor_stays_in_bounds), cmocka_unit_test(buffers), cmocka_unit_test(checked_arithmetic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
