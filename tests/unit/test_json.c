/* The strict front: what RFC 8259 and Python's json module say of these texts. */
#include "check.h"
#include "json.h"

#include <errno.h>
#include <math.h>

static int parse(const char *text, size_t len, const struct wfs_json_limits *limits, struct wfs_json **ret,
                 struct wfs_error *err)
{
    char *copy = malloc(len ? len : 1); /* so that a sanitizer sees a look behind the text */
    int r;

    assert_non_null(copy);
    memcpy(copy, text, len);
    err->code = 0;
    err->msg[0] = 0;
    r = wfs_json_parse(copy, len, limits ? limits : &WFS_JSON_CONFIG, "x.json", ret, err);
    free(copy);
    return r;
}

static void accepts(void **state)
{
    static const char *const texts[] = {
        "{}", "[]", " [ ] ", "0", "-0", "1e5", "1.5E-3", "\"\"", "null", "true", "[false,null]", "{\"a\":[{\"b\":{}}]}",
        "[1,2 , 3]", "\"\\ud83d\\ude00\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "[[[]],[[]]]",
        "123456789012345678901234567890",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct wfs_json *json = NULL;
        struct wfs_error err;

        if (parse(texts[i], strlen(texts[i]), NULL, &json, &err) < 0)
            fail_msg("%s: %s", texts[i], err.msg);
        wfs_json_free(json);
    }
}

static void refuses(void **state)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        { "", "the text ends where a value should be" },
        { "[", "the text ends where a value should be" },
        { "[1,]", "a value that JSON does not allow" },
        { "{\"a\":1,}", "an object's key is missing" },
        { "{\"a\" 1}", "no ':' behind" },
        { "{a:1}", "key is missing" },
        { "[1 2]", "neither ','" },
        { "[}", "a value that JSON does not allow" },
        { "01", "a number that JSON does not allow" },
        { "1.", "a number that JSON does not allow" },
        { ".5", "a value that JSON does not allow" },
        { "+1", "a value that JSON does not allow" },
        { "1e", "a number that JSON does not allow" },
        { "-", "a number that JSON does not allow" },
        { "NaN", "a value that JSON does not allow" },
        { "Infinity", "a value that JSON does not allow" },
        { "nul", "a value that JSON does not allow" },
        { "{}x", "something follows" },
        { "\"a\nb\"", "a bare control byte" },
        { "\"\\x\"", "an unknown escape" },
        { "\"\\u12g4\"", "four hexadecimal digits" },
        { "\"\\ud800\"", "half of a surrogate pair" },
        { "\"\\udc00\\ud800\"", "half of a surrogate pair" },
        { "\"abc", "ends within a string" },
        { "\"\\", "ends within a string" },
        { "\xef\xbb\xbf{}", "byte order mark" },
        { "\"\xff\"", "not valid UTF-8" },
        { "\"\xc0\x80\"", "not valid UTF-8" },
        { "\"\xed\xa0\x80\"", "not valid UTF-8" },
        { "/**/1", "a value that JSON does not allow" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wfs_json *json = NULL;
        struct wfs_error err;

        assert_int_equal(parse(cases[i].text, strlen(cases[i].text), NULL, &json, &err), -22);
        assert_contains(err.msg, cases[i].reason);
        assert_contains(err.msg, "x.json: line 1 column");
        assert_null(json);
    }
}

static void a_nul_byte_is_refused_and_an_escaped_one_is_kept(void **state)
{
    struct wfs_json *json = NULL;
    struct wfs_error err;

    (void)state;
    assert_int_equal(parse("[1]\0", 4, NULL, &json, &err), -22);
    assert_int_equal(parse("\"a\0b\"", 5, NULL, &json, &err), -22);
    assert_int_equal(parse("{\"a\\u0000b\":\"c\\u0000d\"}", 23, NULL, &json, &err), 0);
    assert_string_equal(wfs_json_string(wfs_json_get(wfs_json_root(json), "a\xc0\x80" "b")), "c\xc0\x80" "d");
    wfs_json_free(json);
}

static void integers_keep_64_bits(void **state)
{
    const char *text = "[9007199254740993,18446744073709551615,-9223372036854775808,18446744073709551616,1.0,7,-1]";
    struct wfs_json *json = NULL;
    struct wfs_error err;
    const cJSON *n;
    uint64_t u;
    int64_t i;

    (void)state;
    assert_int_equal(parse(text, strlen(text), NULL, &json, &err), 0);
    n = wfs_json_root(json)->child;
    assert_true(wfs_json_u64(n, &u));
    assert_true(u == 9007199254740993u);
    n = n->next;
    assert_true(wfs_json_u64(n, &u));
    assert_true(u == UINT64_MAX);
    assert_false(wfs_json_i64(n, &i));
    n = n->next;
    assert_true(wfs_json_i64(n, &i));
    assert_true(i == INT64_MIN);
    n = n->next;
    assert_false(wfs_json_u64(n, &u));
    n = n->next;
    assert_false(wfs_json_is_int(n));
    assert_false(wfs_json_i64(n, &i));
    n = n->next;
    assert_true(wfs_json_u64(n, &u));
    assert_true(u == 7);
    n = n->next;
    assert_false(wfs_json_u64(n, &u));
    assert_true(wfs_json_i64(n, &i));
    assert_true(i == -1);
    wfs_json_free(json);
}

