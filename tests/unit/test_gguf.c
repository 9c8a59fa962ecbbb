/* The GGUF views of models that exist in memory only: which tensors, what each becomes, and what is refused with which
 * words. */
#include "gguf/gguf.h"
#include "gguf_vectors.h"

#include <errno.h>

enum { MAX_TENSORS = 40 };

struct tensor {
    const char *name;
    enum wfs_dtype dtype;
    unsigned n_dims;
    uint64_t dims[5];
};

/* A Llama of one layer; a test adds to it. */
static const struct tensor llama[] = {
    { "lm_head.weight", WFS_BF16, 2, { 8, 256 } },
    { "model.embed_tokens.weight", WFS_BF16, 2, { 8, 256 } },
    { "model.layers.0.input_layernorm.weight", WFS_BF16, 1, { 256 } },
    { "model.layers.0.mlp.down_proj.weight", WFS_BF16, 2, { 256, 512 } },
    { "model.layers.0.mlp.gate_proj.weight", WFS_BF16, 2, { 512, 256 } },
    { "model.layers.0.mlp.up_proj.weight", WFS_BF16, 2, { 512, 256 } },
    { "model.layers.0.post_attention_layernorm.weight", WFS_BF16, 1, { 256 } },
    { "model.layers.0.self_attn.k_proj.bias", WFS_BF16, 1, { 128 } },
    { "model.layers.0.self_attn.k_proj.weight", WFS_BF16, 2, { 128, 256 } },
    { "model.layers.0.self_attn.o_proj.weight", WFS_BF16, 2, { 256, 256 } },
    { "model.layers.0.self_attn.q_proj.weight", WFS_BF16, 2, { 256, 256 } },
    { "model.layers.0.self_attn.v_proj.weight", WFS_BF16, 2, { 128, 256 } },
    { "model.norm.weight", WFS_BF16, 1, { 256 } },
};
enum { N_LLAMA = sizeof llama / sizeof *llama };

static const char config_text[] = "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", "
                                  "\"hidden_size\": 256, \"intermediate_size\": 512, "
                                  "\"num_hidden_layers\": 1, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, "
                                  "\"vocab_size\": 8}";

static struct wfs_tensor model_tensors[MAX_TENSORS];
static struct wfs_model_file model_file = { .name = "model.safetensors", .size = 1 << 20 };
static struct wfs_model model;
static struct tensor changed[MAX_TENSORS];
static cJSON *files;
static struct wfs_folder folder;
static struct wfs_gguf *g;
static struct wfs_error err;

/* Llama's tensors with one changed (by index) or, behind the last, added. NULL: none. */
static void make_model(size_t index, const struct tensor *t)
{
    size_t n = N_LLAMA;

    memcpy(changed, llama, sizeof llama);
    if (t) {
        changed[index] = *t;
        n = index >= n ? index + 1 : n;
    }
    memset(&model, 0, sizeof model);
    for (size_t i = 0; i < n; i++) {
        struct wfs_tensor *m = &model_tensors[i];

        memset(m, 0, sizeof *m);
        m->name = changed[i].name;
        m->name_len = (uint32_t)strlen(m->name);
        m->dims = changed[i].dims;
        m->n_dims = (uint8_t)changed[i].n_dims;
        m->dtype = (uint8_t)changed[i].dtype;
        m->n_elems = 1;
        for (unsigned d = 0; d < m->n_dims; d++)
            m->n_elems *= m->dims[d];
        m->n_bytes = m->n_elems * wfs_dtypes[m->dtype].bits / 8;
    }
    model.tensors = model_tensors;
    model.n_tensors = n;
    model.files = &model_file;
    model.n_files = 1;
}

