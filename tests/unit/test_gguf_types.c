/*
 * The types that llama-quantize chooses, against llama.cpp's own snapshots and against runs of llama-quantize
 * (tests/vectors/make_file_types.py says how the files are made and what their lines mean).
 */
#include "gguf/file_types.h"
#include "gguf/name_pattern.h"
#include "gguf_vectors.h"

#include <errno.h>

enum { MAX_TENSORS = 4000, MAX_OVERRIDES = 4 };

static const struct {
    const char *name;
    enum wfs_file_type type;
} file_types[] = {
    { "F32", WFS_FTYPE_F32 },         { "F16", WFS_FTYPE_F16 },         { "BF16", WFS_FTYPE_BF16 },
    { "Q4_0", WFS_FTYPE_Q4_0 },       { "Q4_1", WFS_FTYPE_Q4_1 },       { "Q5_0", WFS_FTYPE_Q5_0 },
    { "Q5_1", WFS_FTYPE_Q5_1 },       { "Q8_0", WFS_FTYPE_Q8_0 },       { "Q2_K", WFS_FTYPE_Q2_K },
    { "Q2_K_S", WFS_FTYPE_Q2_K_S },   { "Q3_K_S", WFS_FTYPE_Q3_K_S },   { "Q3_K_M", WFS_FTYPE_Q3_K_M },
    { "Q3_K_L", WFS_FTYPE_Q3_K_L },   { "Q4_K_S", WFS_FTYPE_Q4_K_S },   { "Q4_K_M", WFS_FTYPE_Q4_K_M },
    { "Q5_K_S", WFS_FTYPE_Q5_K_S },   { "Q5_K_M", WFS_FTYPE_Q5_K_M },   { "Q6_K", WFS_FTYPE_Q6_K },
    { "IQ1_S", WFS_FTYPE_IQ1_S },     { "IQ1_M", WFS_FTYPE_IQ1_M },     { "IQ2_XXS", WFS_FTYPE_IQ2_XXS },
    { "IQ2_XS", WFS_FTYPE_IQ2_XS },   { "IQ2_S", WFS_FTYPE_IQ2_S },     { "IQ2_M", WFS_FTYPE_IQ2_M },
    { "IQ3_XXS", WFS_FTYPE_IQ3_XXS }, { "IQ3_XS", WFS_FTYPE_IQ3_XS },   { "IQ3_S", WFS_FTYPE_IQ3_S },
    { "IQ3_M", WFS_FTYPE_IQ3_M },     { "IQ4_NL", WFS_FTYPE_IQ4_NL },   { "IQ4_XS", WFS_FTYPE_IQ4_XS },
    { "TQ1_0", WFS_FTYPE_TQ1_0 },     { "TQ2_0", WFS_FTYPE_TQ2_0 },     { "Q1_0", WFS_FTYPE_Q1_0 },
    { "Q2_0", WFS_FTYPE_Q2_0 },       { "MXFP4_MOE", WFS_FTYPE_MXFP4_MOE },
};

static enum wfs_ggml_type type_named(const char *name)
{
    for (size_t i = 0; i < WFS_TYPE_COUNT; i++) {
        if (wfs_ggml_types[i].name && strcasecmp(wfs_ggml_types[i].name, name) == 0)
            return (enum wfs_ggml_type)i;
    }
    fail_msg("there is no type %s", name);
    return WFS_TYPE_COUNT;
}

static enum wfs_file_type file_type_named(const char *name)
{
    for (size_t i = 0; i < sizeof file_types / sizeof *file_types; i++) {
        if (strcmp(file_types[i].name, name) == 0)
            return file_types[i].type;
    }
    fail_msg("there is no file type %s", name);
    return WFS_FTYPE_F32;
}

struct item { /* a tensor of the model that is read, and what a section expects */
    struct wfs_quant_tensor tensor;
    char name[80];
    int block; /* -1: none */
    enum wfs_ggml_type expected;
};

static struct {
    char id[40], arch[20], section[120], error[120], needs[80];
    struct wfs_quant_model model;
    struct item items[MAX_TENSORS];
    size_t n;
    bool sorted;
    struct wfs_quant_recipe recipe;
    struct wfs_quant_override overrides[MAX_OVERRIDES];
} now;

static size_t n_sections;
static bool tells_needs; /* the file says which tensors need weights */

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return x->block != y->block ? x->block - y->block : strcmp(x->name, y->name);
}

