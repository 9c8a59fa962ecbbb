#include "gguf/file_types.h"
#include "gguf_vectors.h"

#include <errno.h>

enum { MAX_TENSORS = 1000 };

/* The tensors of a model whose blocks are all alike: names with %u for the block, and row lengths. */
struct shape {
    const char *name;
    uint64_t row_elems;
};

struct model {
    const char *schema;
    bool is_70b, tied;
    struct shape blocks[10];
    uint64_t embedding;
};

/* Sizes from the models' own configs (a schema gives names and types only). */
static const struct model models[] = {
    { "qwen3-0.6b",
      false,
      false,
      { { "blk.%u.attn_k.weight", 1024 },
        { "blk.%u.attn_output.weight", 2048 },
        { "blk.%u.attn_q.weight", 1024 },
        { "blk.%u.attn_v.weight", 1024 },
        { "blk.%u.ffn_down.weight", 3072 },
        { "blk.%u.ffn_gate.weight", 1024 },
        { "blk.%u.ffn_up.weight", 1024 } },
      1024 },
    { "qwen3-14b",
      false,
      false,
      { { "blk.%u.attn_k.weight", 5120 },
        { "blk.%u.attn_output.weight", 5120 },
        { "blk.%u.attn_q.weight", 5120 },
        { "blk.%u.attn_v.weight", 5120 },
        { "blk.%u.ffn_down.weight", 17408 },
        { "blk.%u.ffn_gate.weight", 5120 },
        { "blk.%u.ffn_up.weight", 5120 } },
      5120 },
    { "meta-llama-3.1-70b-instruct",
      true,
      false,
      { { "blk.%u.attn_k.weight", 8192 },
        { "blk.%u.attn_output.weight", 8192 },
        { "blk.%u.attn_q.weight", 8192 },
        { "blk.%u.attn_v.weight", 8192 },
        { "blk.%u.ffn_down.weight", 28672 },
        { "blk.%u.ffn_gate.weight", 8192 },
        { "blk.%u.ffn_up.weight", 8192 } },
      8192 },
    { "gemma-3-4b-it",
      false,
      true,
      { { "blk.%u.attn_k.weight", 2560 },
        { "blk.%u.attn_output.weight", 2048 },
        { "blk.%u.attn_q.weight", 2560 },
        { "blk.%u.attn_v.weight", 2560 },
        { "blk.%u.ffn_down.weight", 10240 },
        { "blk.%u.ffn_gate.weight", 2560 },
        { "blk.%u.ffn_up.weight", 2560 } },
      2560 },
    /* Rows of 2880 elements fit no superblock: everything falls back. */
    { "gpt-oss-120b",
      false,
      false,
      { { "blk.%u.attn_k.weight", 2880 },
        { "blk.%u.attn_output.weight", 4096 },
        { "blk.%u.attn_q.weight", 2880 },
        { "blk.%u.attn_v.weight", 2880 },
        { "blk.%u.ffn_down_exps.weight", 2880 },
        { "blk.%u.ffn_gate_exps.weight", 2880 },
        { "blk.%u.ffn_up_exps.weight", 2880 } },
      2880 },
};

static struct wfs_quant_tensor tensors[MAX_TENSORS];
static char names[MAX_TENSORS][64];
static const char *expected[MAX_TENSORS];
static size_t n_tensors;

static void add(const char *format, unsigned block, uint64_t row_elems)
{
    snprintf(names[n_tensors], sizeof *names, format, block);
    tensors[n_tensors] = (struct wfs_quant_tensor){ names[n_tensors], row_elems, 2, WFS_TYPE_BF16 };
    n_tensors++;
}

static void list_tensors(const struct model *m, unsigned n_layers)
{
    n_tensors = 0;
    if (!m->tied)
        add("output.weight", 0, m->embedding);
    add("token_embd.weight", 0, m->embedding);
    for (unsigned b = 0; b < n_layers; b++) {
        for (size_t i = 0; i < 10 && m->blocks[i].name; i++)
            add(m->blocks[i].name, b, m->blocks[i].row_elems);
    }
}

