#include "file_types.h"

#include <errno.h>
#include <string.h>

/* Classes of tensors, by parts of their names; the first row that matches counts. */
enum category {
    CATEGORY_OUTPUT, CATEGORY_TOKEN_EMBD, CATEGORY_ATTN_V, CATEGORY_ATTN_K, CATEGORY_ATTN_Q, CATEGORY_ATTN_OUT,
    CATEGORY_FFN_UP, CATEGORY_FFN_GATE, CATEGORY_FFN_DOWN, CATEGORY_OTHER,
    CATEGORY_COUNT
};

static const struct {
    const char *part;
    bool whole; /* the whole name, not a part of it */
    enum category category;
} categories[] = {
    { "output.weight", true, CATEGORY_OUTPUT },
    { "token_embd.weight", true, CATEGORY_TOKEN_EMBD },
    { "per_layer_token_embd.weight", true, CATEGORY_TOKEN_EMBD },
    { "attn_qkv.weight", false, CATEGORY_ATTN_V },
    { "attn_kv_b.weight", false, CATEGORY_ATTN_V },
    { "attn_v.weight", false, CATEGORY_ATTN_V },
    { "attn_k.weight", false, CATEGORY_ATTN_K },
    { "attn_q.weight", false, CATEGORY_ATTN_Q },
    { "attn_output.weight", false, CATEGORY_ATTN_OUT },
    { "ffn_up", false, CATEGORY_FFN_UP },
    { "ffn_gate", false, CATEGORY_FFN_GATE },
    { "ffn_down", false, CATEGORY_FFN_DOWN },
};

/* When a rule of a file type applies to the i-th of n tensors of its class. */
enum rule_when { NEVER, MORE_BITS };

struct rule {
    enum rule_when when;
    enum wfs_ggml_type type;
};

/* A file type: the type of most tensors, and what some classes get instead. Classes without a row keep the default. */
struct file_type {
    enum wfs_file_type number;
    enum wfs_ggml_type type;
    struct rule rules[CATEGORY_COUNT];
};

static const struct file_type file_types[] = {
    { .number = WFS_FTYPE_Q8_0, .type = WFS_TYPE_Q8_0 },
    { .number = WFS_FTYPE_Q4_K_M,
      .type = WFS_TYPE_Q4_K,
      .rules = { [CATEGORY_ATTN_V] = { MORE_BITS, WFS_TYPE_Q6_K },
                 [CATEGORY_FFN_DOWN] = { MORE_BITS, WFS_TYPE_Q6_K } } },
};

/* What stays in the type it has, by a part of its name (a whole name where whole is set). */
static const struct {
    const char *part;
    bool whole;
} kept[] = {
    { "_norm.weight", false },          { "ffn_gate_inp.weight", false },   { "ffn_gate_tid2eid.weight", false },
    { "altup", false },                 { "laurel", false },                { "per_layer_model_proj", false },
    { "position_embd.weight", true },   { "token_types.weight", true },     { "ssm_conv1d", false },
    { "shortconv.conv.weight", false }, { "indexer.k_proj.weight", false }, { "indexer.q_proj.weight", false },
    { "time_mix_first.weight", false }, { "time_mix_w0.weight", false },    { "time_mix_w1.weight", false },
    { "time_mix_w2.weight", false },    { "time_mix_v0.weight", false },    { "time_mix_v1.weight", false },
    { "time_mix_v2.weight", false },    { "time_mix_a0.weight", false },    { "time_mix_a1.weight", false },
    { "time_mix_a2.weight", false },    { "time_mix_g1.weight", false },    { "time_mix_g2.weight", false },
    { "time_mix_decay_w1.weight", false }, { "time_mix_decay_w2.weight", false },
    { "time_mix_lerp_fused.weight", false }, { "attn_rel_b.weight", false }, { ".position_embd", false },
    { "sam.pos_embd", false },          { "sam.neck.", false },             { "sam.net_", false },
    { ".rel_pos", false },              { ".patch_embd", false },           { ".patch_merger", false },
    { "a.rvq.codebook", false },        { "mm.a.code_embd", false },
};

static enum category category_of(const char *name)
{
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if (categories[i].whole ? strcmp(name, categories[i].part) == 0 : strstr(name, categories[i].part) != NULL)
            return categories[i].category;
    }
    return CATEGORY_OTHER;
}

