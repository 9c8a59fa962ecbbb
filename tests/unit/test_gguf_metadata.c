#include "gguf/card.h"
#include "gguf/metadata.h"
#include "gguf_vectors.h"

#include <errno.h>

static void test_vectors(void **state)
{
    struct wfs_json *json = vector_json("metadata.json");
    size_t rows = 0;

    (void)state;
    for (const cJSON *row = wfs_json_root(json)->child; row; row = row->next, rows++) {
        const cJSON *files = wfs_json_get(row, "files");
        const char *what = wfs_json_string(wfs_json_get(row, "what")),
                   *text = wfs_json_string(wfs_json_get(files, "config.json"));
        char path[300];
        struct wfs_folder folder = { .ctx = (void *)files, .read = read_member, .path = path };
        struct wfs_json *config = NULL;
        struct wfs_error err = { 0 };
        struct wfs_kv_list kv;
        uint64_t params = 0;
        int r;

        snprintf(path, sizeof path, "/some/where/%s/", wfs_json_string(wfs_json_get(row, "folder")));
        assert_true(wfs_json_u64(wfs_json_get(row, "params"), &params));
        assert_int_equal(wfs_json_parse(text, strlen(text), &WFS_JSON_CONFIG, "config.json", &config, &err), 0);
        wfs_kv_init(&kv);
        r = wfs_metadata_write(&folder, NULL, params, wfs_json_root(config), &kv, &err);
        check_keys(what, r, &err, &kv, wfs_json_string(wfs_json_get(row, "expect")));
        wfs_kv_done(&kv);
        wfs_json_free(config);
    }
    assert_true(rows > 80);
    wfs_json_free(json);
}

/* --model-name beats every other source (the keys are those of gguf-py with metadata.name set). */
static void test_model_name(void **state)
{
    struct wfs_folder folder = { .read = read_member, .path = "/x/Foo-7B-chat" };
    struct wfs_kv_list kv;
    struct wfs_error err = { 0 };
    const struct wfs_kv *name;

    (void)state;
    wfs_kv_init(&kv);
    assert_int_equal(wfs_metadata_write(&folder, "my name", 7000000000, NULL, &kv, &err), 0);
    name = wfs_kv_find(&kv, "general.name");
    assert_non_null(name);
    assert_int_equal(name->value_len, 8 + 7);
    assert_memory_equal(name->value + 8, "my name", 7);
    wfs_kv_done(&kv);

    wfs_kv_init(&kv);
    assert_int_equal(wfs_metadata_write(&folder, "", 7000000000, NULL, &kv, &err), 0);
    assert_null(wfs_kv_find(&kv, "general.name"));
    wfs_kv_done(&kv);

    wfs_kv_init(&kv);
    assert_true(wfs_metadata_write(&folder, "\xff", 7000000000, NULL, &kv, &err) < 0);
    assert_contains(err.msg, "model_name is not UTF-8");
    wfs_kv_done(&kv);
}

static int write_card(const char *readme, struct wfs_error *err)
{
    cJSON *files = cJSON_CreateObject();
    struct wfs_folder folder = { .ctx = files, .read = read_member, .path = "/x/y" };
    struct wfs_kv_list kv;
    int r;

    cJSON_AddStringToObject(files, "README.md", readme);
    wfs_kv_init(&kv);
    r = wfs_metadata_write(&folder, NULL, 0, NULL, &kv, err);
    wfs_kv_done(&kv);
    cJSON_Delete(files);
    return r;
}

static void test_messages(void **state)
{
    struct wfs_error err = { 0 };

    (void)state;
    assert_true(write_card("---\nversion: 1.0\n---\n", &err) < 0);
    assert_contains(err.msg, "README.md: \"version\" is a number where the converter needs a text");
    assert_true(write_card("---\nname: [a\n---\n", &err) < 0);
    assert_contains(err.msg, "README.md: line ");
    assert_true(write_card("---\nlanguage: [en, no]\n---\n", &err) < 0);
    assert_contains(err.msg, "\"language\" holds a boolean");
    assert_true(write_card("---\ntags: [[a]]\n---\n", &err) < 0);
    assert_contains(err.msg, "\"tags\" holds a list in a list");
    assert_true(write_card("---\nname: \xff\n---\n", &err) < 0);
    assert_contains(err.msg, "README.md is not UTF-8");
}

/* A card is a stranger's file: nothing in it may cost more than its size. */
static void test_hostile_yaml(void **state)
{
    struct wfs_error err = { 0 };
    char deep[1000], bomb[4000] = "---\na0: &a0 {x: y}\n";

    (void)state;
    strcpy(deep, "---\nx: ");
    for (int i = 0; i < 400; i++)
        strcat(deep, "[");
    assert_true(write_card(deep, &err) < 0);
    assert_contains(err.msg, "nested too deep");
    /* Each mapping merges the one before it twice. */
    for (int i = 1; i < 60; i++)
        sprintf(bomb + strlen(bomb), "a%d: &a%d {<<: [*a%d, *a%d]}\n", i, i, i - 1, i - 1);
    assert_true(write_card(bomb, &err) < 0);
    assert_contains(err.msg, "too much is merged");
    assert_true(write_card("---\na: &a {<<: *a}\n", &err) < 0);
    assert_contains(err.msg, "recursive");
    assert_int_equal(write_card("---\na: &a [*a]\n", &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_model_name),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_hostile_yaml),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