/* What Python's json.loads takes and gives; the other files' readers refuse it. */
static void pythons_constants(void **state)
{
    static const char text[] = "[NaN, Infinity, -Infinity, 1]";
    static const char *const bad[] = { "nan", "inf", "-NaN", "+Infinity", "Infinit", "Infinityx", "[NaN1]", "-", "N" };
    struct wfs_json *json;
    struct wfs_error err;
    double v[4];
    const cJSON *n;

    (void)state;
    assert_int_equal(parse(text, strlen(text), NULL, &json, &err), -EINVAL);
    assert_int_equal(parse(text, strlen(text), &WFS_JSON_PYTHON, &json, &err), 0);
    n = wfs_json_root(json)->child;
    for (int i = 0; i < 4; i++, n = n->next) {
        assert_true(wfs_json_double(n, &v[i]));
        assert_int_equal(wfs_json_is_int(n), i == 3);
    }
    assert_true(isnan(v[0]) && isinf(v[1]) && v[1] > 0 && isinf(v[2]) && v[2] < 0 && v[3] == 1);
    wfs_json_free(json);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse(bad[i], strlen(bad[i]), &WFS_JSON_PYTHON, &json, &err), -EINVAL);
}

static void duplicate_keys(void **state)
{
    const struct wfs_json_limits unique = { .max_bytes = 1 << 20, .max_depth = 100, .unique_keys = true };
    const char *text = "{\"a\":1,\"A\":2,\"a\":3}", *nested = "[{\"x\":{\"k\":1,\"k\":1}}]";
    struct wfs_json *json = NULL;
    struct wfs_error err;
    int64_t v;

    (void)state;
    assert_int_equal(parse(text, strlen(text), NULL, &json, &err), 0);
    assert_true(wfs_json_i64(wfs_json_get(wfs_json_root(json), "a"), &v));
    assert_true(v == 3);
    assert_true(wfs_json_i64(wfs_json_get(wfs_json_root(json), "A"), &v));
    assert_true(v == 2);
    wfs_json_free(json);
    json = NULL;
    assert_int_equal(parse(text, strlen(text), &unique, &json, &err), -22);
    assert_contains(err.msg, "\"a\" appears twice");
    assert_int_equal(parse(nested, strlen(nested), &unique, &json, &err), -22);
    assert_contains(err.msg, "\"k\" appears twice");
}

/* json.loads of this text in Python 3.11: {'b': 4, 'a': [5], 'c': 3} in that order. */
static void a_repeated_key_keeps_its_first_place_and_its_last_value(void **state)
{
    const char *texts[] = { "{\"b\":1,\"a\":{\"x\":2},\"c\":3,\"b\":{},\"b\":4,\"a\":[5]}",
                            "{\"b\":1,\"a\":{\"x\":2},\"c\":3,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,"
                            "\"b\":{},\"b\":4,\"a\":[5]}" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct wfs_json *json = NULL;
        struct wfs_error err;
        const cJSON *m;
        int64_t v;

        assert_int_equal(parse(texts[i], strlen(texts[i]), NULL, &json, &err), 0);
        m = wfs_json_root(json)->child;
        assert_string_equal(m->string, "b");
        assert_true(wfs_json_i64(m, &v) && v == 4);
        m = m->next;
        assert_string_equal(m->string, "a");
        assert_true(cJSON_IsArray(m) && wfs_json_i64(m->child, &v) && v == 5);
        m = m->next;
        assert_string_equal(m->string, "c");
        assert_int_equal(cJSON_GetArraySize(wfs_json_root(json)), i == 0 ? 3 : 9);
        wfs_json_free(json);
    }
}

static void limits(void **state)
{
    const struct wfs_json_limits small = { .max_bytes = 8, .max_depth = 2 };
    struct wfs_json *json = NULL;
    struct wfs_error err;
    char deep[4096];

    (void)state;
    assert_int_equal(parse("[1,2,3,4,5]", 11, &small, &json, &err), -27);
    assert_int_equal(parse("[[1]]", 5, &small, &json, &err), 0);
    wfs_json_free(json);
    json = NULL;
    assert_int_equal(parse("[[[1]]]", 7, &small, &json, &err), -22);
    assert_contains(err.msg, "nested too deeply");
    memset(deep, '[', sizeof deep);
    assert_int_equal(parse(deep, sizeof deep, NULL, &json, &err), -22);
    assert_contains(err.msg, "nested too deeply");
}

static void hostile_text_is_escaped_in_the_message(void **state)
{
    const struct wfs_json_limits unique = { .max_bytes = 1 << 20, .max_depth = 100, .unique_keys = true };
    const char *text = "{\"\\u001b[31m\":1,\"\\u001b[31m\":1}";
    struct wfs_json *json = NULL;
    struct wfs_error err;

    (void)state;
    assert_int_equal(parse(text, strlen(text), &unique, &json, &err), -22);
    assert_contains(err.msg, "\\x1b[31m");
    assert_null(strchr(err.msg, 0x1b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts),
        cmocka_unit_test(refuses),
        cmocka_unit_test(a_nul_byte_is_refused_and_an_escaped_one_is_kept),
        cmocka_unit_test(integers_keep_64_bits),
        cmocka_unit_test(duplicate_keys),
        cmocka_unit_test(a_repeated_key_keeps_its_first_place_and_its_last_value),
        cmocka_unit_test(limits),
        cmocka_unit_test(pythons_constants),
        cmocka_unit_test(hostile_text_is_escaped_in_the_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