static bool may_quantise(const struct wfs_quant_tensor *t)
{
    static const char END[] = "weight";
    size_t len = strlen(t->name);

    if (t->n_dims < 2 || len < sizeof END - 1 || strcmp(t->name + len - (sizeof END - 1), END) != 0)
        return false;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (kept[i].whole ? strcmp(t->name, kept[i].part) == 0 : strstr(t->name, kept[i].part) != NULL)
            return false;
    }
    return true;
}

/* The layers whose sensitive tensors get more bits: the first and last eighth, and every third between. */
static bool more_bits(int64_t i, int64_t n)
{
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

/* What a type becomes when a row is not a whole number of its blocks. COUNT: llama-quantize gives up. */
static enum wfs_ggml_type fallback_of(enum wfs_ggml_type type)
{
    static const struct {
        enum wfs_ggml_type from, to;
    } table[] = {
        { WFS_TYPE_Q2_K, WFS_TYPE_Q4_0 }, { WFS_TYPE_Q3_K, WFS_TYPE_Q4_0 }, { WFS_TYPE_Q4_K, WFS_TYPE_Q5_0 },
        { WFS_TYPE_Q5_K, WFS_TYPE_Q5_1 }, { WFS_TYPE_Q6_K, WFS_TYPE_Q8_0 },
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].from == type)
            return table[i].to;
    }
    return WFS_TYPE_COUNT;
}

struct state {
    const struct file_type *file;
    const struct wfs_quant_model *model;
    bool tied;                                /* no output.weight: the token embedding is the output as well */
    int64_t seen[CATEGORY_COUNT], of[CATEGORY_COUNT]; /* counters of the classes */
};

static enum wfs_ggml_type mixture(struct state *s, const struct wfs_quant_tensor *t)
{
    enum category c = category_of(t->name);
    enum wfs_ggml_type type = s->file->type;
    const struct rule *rule = &s->file->rules[c];

    if (c == CATEGORY_OUTPUT || (c == CATEGORY_TOKEN_EMBD && s->tied)) {
        if (t->row_elems % wfs_ggml_types[type].block_elems != 0)
            return WFS_TYPE_Q8_0;
        return type == WFS_TYPE_Q8_0 ? type : WFS_TYPE_Q6_K;
    }
    if (rule->when == MORE_BITS && more_bits(s->seen[c], s->of[c]))
        type = rule->type;
    if (c == CATEGORY_ATTN_V && s->model->is_70b && (type == WFS_TYPE_Q3_K || type == WFS_TYPE_Q4_K))
        type = WFS_TYPE_Q5_K;
    s->seen[c]++;
    return type;
}

static int fit(const struct wfs_quant_tensor *t, enum wfs_ggml_type type, enum wfs_ggml_type *ret,
               struct wfs_error *err)
{
    enum wfs_ggml_type wanted = type;

    if (t->row_elems % wfs_ggml_types[type].block_elems != 0) {
        type = fallback_of(type);
        if (type == WFS_TYPE_COUNT)
            return wfs_error_set(err, EINVAL,
                                 "tensor %s: rows of %llu elements are not whole %s blocks, and llama-quantize "
                                 "has no type to fall back to (\"no tensor type fallback is defined\")",
                                 t->name, (unsigned long long)t->row_elems, wfs_ggml_types[wanted].name);
        if (t->row_elems % wfs_ggml_types[type].block_elems != 0)
            type = WFS_TYPE_F16;
    }
    *ret = type;
    return 0;
}

int wfs_quant_types(enum wfs_file_type file_type, const struct wfs_quant_model *model,
                    const struct wfs_quant_tensor *tensors, size_t n, enum wfs_ggml_type *ret, struct wfs_error *err)
{
    struct state s = { .model = model, .tied = true };

    for (size_t i = 0; i < sizeof file_types / sizeof *file_types; i++) {
        if (file_types[i].number == file_type)
            s.file = &file_types[i];
    }
    if (!s.file)
        return wfs_error_set(err, ENOTSUP, "GGUF file type %d is not supported", (int)file_type);
    for (size_t i = 0; i < n; i++) {
        enum category c = category_of(tensors[i].name);

        if (c == CATEGORY_OUTPUT)
            s.tied = false;
        if (c == CATEGORY_ATTN_V)
            s.of[c]++;
    }
    s.of[CATEGORY_FFN_UP] = s.of[CATEGORY_FFN_GATE] = s.of[CATEGORY_FFN_DOWN] = model->n_layers;
    for (size_t i = 0; i < n; i++) {
        int r = 0;

        ret[i] = tensors[i].type;
        if (may_quantise(&tensors[i]))
            r = fit(&tensors[i], mixture(&s, &tensors[i]), &ret[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}