/* The smallest BPE; its pre-tokenizer is forced, since no real one has such a vocabulary. */
static const char tokenizer_text[] = "{\"added_tokens\": [], \"normalizer\": null, \"pre_tokenizer\": null, "
                                     "\"post_processor\": null, \"decoder\": null, "
                                     "\"model\": {\"type\": \"BPE\", \"byte_fallback\": true, \"fuse_unk\": true, "
                                     "\"unk_token\": \"<unk>\", \"vocab\": "
                                     "{\"<unk>\": 0, \"<s>\": 1, \"</s>\": 2, \"a\": 3, \"b\": 4, \"c\": 5, \"d\": 6, "
                                     "\"ab\": 7}, \"merges\": [\"a b\"]}}";
static const char tokenizer_config_text[] = "{\"tokenizer_class\": \"LlamaTokenizer\"}";

static void make_folder(const char *config)
{
    cJSON_Delete(files);
    files = cJSON_CreateObject();
    cJSON_AddStringToObject(files, "config.json", config);
    cJSON_AddStringToObject(files, "tokenizer.json", tokenizer_text);
    cJSON_AddStringToObject(files, "tokenizer_config.json", tokenizer_config_text);
    folder = (struct wfs_folder){ .ctx = files, .read = read_member, .path = "/models/tiny" };
}

static int open_it(void)
{
    static const struct wfs_gguf_options options = { .pretokenizer = "llama-bpe" };

    wfs_gguf_free(g);
    g = NULL;
    memset(&err, 0, sizeof err);
    return wfs_gguf_open(&model, &folder, &options, &g, &err);
}

static void opens(void)
{
    if (open_it() < 0)
        fail_msg("%s", err.msg);
}

static const struct wfs_gguf_request *format(const char *name)
{
    for (size_t i = 0; i < wfs_gguf_n_formats; i++) {
        if (strcmp(wfs_gguf_formats[i].name, name) == 0)
            return &wfs_gguf_formats[i].request;
    }
    fail_msg("no format %s", name);
    return NULL;
}

