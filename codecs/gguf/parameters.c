#include "parameters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_KEYS = 7 };

/* A key of GGUF and where its value comes from: the first hyperparameter that is there. None means no key. */
struct row {
    const char *key;
    bool is_float;
    const char *hparams[MAX_KEYS]; /* NULL-terminated */
};

static const struct row before_rope[] = {
    { "block_count", false, { "n_layers", "num_hidden_layers", "n_layer", "num_layers" } },
    { "context_length", false, { "max_position_embeddings", "n_ctx", "n_positions", "max_length", "max_sequence_length",
                                 "model_max_length" } },
    { "embedding_length", false, { "hidden_size", "n_embd", "dim" } },
    { "feed_forward_length", false, { "prefix_dense_intermediate_size", "dense_intermediate_size", "intermediate_size",
                                      "n_inner", "hidden_dim" } },
    { "attention.head_count", false, { "num_attention_heads", "n_head", "n_heads" } },
    { "attention.head_count_kv", false, { "num_key_value_heads", "n_kv_heads" } },
};

static const struct row after_rope[] = {
    { "attention.layer_norm_rms_epsilon", true, { "rms_norm_eps", "norm_eps" } },
    { "attention.layer_norm_epsilon", true, { "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon" } },
    { "expert_count", false, { "num_local_experts", "num_experts", "n_routed_experts" } },
    { "expert_used_count", false, { "num_experts_per_tok", "num_experts_per_token", "top_k_experts" } },
    { "expert_group_count", false, { "n_group" } },
    { "expert_group_used_count", false, { "topk_group" } },
};

struct writer {
    const struct wfs_arch_input *in;
    struct wfs_kv_list *kv;
    struct wfs_error *err;
};

static int put_rows(const struct writer *w, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *const *key = rows[i].hparams;
        struct wfs_hvalue v;
        int r;

        while (*key && (v = wfs_hparams_get(w->in->hparams, *key)).kind == WFS_H_ABSENT)
            key++;
        if (!*key || v.kind == WFS_H_NULL)
            continue;
        if (rows[i].is_float)
            r = wfs_arch_put_f32(w->in, w->kv, rows[i].key, *key, v, w->err);
        else
            r = wfs_arch_put_u32(w->in, w->kv, rows[i].key, *key, v, w->err);
        if (r < 0)
            return r;
    }
    return 0;
}

static void put_string(const struct writer *w, const char *key, const char *text)
{
    char full[128];

    snprintf(full, sizeof full, "%s.%s", w->in->name, key);
    wfs_kv_string(w->kv, full, text, strlen(text));
}

/* A rope setting as a float key; absent or null writes nothing. */
static int put_rope_f32(const struct writer *w, const char *key, const char *setting)
{
    struct wfs_hvalue v = wfs_hparams_rope(w->in->hparams, setting);

    return v.kind <= WFS_H_NULL ? 0 : wfs_arch_put_f32(w->in, w->kv, key, setting, v, w->err);
}

static int put_yarn(const struct writer *w)
{
    static const char original[] = "original_max_position_embeddings";
    struct wfs_hvalue attention = wfs_hparams_rope(w->in->hparams, "attention_factor");
    int r = wfs_arch_put_u32(w->in, w->kv, "rope.scaling.original_context_length", original,
                             wfs_hparams_rope(w->in->hparams, original), w->err);

    if (r == 0)
        r = put_rope_f32(w, "rope.scaling.yarn_ext_factor", "extrapolation_factor");
    /* A null attention_factor is there all the same, so attn_factor is not asked. */
    if (r == 0)
        r = put_rope_f32(w, "rope.scaling.yarn_attn_factor",
                         attention.kind == WFS_H_ABSENT ? "attn_factor" : "attention_factor");
    if (r == 0)
        r = put_rope_f32(w, "rope.scaling.yarn_beta_fast", "beta_fast");
    if (r == 0)
        r = put_rope_f32(w, "rope.scaling.yarn_beta_slow", "beta_slow");
    return r;
}

static int put_rope_scaling(const struct writer *w)
{
    struct wfs_hvalue type = wfs_hparams_rope(w->in->hparams, "rope_type");
    bool has_factor = wfs_hparams_rope(w->in->hparams, "factor").kind > WFS_H_NULL;
    const char *name;
    int r;

    if (type.kind <= WFS_H_NULL)
        return 0;
    if (type.kind != WFS_H_STRING)
        return wfs_error_set(w->err, EINVAL, "config.json: rope setting \"rope_type\" is %s, a string is needed",
                             wfs_hvalue_kind_name(type));
    name = wfs_json_string(type.node);
    if (strcmp(name, "su") == 0 || strcmp(name, "longrope") == 0) {
        put_string(w, "rope.scaling.type", "longrope");
        return 0;
    }
    if (!has_factor || (strcmp(name, "linear") != 0 && strcmp(name, "yarn") != 0))
        return 0;
    put_string(w, "rope.scaling.type", name);
    r = put_rope_f32(w, "rope.scaling.factor", "factor");
    return r == 0 && strcmp(name, "yarn") == 0 ? put_yarn(w) : r;
}

