#include "gguf/naming.h"
#include "gguf_vectors.h"

#include <errno.h>

/* Splits a line at tabs in place; the fields of a vector's row. */
static size_t fields_of(char *line, char **fields, size_t max)
{
    size_t n = 0;

    for (char *p = line; p && n < max; n++)
        fields[n] = strsep(&p, "\t");
    return n;
}

static void check_field(const char *row, const char *ours, const char *expect)
{
    if (strcmp(ours ? ours : "\\N", expect) != 0)
        fail_msg("%s: ours \"%s\", reference \"%s\"", row, ours ? ours : "\\N", expect);
}

static void test_names(void **state)
{
    char *text = vector_text("names.tsv", NULL), *rest = text, *line;
    size_t rows = 0;

    (void)state;
    while ((line = strsep(&rest, "\n")) && *line) {
        char *f[9], *title;
        struct wfs_model_id id;

        assert_int_equal(fields_of(line, f, 9), 9);
        assert_int_equal(wfs_naming_split(f[0], strtoull(f[1], NULL, 10), &id), 0);
        title = wfs_naming_title(id.name);
        check_field(f[0], id.name, f[2]);
        check_field(f[0], id.organization, f[3]);
        check_field(f[0], id.basename, f[4]);
        check_field(f[0], id.finetune, f[5]);
        check_field(f[0], id.version, f[6]);
        check_field(f[0], id.size_label, f[7]);
        check_field(f[0], title, f[8]);
        free(title);
        wfs_model_id_done(&id);
        rows++;
    }
    assert_true(rows > 700);
    free(text);
}

static void test_sizes(void **state)
{
    char *text = vector_text("sizes.tsv", NULL), *rest = text, *line;
    size_t rows = 0;

    (void)state;
    while ((line = strsep(&rest, "\n")) && *line) {
        char *f[2], label[WFS_SIZE_LABEL_BYTES];

        assert_int_equal(fields_of(line, f, 2), 2);
        wfs_naming_size_label(strtoull(f[0], NULL, 10), label);
        check_field(f[0], label, f[1]);
        rows++;
    }
    assert_true(rows > 300);
    free(text);
}

static void test_not_utf8(void **state)
{
    struct wfs_model_id id;

    (void)state;
    assert_int_equal(wfs_naming_split("Foo-\xff-7B", 0, &id), -EINVAL);
    assert_null(wfs_naming_title("\xc3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_not_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
