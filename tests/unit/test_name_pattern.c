/* Patterns for names of tensors, against what llama-quantize's std::regex finds (tests/vectors/make_file_types.py). */
#include "gguf/name_pattern.h"
#include "gguf_vectors.h"

#include <errno.h>

enum { MAX_NAMES = 40 };

static char *names[MAX_NAMES];
static size_t n_names, n_taken;

/* What weightfs takes finds the same names; what the reference refuses is refused. */
static void check(const char *found, bool must_take, const char *text)
{
    struct wfs_name_pattern *p = NULL;
    struct wfs_error err = { 0 };
    int r = wfs_name_pattern_new(text, strlen(text), &p, &err);

    if (r < 0 && must_take)
        fail_msg("%s: refused: %s", text, err.msg);
    if (r == 0 && strcmp(found, "error") == 0)
        fail_msg("%s: the reference refuses it", text);
    for (size_t i = 0; i < n_names && r == 0; i++) {
        if (wfs_name_pattern_matches(p, names[i], &err) != found[i] - '0')
            fail_msg("%s: in %s the reference finds %s", text, names[i], found[i] == '1' ? "it" : "nothing");
    }
    n_taken += r == 0;
    wfs_name_pattern_free(p);
}

static void test_reference(void **state)
{
    char *text = vector_text("patterns.txt", NULL), *rest = text, *line = strsep(&rest, "\n"), *name;

    (void)state;
    strsep(&line, " ");
    while ((name = strsep(&line, " ")))
        names[n_names++] = name;
    while ((line = strsep(&rest, "\n")) && *line) {
        const char *found = strsep(&line, " "), *sign = strsep(&line, " ");

        check(found, *sign == '+', line);
    }
    assert_true(n_taken > 400);
    free(text);
}

static void refuse(const char *text, const char *reason)
{
    struct wfs_name_pattern *p = NULL;
    struct wfs_error err = { 0 };

    if (wfs_name_pattern_new(text, strlen(text), &p, &err) == 0)
        fail_msg("%s: taken", text);
    assert_null(p);
    assert_contains(err.msg, reason);
}

static void test_messages(void **state)
{
    char deep[200], long_one[2000];

    (void)state;
    refuse("", "is empty");
    refuse("a(b", "\"a(b\" at byte 4: a group is not closed");
    refuse("a)b", "at byte 2: there is no group to close");
    refuse("[a", "a bracket is not closed");
    refuse("*a", "there is nothing to repeat");
    refuse("(a)\\1", "references to groups");
    refuse("\\x41", "this escape is not supported");
    refuse("a{101}", "up to 100");
    refuse("a{3,2}", "smaller");
    refuse("a{99999999999}", "up to 100");
    refuse("\xc3\xa4", "only printable ASCII");
    refuse("a\\", "a backslash at the end");
    refuse("(?i)a", "only (?:, (?= and (?!");
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    refuse(deep, "nested too deeply");
    memset(long_one, 'a', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    refuse(long_one, "more than 1000 bytes");
}

/* A search that would not end is given up. */
static void test_too_long(void **state)
{
    struct wfs_name_pattern *p = NULL;
    struct wfs_error err = { 0 };

    (void)state;
    assert_int_equal(wfs_name_pattern_new("(a|aa)+[!?]$", 12, &p, &err), 0);
    assert_true(wfs_name_pattern_matches(p, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!x?b", &err) < 0);
    assert_contains(err.msg, "takes too long");
    wfs_name_pattern_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
