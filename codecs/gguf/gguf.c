#include "gguf.h"
#include "../base/cleanup.h"
#include "../tokenizer/tokenizer.h"
#include "metadata.h"
#include "parameters.h"
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONVERTED(name, number) { name, true, { .converter = true, .recipe = WFS_QUANT_PLAIN(WFS_FTYPE_##number) } }
#define QUANTISED(name, number, usual) { name, usual, { .recipe = WFS_QUANT_PLAIN(WFS_FTYPE_##number) } }

/* Source of the names and aliases: QUANT_OPTIONS of llama.cpp's quantize.cpp. */
const struct wfs_gguf_format wfs_gguf_formats[] = {
    CONVERTED("f32", F32),
    CONVERTED("f16", F16),
    CONVERTED("bf16", BF16),
    QUANTISED("q8_0", Q8_0, true),
    QUANTISED("q6_k", Q6_K, true),
    QUANTISED("q5_k_m", Q5_K_M, true),
    QUANTISED("q5_k_s", Q5_K_S, false),
    QUANTISED("q5_1", Q5_1, false),
    QUANTISED("q5_0", Q5_0, false),
    QUANTISED("q4_k_m", Q4_K_M, true),
    QUANTISED("q4_k_s", Q4_K_S, true),
    QUANTISED("q4_1", Q4_1, false),
    QUANTISED("q4_0", Q4_0, true),
    QUANTISED("iq4_nl", IQ4_NL, false),
    QUANTISED("iq4_xs", IQ4_XS, true),
    QUANTISED("q3_k_l", Q3_K_L, false),
    QUANTISED("q3_k_m", Q3_K_M, true),
    QUANTISED("q3_k_s", Q3_K_S, false),
    QUANTISED("iq3_m", IQ3_M, false),
    QUANTISED("iq3_s", IQ3_S, false),
    QUANTISED("iq3_xs", IQ3_XS, false),
    QUANTISED("iq3_xxs", IQ3_XXS, false),
    QUANTISED("q2_k", Q2_K, true),
    QUANTISED("q2_k_s", Q2_K_S, false),
    QUANTISED("iq2_m", IQ2_M, false),
    QUANTISED("iq2_s", IQ2_S, false),
    QUANTISED("iq2_xs", IQ2_XS, false),
    QUANTISED("iq2_xxs", IQ2_XXS, false),
    QUANTISED("iq1_m", IQ1_M, false),
    QUANTISED("iq1_s", IQ1_S, false),
    QUANTISED("tq2_0", TQ2_0, false),
    QUANTISED("tq1_0", TQ1_0, false),
    QUANTISED("q2_0", Q2_0, false),
    QUANTISED("q1_0", Q1_0, false),
    QUANTISED("mxfp4_moe", MXFP4_MOE, false),
    QUANTISED("q5_k", Q5_K_M, false),
    QUANTISED("q4_k", Q4_K_M, false),
    QUANTISED("q3_k", Q3_K_M, false),
};
const size_t wfs_gguf_n_formats = sizeof wfs_gguf_formats / sizeof *wfs_gguf_formats;

/* llama.cpp's limit (LLAMA_MAX_LAYERS), on which llama-quantize aborts. */
enum { MAX_LAYERS = 512 };

static uint32_t read_u32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ARCH.KEY as llama-quantize reads it back, of an array the first (that of layer 0); fallback when it is not there. */
static uint32_t u32_of(const struct wfs_kv_list *kv, const char *arch, const char *key, uint32_t fallback)
{
    enum { ARRAY_HEAD = 4 + 8 };
    const struct wfs_kv *item;
    char full[128];

    snprintf(full, sizeof full, "%s.%s", arch, key);
    item = wfs_kv_find(kv, full);
    if (item && item->type == WFS_GGUF_U32)
        return read_u32(item->value);
    if (item && item->type == WFS_GGUF_ARRAY && item->value_len >= ARRAY_HEAD + 4 &&
        (read_u32(item->value) == WFS_GGUF_U32 || read_u32(item->value) == WFS_GGUF_I32))
        return read_u32(item->value + ARRAY_HEAD);
    return fallback;
}

/* Keys without which llama-quantize cannot load its input. Source: llama_model_base::load_hparams and
 * load_arch_hparams. */
static int find_quantise_problem(struct wfs_gguf *g, const struct wfs_kv_list *kv)
{
    static const char *const needed[] = { "context_length", "embedding_length", "block_count",
                                          "attention.layer_norm_rms_epsilon" };
    char key[128];

    for (size_t i = 0; i < sizeof needed / sizeof *needed && !g->quantise_problem; i++) {
        snprintf(key, sizeof key, "%s.%s", g->arch->name, needed[i]);
        if (!wfs_kv_find(kv, key) &&
            asprintf(&g->quantise_problem, "llama-quantize needs the key %s, which config.json does not give", key) < 0)
            return -ENOMEM;
    }
    if (!g->quantise_problem && (g->quant.n_layers == 0 || g->quant.n_layers > MAX_LAYERS) &&
        asprintf(&g->quantise_problem, "llama-quantize takes 1 to %d layers, the model has %u", MAX_LAYERS,
                 g->quant.n_layers) < 0)
        return -ENOMEM;
    return 0;
}

/* The metadata in the converter's order, with the placeholder general.file_type that each view replaces. */
static int write_keys(struct wfs_gguf *g, const struct wfs_arch_input *in, const struct wfs_gguf_options *options,
                      struct wfs_kv_list *kv, struct wfs_error *err)
{
    struct wfs_tokenizer_request tokens = { .folder = in->folder, .method = g->arch->vocab, .vocab_size = -1,
                                            .force_pre = options->pretokenizer, .config = in->hparams->root };
    struct wfs_hvalue vocab = wfs_hparams_get(in->hparams, "vocab_size");
    uint64_t n_tokens;
    int r;

    wfs_kv_string(kv, "general.architecture", g->arch->name, strlen(g->arch->name));
    r = wfs_metadata_write(in->folder, options->model_name, g->tensors.n_params, in->hparams->root, kv, err);
    if (r == 0)
        r = wfs_gguf_write_parameters(g->arch, in, 0, kv, err);
    if (r < 0)
        return r;
    wfs_kv_u32(kv, "general.quantization_version", 2);
    if (vocab.kind != WFS_H_ABSENT) {
        uint32_t n;

        r = wfs_hvalue_u32(vocab, "vocab_size", &n, err);
        if (r < 0)
            return r;
        tokens.vocab_size = n;
    }
    if (options->before_tokenizer)
        options->before_tokenizer(options->ctx);
    return wfs_tokenizer_write(&tokens, kv, &n_tokens, err);
}

static int open_parts(struct wfs_gguf *g, const struct wfs_folder *folder, const struct wfs_gguf_options *options,
                      const struct wfs_hparams *hparams, struct wfs_error *err)
{
    struct wfs_arch_input in = { .hparams = hparams, .folder = folder };
    struct wfs_hvalue names = wfs_hparams_get(hparams, "architectures");
    WFS_CLEANUP(wfs_kv_done) struct wfs_kv_list kv;
    int r;

    wfs_kv_init(&kv);
    in.hf_name = names.kind == WFS_H_LIST ? wfs_json_string(names.node->child) : NULL;
    if (!in.hf_name)
        return wfs_error_set(err, EINVAL, "config.json does not name an architecture (\"architectures\")");
    g->arch = wfs_arch_find(in.hf_name);
    if (!g->arch)
        return wfs_error_set(err, ENOTSUP, "architecture %s is not supported yet", in.hf_name);
    in.name = g->arch->name;
    r = g->arch->check ? g->arch->check(&in, err) : 0;
    if (r == 0)
        r = wfs_gguf_tensors_make(g->model, g->arch, &in, &g->tensors, err);
    if (r == 0)
        r = write_keys(g, &in, options, &kv, err);
    if (r < 0)
        return r;
    g->quant.n_layers = u32_of(&kv, in.name, "block_count", 0);
    g->quant.n_heads = u32_of(&kv, in.name, "attention.head_count", 0);
    g->quant.n_heads_kv = u32_of(&kv, in.name, "attention.head_count_kv", g->quant.n_heads);
    g->quant.arch = in.name;
    g->quant.n_experts = u32_of(&kv, in.name, "expert_count", 0);
    if (find_quantise_problem(g, &kv) < 0 || wfs_gguf_sort_for_quantise(g) < 0 || wfs_gguf_keys_make(&kv, &g->keys) < 0)
        return wfs_error_set(err, ENOMEM, "out of memory");
    return 0;
}

int wfs_gguf_open(const struct wfs_model *model, const struct wfs_folder *folder,
                  const struct wfs_gguf_options *options, struct wfs_gguf **ret, struct wfs_error *err)
{
    struct wfs_hparams hparams;
    WFS_CLEANUP(wfs_blob_done) struct wfs_blob quant = { NULL, 0 };
    struct wfs_gguf *g;
    int r;

    if (model->problem || model->problem_gguf)
        return wfs_error_set(err, EINVAL, "%s", model->problem ? model->problem : model->problem_gguf);
    r = wfs_hparams_open(folder, &hparams, err);
    if (r < 0)
        return r;
    g = calloc(1, sizeof *g);
    if (!g) {
        wfs_hparams_done(&hparams);
        return wfs_error_set(err, ENOMEM, "out of memory");
    }
    g->model = model;
    r = folder->read(folder->ctx, "hf_quant_config.json", &quant, err);
    if (r > 0)
        r = wfs_error_set(err, ENOTSUP,
                          "hf_quant_config.json: the model is quantised already, which is not supported yet");
    if (r == 0)
        r = open_parts(g, folder, options, &hparams, err);
    wfs_hparams_done(&hparams);
    if (r < 0) {
        wfs_gguf_free(g);
        return r;
    }
    *ret = g;
    return 0;
}

void wfs_gguf_free(struct wfs_gguf *g)
{
    if (!g)
        return;
    wfs_gguf_tensors_done(&g->tensors);
    wfs_gguf_keys_done(&g->keys);
    free(g->sorted);
    free(g->quant_tensors);
    free(g->quantise_problem);
    free(g);
}

const char *wfs_gguf_architecture(const struct wfs_gguf *g)
{
    return g->arch->name;
}