static int setup(void **state)
{
    (void)state;
    make_folder(config_text);
    make_model(0, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wfs_gguf_free(g);
    g = NULL;
    cJSON_Delete(files);
    files = NULL;
    return 0;
}

static const struct wfs_plan *plan_of(const struct wfs_layout *l, const char *source)
{
    for (size_t i = 0; i < l->n_segments; i++) {
        if (l->segments[i].kind == WFS_SEGMENT_TENSOR && strcmp(l->segments[i].plan->tensor->name, source) == 0)
            return l->segments[i].plan;
    }
    fail_msg("%s is not in the layout", source);
    return NULL;
}

static void check_plan(const struct wfs_plan *p, enum wfs_ggml_type via, enum wfs_ggml_type dst,
                       enum wfs_row_order order, uint64_t rows, uint64_t row)
{
    assert_int_equal(p->via, via);
    assert_int_equal(p->dst, dst);
    assert_int_equal(p->order, order);
    assert_int_equal(p->n_rows, rows);
    assert_int_equal(p->row_elems, row);
}

static void test_converted(void **state)
{
    struct wfs_layout l;
    const struct wfs_plan *p;

    (void)state;
    opens();
    assert_string_equal(wfs_gguf_architecture(g), "llama");
    assert_int_equal(wfs_gguf_layout(g, format("f16"), &l, &err), 0);
    p = plan_of(&l, "model.layers.0.self_attn.q_proj.weight");
    check_plan(p, WFS_TYPE_F32, WFS_TYPE_F16, WFS_ROWS_ROPE, 256, 256);
    assert_int_equal(p->n_heads, 4);
    assert_false(p->validate || p->validate_via);
    p = plan_of(&l, "model.layers.0.self_attn.k_proj.bias");
    check_plan(p, WFS_TYPE_F32, WFS_TYPE_F32, WFS_ROWS_ROPE, 128, 1);
    assert_int_equal(p->n_heads, 2);
    check_plan(plan_of(&l, "model.layers.0.self_attn.v_proj.weight"), WFS_TYPE_F32, WFS_TYPE_F16, WFS_ROWS_AS_IS, 128,
               256);
    check_plan(plan_of(&l, "model.norm.weight"), WFS_TYPE_F32, WFS_TYPE_F32, WFS_ROWS_AS_IS, 1, 256);
    wfs_layout_done(&l);
}

static void test_quantised(void **state)
{
    struct wfs_layout l;
    const struct wfs_plan *p;
    uint64_t last = 0;

    (void)state;
    opens();
    assert_int_equal(wfs_gguf_layout(g, format("q4_k_m"), &l, &err), 0);
    p = plan_of(&l, "model.layers.0.mlp.down_proj.weight");
    check_plan(p, WFS_TYPE_BF16, WFS_TYPE_Q6_K, WFS_ROWS_AS_IS, 256, 512);
    assert_true(p->validate && p->validate_via);
    check_plan(plan_of(&l, "lm_head.weight"), WFS_TYPE_BF16, WFS_TYPE_Q6_K, WFS_ROWS_AS_IS, 8, 256);
    check_plan(plan_of(&l, "model.embed_tokens.weight"), WFS_TYPE_BF16, WFS_TYPE_Q4_K, WFS_ROWS_AS_IS, 8, 256);
    p = plan_of(&l, "model.norm.weight");
    check_plan(p, WFS_TYPE_F32, WFS_TYPE_F32, WFS_ROWS_AS_IS, 1, 256);
    assert_true(p->validate_via && !p->validate);
    /* Tensors without a layer come first, and every tensor starts at a multiple of 32. */
    for (size_t i = 0; i < l.n_segments; i++) {
        const struct wfs_segment *s = &l.segments[i];

        assert_int_equal(s->begin, last);
        last = s->end;
        if (s->kind == WFS_SEGMENT_TENSOR)
            assert_int_equal(s->begin % 32, 0);
    }
    assert_int_equal(l.size % 32, 0);
    wfs_layout_done(&l);
}

/* --outtype auto looks for the first 16-bit matrix in file order, whatever becomes of it. */
static void test_auto_type(void **state)
{
    struct wfs_layout l;

    (void)state;
    make_model(0, &(struct tensor){ "lm_head.weight", WFS_F16, 2, { 8, 256 } });
    opens();
    assert_int_equal(wfs_gguf_layout(g, format("q8_0"), &l, &err), 0);
    assert_int_equal(plan_of(&l, "model.embed_tokens.weight")->via, WFS_TYPE_F16);
    wfs_layout_done(&l);
    make_model(0, &(struct tensor){ "lm_head.weight", WFS_F32, 2, { 8, 256 } });
    opens();
    assert_int_equal(wfs_gguf_layout(g, format("q8_0"), &l, &err), 0);
    assert_int_equal(plan_of(&l, "lm_head.weight")->via, WFS_TYPE_BF16);
    wfs_layout_done(&l);
}

static void refuses(const char *expect)
{
    assert_true(open_it() < 0);
    assert_contains(err.msg, expect);
}

#define HEADS(heads, kv_heads) \
    "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_size\": 256, " \
    "\"intermediate_size\": 512, \"num_hidden_layers\": 1, \"num_attention_heads\": " heads \
    ", \"num_key_value_heads\": " kv_heads ", \"vocab_size\": 8}"

static void test_refusals(void **state)
{
    (void)state;
    make_model(N_LLAMA, &(struct tensor){ "model.foo.weight", WFS_BF16, 1, { 3 } });
    refuses("tensor model.foo.weight has no place in GGUF architecture llama");
    make_model(N_LLAMA, &(struct tensor){ "model.layers.1.input_layernorm.weight", WFS_BF16, 1, { 3 } });
    refuses("tensor model.layers.1.input_layernorm.weight has no place");
    make_model(N_LLAMA, &(struct tensor){ "norm.weight", WFS_BF16, 1, { 256 } });
    refuses("tensors model.norm.weight and norm.weight both become output_norm.weight in GGUF");
    make_model(N_LLAMA, &(struct tensor){ "model.layers.0.self_attn.o_proj.bias", WFS_U16, 1, { 256 } });
    refuses("tensor model.layers.0.self_attn.o_proj.bias has type U16, which the converter does not take");
    make_model(10, &(struct tensor){ "model.layers.0.self_attn.q_proj.weight", WFS_BF16, 2, { 100, 256 } });
    refuses("tensor model.layers.0.self_attn.q_proj.weight has 100 rows, which do not divide into 4 heads");
    make_model(10, &(struct tensor){ "model.layers.0.self_attn.q_proj.weight", WFS_BF16, 0, { 0 } });
    refuses("tensor model.layers.0.self_attn.q_proj.weight has 1 rows");
    make_model(N_LLAMA, &(struct tensor){ "model.layers.0.block_sparse_moe.gate.weight", WFS_BF16, 2, { 8, 256 } });
    refuses("mixture of experts");
    make_model(0, NULL);
    model.problem = (char *)"the shards are torn";
    refuses("the shards are torn");
    model.problem = NULL;
    model.problem_gguf = (char *)"the converter refuses this";
    refuses("the converter refuses this");
    make_model(0, NULL);
    make_folder("{\"architectures\": [\"MixtralForCausalLM\"], \"model_type\": \"llama\"}");
    refuses("architecture MixtralForCausalLM is not supported yet");
    make_folder("{\"architectures\": [], \"model_type\": \"llama\"}");
    refuses("does not name an architecture");
    /* A bool is an int in Python, but torch's reshape() takes none (cases.py has both). */
    make_folder(HEADS("true", "1"));
    refuses("config.json: the number of heads is a boolean, an integer is needed");
    make_folder(HEADS("4", "true"));
    refuses("config.json: the number of heads is a boolean, an integer is needed");
    make_folder(config_text);
    cJSON_AddStringToObject(files, "hf_quant_config.json", "{}");
    refuses("hf_quant_config.json");
}

/* What only llama-quantize refuses leaves the converter's views alone. */
static void test_quantise_refusals(void **state)
{
    struct wfs_layout l;

    (void)state;
    make_model(5, &(struct tensor){ "model.layers.0.mlp.up_proj.weight", WFS_BF16, 5, { 1, 1, 1, 4, 256 } });
    opens();
    assert_true(wfs_gguf_layout(g, format("q8_0"), &l, &err) < 0);
    assert_contains(err.msg, "tensor blk.0.ffn_up.weight has 5 dimensions, llama-quantize takes at most 4");
    assert_int_equal(wfs_gguf_layout(g, format("bf16"), &l, &err), 0);
    wfs_layout_done(&l);
    make_model(5, &(struct tensor){ "model.layers.0.mlp.up_proj.weight", WFS_BF16, 2, { 4, 100 } });
    opens();
    assert_true(wfs_gguf_layout(g, format("q8_0"), &l, &err) < 0);
    assert_contains(err.msg, "tensor blk.0.ffn_up.weight: rows of 100 elements");
    make_model(0, NULL);
    make_folder("{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_size\": 256, "
                "\"intermediate_size\": 512, \"num_hidden_layers\": 600, \"num_attention_heads\": 4, "
                "\"num_key_value_heads\": 2, \"vocab_size\": 8}");
    opens();
    assert_true(wfs_gguf_layout(g, format("q4_k_m"), &l, &err) < 0);
    assert_contains(err.msg, "llama-quantize takes 1 to 512 layers, the model has 600");
}

/* The README's text, a folder's name or the config turn a Qwen3 into a reranker. */
static void test_reranker(void **state)
{
    (void)state;
    make_folder("{\"architectures\": [\"Qwen3ForCausalLM\"], \"model_type\": \"qwen3\"}");
    cJSON_AddStringToObject(files, "README.md", "# Qwen3-Reranker-0.6B\n");
    refuses("README.md makes the converter treat this as a Qwen3 reranker");
    make_folder("{\"architectures\": [\"Qwen3ForCausalLM\"], \"model_type\": \"qwen3\"}");
    folder.path = "/models/my-qwen3-RERANKER/x";
    refuses("the folder's path makes the converter treat this as a Qwen3 reranker");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_converted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_quantised, setup, teardown),
        cmocka_unit_test_setup_teardown(test_auto_type, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_quantise_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reranker, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
