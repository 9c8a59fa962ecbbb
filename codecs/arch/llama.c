/* Llama 1 to 3 and Mistral. Source: LlamaModel in the pinned llama.cpp's conversion/llama.py. */
#include "../gguf/rope_factors.h"
#include "arch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const names[] = { "LlamaForCausalLM", "LLaMAForCausalLM", "MistralForCausalLM", "LlamaModel", NULL };

static int check(const struct wfs_arch_input *in, struct wfs_error *err)
{
    struct wfs_hvalue layers = wfs_hparams_get(in->hparams, "num_hidden_layers");

    if (wfs_hparams_get(in->hparams, "draft_vocab_size").kind != WFS_H_ABSENT && layers.kind == WFS_H_INT &&
        layers.i == 1)
        return wfs_error_set(err, ENOTSUP,
                             "config.json: an EAGLE-3 draft model (\"draft_vocab_size\") is not supported yet");
    return 0;
}

/* head_dim, else hidden_size // num_attention_heads. */
static int head_dim(const struct wfs_arch_input *in, uint32_t *ret, struct wfs_error *err)
{
    struct wfs_hvalue v = wfs_hparams_get(in->hparams, "head_dim");
    uint32_t hidden, heads;
    int r;

    if (v.kind > WFS_H_NULL)
        return wfs_hvalue_u32(v, "head_dim", ret, err);
    r = wfs_hvalue_u32(wfs_hparams_get(in->hparams, "hidden_size"), "hidden_size", &hidden, err);
    if (r == 0)
        r = wfs_hvalue_u32(wfs_hparams_get(in->hparams, "num_attention_heads"), "num_attention_heads", &heads, err);
    if (r == 0 && heads == 0)
        r = wfs_error_set(err, EINVAL, "config.json: \"num_attention_heads\" is 0");
    if (r == 0)
        *ret = hidden / heads;
    return r;
}

static int set_parameters(const struct wfs_arch_input *in, struct wfs_kv_list *kv, struct wfs_error *err)
{
    uint32_t dim;
    int r = wfs_arch_put_u32(in, kv, "vocab_size", "vocab_size", wfs_hparams_get(in->hparams, "vocab_size"), err);

    if (r == 0)
        r = head_dim(in, &dim, err);
    if (r == 0)
        wfs_kv_u32(kv, "llama.rope.dimension_count", dim);
    return r;
}

/* A rope setting as a number, or its default when the key is absent. */
static int setting(const struct wfs_arch_input *in, const char *key, double fallback, double *ret,
                   struct wfs_error *err)
{
    struct wfs_hvalue v = wfs_hparams_rope(in->hparams, key);

    *ret = fallback;
    if (v.kind == WFS_H_ABSENT)
        return 0;
    if (v.kind != WFS_H_INT && v.kind != WFS_H_FLOAT)
        return wfs_error_set(err, EINVAL, "config.json: rope setting \"%s\" is %s, a number is needed", key,
                             wfs_hvalue_kind_name(v));
    *ret = v.f;
    return 0;
}

static int rope_freqs(const struct wfs_arch_input *in, struct wfs_arch_extra *ret, struct wfs_error *err)
{
    struct wfs_hvalue type = wfs_hparams_rope(in->hparams, "rope_type");
    struct wfs_rope_llama3 rope;
    struct wfs_arch_extra extra = { NULL, NULL, 0 };
    uint32_t dim;
    int r;

    if (type.kind == WFS_H_NULL)
        return wfs_error_set(err, EINVAL,
                             "config.json: rope setting \"rope_type\" is null, which the converter fails on");
    if (type.kind != WFS_H_STRING || strcasecmp(wfs_json_string(type.node), "llama3") != 0)
        return 0;
    r = head_dim(in, &dim, err);
    if (r == 0)
        r = setting(in, "rope_theta", 10000.0, &rope.base, err);
    if (r == 0)
        r = setting(in, "factor", 8.0, &rope.factor, err);
    if (r == 0)
        r = setting(in, "low_freq_factor", 1.0, &rope.low, err);
    if (r == 0)
        r = setting(in, "high_freq_factor", 4.0, &rope.high, err);
    if (r == 0)
        r = setting(in, "original_max_position_embeddings", 8192, &rope.original, err);
    if (r < 0)
        return r;
    if (rope.low == 0 || rope.high == 0)
        return wfs_error_set(err, EINVAL, "config.json: a rope frequency factor is 0");
    if (dim == 0 || dim > WFS_ROPE_MAX_DIM)
        return wfs_error_set(err, EINVAL, "config.json: a head of %u elements, 1 to %d can be converted", dim,
                             WFS_ROPE_MAX_DIM);
    rope.dim = dim;
    extra.n = (dim + 1) / 2;
    extra.name = strdup("rope_freqs.weight");
    extra.values = malloc(extra.n * sizeof *extra.values);
    if (!extra.name || !extra.values) {
        free(extra.name);
        free(extra.values);
        return wfs_error_set(err, ENOMEM, "out of memory");
    }
    wfs_rope_llama3_factors(&rope, extra.values);
    *ret = extra;
    return 1;
}

const struct wfs_arch wfs_arch_llama = {
    .hf_names = names,
    .name = "llama",
    .kinds = WFS_KIND_BIT(TOKEN_EMBD) | WFS_KIND_BIT(OUTPUT_NORM) | WFS_KIND_BIT(OUTPUT) | WFS_KIND_BIT(ROPE_FREQS) |
             WFS_KIND_BIT(ATTN_NORM) | WFS_KIND_BIT(ATTN_Q) | WFS_KIND_BIT(ATTN_K) | WFS_KIND_BIT(ATTN_V) |
             WFS_KIND_BIT(ATTN_OUT) | WFS_KIND_BIT(ATTN_ROT_EMBD) | WFS_KIND_BIT(FFN_GATE_INP) |
             WFS_KIND_BIT(FFN_NORM) | WFS_KIND_BIT(FFN_GATE) | WFS_KIND_BIT(FFN_DOWN) | WFS_KIND_BIT(FFN_UP) |
             WFS_KIND_BIT(FFN_GATE_EXP) | WFS_KIND_BIT(FFN_DOWN_EXP) | WFS_KIND_BIT(FFN_UP_EXP),
    .headless = "LlamaModel",
    .drops = "text_model.",
    .permutes_qk = true,
    .vocab = WFS_VOCAB_LLAMA,
    .check = check,
    .set_parameters = set_parameters,
    .extra_tensor = rope_freqs,
};