/* Calls fn for the name with each block of "0-3,7"; text NULL: once, for the name alone. */
static void each_block(const char *suffix, char *text, void (*fn)(const char *name, int block, const void *arg),
                       const void *arg)
{
    char name[80], *item;

    if (!text)
        fn(suffix, -1, arg);
    while (text && (item = strsep(&text, ","))) {
        char *dash = strchr(item, '-');

        for (int b = atoi(item), last = dash ? atoi(dash + 1) : b; b <= last; b++) {
            snprintf(name, sizeof name, "blk.%d.%s", b, suffix);
            fn(name, b, arg);
        }
    }
}

static void add(const char *name, int block, const void *arg)
{
    struct item *item = &now.items[now.n++];

    assert_true(now.n <= MAX_TENSORS);
    item->tensor = *(const struct wfs_quant_tensor *)arg;
    item->block = block;
    snprintf(item->name, sizeof item->name, "%s", name);
}

static void expect(const char *name, int block, const void *arg)
{
    struct item key = { .block = block }, *found;

    snprintf(key.name, sizeof key.name, "%s", name);
    found = bsearch(&key, now.items, now.n, sizeof key, compare_items);
    if (!found)
        fail_msg("%s: there is no tensor %s", now.id, name);
    found->expected = *(const enum wfs_ggml_type *)arg;
}

static void describe(char *rest)
{
    char *words[6];

    for (size_t i = 0; i < 6; i++)
        words[i] = strsep(&rest, " ");
    snprintf(now.id, sizeof now.id, "%s", words[0]);
    snprintf(now.arch, sizeof now.arch, "%s", words[1]);
    now.model = (struct wfs_quant_model){ now.arch, (uint32_t)atoi(words[2]), (uint32_t)atoi(words[3]),
                                          (uint32_t)atoi(words[4]), (uint32_t)atoi(words[5]) };
    now.n = 0;
    now.sorted = false;
}

static void read_tensor(char *rest)
{
    char *suffix = strsep(&rest, " ");
    struct wfs_quant_tensor t = { 0 };

    t.row_elems = strtoull(strsep(&rest, " "), NULL, 10);
    t.n_matrices = strtoull(strsep(&rest, " "), NULL, 10);
    t.n_dims = (unsigned)atoi(strsep(&rest, " "));
    t.type = type_named(strsep(&rest, " "));
    each_block(suffix, rest, add, &t);
}

static void take_flag(const char *flag)
{
    struct wfs_quant_recipe *r = &now.recipe;
    const char *value = strchr(flag, '=');
    struct wfs_error err;

    if (strcmp(flag, "imatrix") == 0) {
        r->has_imatrix = true;
    } else if (strcmp(flag, "pure") == 0) {
        r->pure = true;
    } else if (strcmp(flag, "leave-output") == 0) {
        r->leave_output = true;
    } else if (strncmp(flag, "output=", 7) == 0) {
        r->output = type_named(value + 1);
    } else if (strncmp(flag, "token-embedding=", 16) == 0) {
        r->token_embedding = type_named(value + 1);
    } else {
        const char *type = strchr(value + 1, '=');
        struct wfs_quant_override *o = &now.overrides[r->n_overrides++];

        assert_true(r->n_overrides <= MAX_OVERRIDES);
        assert_int_equal(wfs_name_pattern_new(value + 1, (size_t)(type - value - 1), &o->pattern, &err), 0);
        o->type = type_named(type + 1);
    }
}

static void begin_section(char *rest)
{
    char *name, *flag;
    enum wfs_ggml_type type;

    snprintf(now.section, sizeof now.section, "%s", rest);
    if (!now.sorted) {
        qsort(now.items, now.n, sizeof *now.items, compare_items);
        for (size_t i = 0; i < now.n; i++) {
            now.items[i].tensor.name = now.items[i].name;
            wfs_quant_classify(&now.items[i].tensor);
        }
        now.sorted = true;
    }
    name = strsep(&rest, " ");
    type = type_named(strsep(&rest, " "));
    now.recipe = (struct wfs_quant_recipe)WFS_QUANT_PLAIN(file_type_named(name));
    now.recipe.overrides = now.overrides;
    while ((flag = strsep(&rest, " ")))
        take_flag(flag);
    assert_int_equal(wfs_quant_default_type(now.recipe.file_type), type);
    for (size_t i = 0; i < now.n; i++)
        now.items[i].expected = type;
    now.error[0] = now.needs[0] = '\0';
}