/* What a section says: the type in its headline, but for the tensors that it lists. */
static void read_section(char *text, const char *section)
{
    char *at = strstr(text, section), *line, *rest, *copy;

    assert_non_null(at);
    copy = strdup(at);
    rest = copy;
    line = strsep(&rest, "\n");
    for (size_t i = 0; i < n_tensors; i++)
        expected[i] = strdup(line + strlen(section) + 1);
    while ((line = strsep(&rest, "\n")) && *line && *line != '[') {
        char *space = strchr(line, ' ');
        size_t i = 0;

        assert_non_null(space);
        *space = '\0';
        while (i < n_tensors && strcmp(names[i], line) != 0)
            i++;
        if (i == n_tensors)
            fail_msg("%s is in the schema, not in the test", line);
        free((char *)expected[i]);
        expected[i] = strdup(space + 1);
    }
    free(copy);
}

static void check_section(const struct model *m, char *text, const char *section, enum wfs_file_type type)
{
    struct wfs_quant_model model = { .is_70b = m->is_70b };
    enum wfs_ggml_type types[MAX_TENSORS];
    struct wfs_error err = { 0 };

    assert_non_null(strstr(text, "n_layer="));
    assert_int_equal(sscanf(strstr(text, "n_layer="), "n_layer=%u", &model.n_layers), 1);
    assert_int_equal(sscanf(strstr(text, "n_head="), "n_head=%u", &model.n_heads), 1);
    assert_int_equal(sscanf(strstr(text, "n_head_kv="), "n_head_kv=%u", &model.n_heads_kv), 1);
    list_tensors(m, model.n_layers);
    read_section(text, section);
    if (wfs_quant_types(type, &model, tensors, n_tensors, types, &err) < 0)
        fail_msg("%s %s: %s", m->schema, section, err.msg);
    for (size_t i = 0; i < n_tensors; i++) {
        if (strcmp(wfs_ggml_types[types[i]].name, expected[i]) != 0)
            fail_msg("%s %s %s: ours %s, reference %s", m->schema, section, names[i], wfs_ggml_types[types[i]].name,
                     expected[i]);
        free((char *)expected[i]);
    }
}

static void test_schemas(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char file[100], *text;

        snprintf(file, sizeof file, "%s.schema", models[i].schema);
        text = vector_text(file, NULL);
        check_section(&models[i], text, "[Q4_K_M]", WFS_FTYPE_Q4_K_M);
        check_section(&models[i], text, "[Q8_0]", WFS_FTYPE_Q8_0);
        free(text);
    }
}

/* What stays as it is: vectors, norms, what is not a weight. */
static void test_kept(void **state)
{
    const struct wfs_quant_tensor in[] = {
        { "blk.0.attn_norm.weight", 256, 1, WFS_TYPE_F32 },  { "blk.0.attn_q_norm.weight", 256, 2, WFS_TYPE_F32 },
        { "blk.0.attn_q.bias", 256, 2, WFS_TYPE_F32 },       { "rope_freqs.weight", 32, 1, WFS_TYPE_F32 },
        { "blk.0.ffn_up.weight", 256, 1, WFS_TYPE_BF16 },    { "blk.0.ffn_gate_inp.weight", 256, 2, WFS_TYPE_F32 },
        { "position_embd.weight", 256, 2, WFS_TYPE_F16 },
    };
    struct wfs_quant_model model = { 1, 1, 1, false };
    enum wfs_ggml_type types[7];
    struct wfs_error err = { 0 };

    (void)state;
    assert_int_equal(wfs_quant_types(WFS_FTYPE_Q4_K_M, &model, in, 7, types, &err), 0);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(types[i], in[i].type);
}

static void test_refusals(void **state)
{
    struct wfs_quant_tensor in = { "blk.0.ffn_up.weight", 72, 2, WFS_TYPE_BF16 };
    struct wfs_quant_model model = { 1, 1, 1, false };
    enum wfs_ggml_type type = WFS_TYPE_COUNT;
    struct wfs_error err = { 0 };

    (void)state;
    assert_true(wfs_quant_types(WFS_FTYPE_Q8_0, &model, &in, 1, &type, &err) < 0);
    assert_contains(err.msg, "tensor blk.0.ffn_up.weight");
    assert_contains(err.msg, "no tensor type fallback is defined");
    assert_int_equal(wfs_quant_types(WFS_FTYPE_Q4_K_M, &model, &in, 1, &type, &err), 0);
    assert_int_equal(type, WFS_TYPE_F16);
    assert_true(wfs_quant_types((enum wfs_file_type)99, &model, &in, 1, &type, &err) < 0);
    assert_contains(err.msg, "file type 99");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