/* mrope_section, padded to four (only a rope dict can have it). */
static int put_sections(const struct writer *w)
{
    enum { N_SECTIONS = 4 };
    const cJSON *list = wfs_json_get(w->in->hparams->rope, "mrope_section");
    struct wfs_buf items = WFS_BUF_INIT;
    char full[128];
    int n = 0;

    if (!list)
        return 0;
    if (!cJSON_IsArray(list))
        return wfs_error_set(w->err, EINVAL, "config.json: \"mrope_section\" is not a list of integers");
    for (const cJSON *item = list->child; item && n < N_SECTIONS; item = item->next, n++) {
        int64_t v;

        if (!wfs_json_i64(item, &v) || v < INT32_MIN || v > INT32_MAX) {
            wfs_buf_done(&items);
            return wfs_error_set(w->err, EINVAL, "config.json: \"mrope_section\" is not a list of integers");
        }
        wfs_buf_u32le(&items, (uint32_t)v);
    }
    for (; n < N_SECTIONS; n++)
        wfs_buf_u32le(&items, 0);
    snprintf(full, sizeof full, "%s.rope.dimension_sections", w->in->name);
    wfs_kv_array(w->kv, full, WFS_GGUF_I32, N_SECTIONS, &items);
    return 0;
}

static int put_frequencies(const struct writer *w)
{
    static const char *const local[] = { "local_rope_theta", "rope_local_theta", "rope_theta_local", "swa_rope_theta",
                                         "rope_local_base_freq", NULL };
    struct wfs_hvalue swa = wfs_hparams_find(w->in->hparams, local);
    int r = put_rope_f32(w, "rope.freq_base", "rope_theta");

    if (r == 0 && swa.kind > WFS_H_NULL)
        r = wfs_arch_put_f32(w->in, w->kv, "rope.freq_base_swa", local[0], swa, w->err);
    return r;
}

static int put_gating(const struct writer *w)
{
    static const char *const keys[] = { "score_function", "scoring_func", "score_func", "moe_router_activation",
                                        "moe_router_activation_func", "expert_selection_fn", NULL };

    if (wfs_hparams_find(w->in->hparams, keys).kind > WFS_H_NULL)
        return wfs_error_set(w->err, ENOTSUP,
                             "config.json: a mixture of experts (\"scoring_func\") is not supported yet");
    return 0;
}

static int put_head_dim(const struct writer *w)
{
    struct wfs_hvalue v = wfs_hparams_get(w->in->hparams, "head_dim");
    int r;

    if (v.kind <= WFS_H_NULL)
        return 0;
    r = wfs_arch_put_u32(w->in, w->kv, "attention.key_length", "head_dim", v, w->err);
    return r == 0 ? wfs_arch_put_u32(w->in, w->kv, "attention.value_length", "head_dim", v, w->err) : r;
}

static int put_causal(const struct writer *w)
{
    struct wfs_hvalue v = wfs_hparams_get(w->in->hparams, "is_causal");
    char full[128];

    if (v.kind == WFS_H_BOOL && v.i == 0) {
        snprintf(full, sizeof full, "%s.attention.causal", w->in->name);
        wfs_kv_bool(w->kv, full, false);
    }
    return 0;
}

static int refuse_experts(const struct writer *w)
{
    static const char *const keys[] = { "num_local_experts", "num_experts", "n_routed_experts", NULL };
    struct wfs_hvalue v = wfs_hparams_find(w->in->hparams, keys);

    if (wfs_hvalue_is_true(v))
        return wfs_error_set(w->err, ENOTSUP, "config.json: a mixture of experts is not supported yet");
    return 0;
}

int wfs_gguf_write_parameters(const struct wfs_arch *arch, const struct wfs_arch_input *in, uint32_t file_type,
                              struct wfs_kv_list *kv, struct wfs_error *err)
{
    const struct writer w = { in, kv, err };
    int r = refuse_experts(&w);

    if (r == 0)
        r = put_rows(&w, before_rope, sizeof before_rope / sizeof *before_rope);
    if (r == 0)
        r = put_causal(&w);
    if (r == 0)
        r = put_rope_scaling(&w);
    if (r == 0)
        r = put_sections(&w);
    if (r == 0)
        r = put_frequencies(&w);
    if (r == 0)
        r = put_rows(&w, after_rope, sizeof after_rope / sizeof *after_rope);
    if (r == 0)
        r = put_gating(&w);
    if (r == 0)
        r = put_head_dim(&w);
    if (r == 0)
        wfs_kv_u32(kv, "general.file_type", file_type);
    return r == 0 ? arch->set_parameters(in, kv, err) : r;
}