static void check_section(void)
{
    static struct wfs_quant_tensor tensors[MAX_TENSORS];
    static struct wfs_quant_choice choices[MAX_TENSORS];
    const char *needs = "";
    struct wfs_error err = { 0 };
    int r;

    for (size_t i = 0; i < now.n; i++)
        tensors[i] = now.items[i].tensor;
    r = wfs_quant_choose(&now.recipe, &now.model, tensors, now.n, choices, &err);
    if ((r < 0) != (now.error[0] != '\0'))
        fail_msg("%s %s: ours \"%s\", reference \"%s\"", now.id, now.section, r < 0 ? err.msg : "", now.error);
    for (size_t i = 0; i < now.n && r == 0; i++) {
        if (choices[i].type != now.items[i].expected)
            fail_msg("%s %s: %s: ours %s, reference %s", now.id, now.section, tensors[i].name,
                     wfs_ggml_types[choices[i].type].name, wfs_ggml_types[now.items[i].expected].name);
        if (choices[i].needs_weights && !*needs)
            needs = tensors[i].name;
    }
    if (r == 0 && tells_needs && !now.recipe.has_imatrix && strcmp(needs, now.needs) != 0)
        fail_msg("%s %s needs weights for: ours \"%s\", reference \"%s\"", now.id, now.section, needs, now.needs);
    for (size_t i = 0; i < now.recipe.n_overrides; i++)
        wfs_name_pattern_free(now.overrides[i].pattern);
    now.section[0] = '\0';
    n_sections++;
}

static void check_file(const char *name, bool with_needs)
{
    char *text = vector_text(name, NULL), *rest = text, *line;

    now.section[0] = '\0';
    n_sections = 0;
    tells_needs = with_needs;
    while ((line = strsep(&rest, "\n"))) {
        char *tail = line, *word = strsep(&tail, " ");

        if (now.section[0] && (!*line || strcmp(word, "section") == 0 || strcmp(word, "model") == 0))
            check_section();
        if (!*line || *line == '#')
            continue;
        if (strcmp(word, "model") == 0) {
            describe(tail);
        } else if (strcmp(word, "tensor") == 0) {
            read_tensor(tail);
        } else if (strcmp(word, "section") == 0) {
            begin_section(tail);
        } else if (strcmp(word, "error") == 0) {
            snprintf(now.error, sizeof now.error, "%s", tail);
        } else if (strcmp(word, "needs") == 0) {
            snprintf(now.needs, sizeof now.needs, "%s", tail);
        } else {
            enum wfs_ggml_type type = type_named(strsep(&tail, " "));

            each_block(word, tail, expect, &type);
        }
    }
    free(text);
}

/* Twelve real models, 33 file types each. */
static void test_snapshots(void **state)
{
    (void)state;
    check_file("type_snapshots.txt", false);
    assert_true(n_sections >= 12 * 33);
}

static void test_runs(void **state)
{
    (void)state;
    check_file("type_runs.txt", true);
    assert_true(n_sections > 1000);
}

/* What a message must say, and what changed because of a shape. */
static void test_messages(void **state)
{
    struct wfs_quant_tensor in = { .name = "blk.0.ffn_up.weight", .row_elems = 72, .n_matrices = 1, .n_dims = 2,
                                   .type = WFS_TYPE_BF16 };
    struct wfs_quant_model model = { "llama", 1, 1, 1, 0 };
    struct wfs_quant_recipe recipe = WFS_QUANT_PLAIN(WFS_FTYPE_Q8_0);
    struct wfs_quant_choice choice = { .type = WFS_TYPE_COUNT, .wanted = WFS_TYPE_COUNT };
    struct wfs_error err = { 0 };

    (void)state;
    wfs_quant_classify(&in);
    assert_true(wfs_quant_choose(&recipe, &model, &in, 1, &choice, &err) < 0);
    assert_contains(err.msg, "tensor blk.0.ffn_up.weight");
    assert_contains(err.msg, "no tensor type fallback is defined");
    recipe.file_type = WFS_FTYPE_Q4_K_M;
    assert_int_equal(wfs_quant_choose(&recipe, &model, &in, 1, &choice, &err), 0);
    assert_int_equal(choice.type, WFS_TYPE_F16);
    assert_int_equal(choice.wanted, WFS_TYPE_Q4_K);
    recipe.file_type = (enum wfs_file_type)99;
    assert_true(wfs_quant_choose(&recipe, &model, &in, 1, &choice, &err) < 0);
    assert_contains(err.msg, "file type 99");
    assert_int_equal(wfs_quant_default_type(recipe.file_type), WFS_TYPE_COUNT);
    /* A type that was asked for has no fallback: llama-quantize aborts. */
    in.name = "output.weight";
    wfs_quant_classify(&in);
    recipe.file_type = WFS_FTYPE_Q4_K_M;
    recipe.output = WFS_TYPE_Q8_0;
    assert_true(wfs_quant_choose(&recipe, &model, &in, 1, &choice, &err) < 0);
    assert_contains(err.msg, "tensor output.weight: rows of 72 elements are not whole q8_0 blocks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshots),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
