#include "tensors.h"
#include "../base/checked.h"
#include "../base/cleanup.h"
#include "../base/text.h"
#include "../kernels/kernels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Multimodal parts that a text model leaves out. Source: TextModel.filter_tensors. */
static const char *const dropped_starts[] = { "mlp", "vit.", "vpm.", "siglip2.", "conformer.", "merger.", "resampler.",
                                              "sound_encoder.", "sound_projection.", "speech_embeddings." };
static const char *const dropped_parts[] = {
    "visual.",          "vision.",         "audio.",      "talker.",         "vision_",
    "audio_",           "token2wav.",      "code2wav.",   "projector.",      "pre_mm_projector_norm",
    "image_newline",    "view_seperator",  "patch_embed", "patch_embedding", "patch_merger.",
    "patch_merge_mlp.", "model.connector."
};
/* Buffers that are read (they count for --outtype auto) but not written. Source: prepare_tensors. */
static const char *const dropped_ends[] = { ".attention.masked_bias", ".attention.bias", ".rotary_emb.inv_freq" };

static bool is_dropped(const char *name)
{
    for (size_t i = 0; i < sizeof dropped_starts / sizeof *dropped_starts; i++) {
        if (wfs_starts_with(name, dropped_starts[i]))
            return true;
    }
    for (size_t i = 0; i < sizeof dropped_parts / sizeof *dropped_parts; i++) {
        if (strstr(name, dropped_parts[i]))
            return true;
    }
    return false;
}

/* Python's name.replace(part, ""), in place. */
static void remove_part(char *name, const char *part)
{
    size_t n = strlen(part);
    char *to = name;

    for (const char *from = name; *from;) {
        if (strncmp(from, part, n) == 0)
            from += n;
        else
            *to++ = *from++;
    }
    *to = '\0';
}

/* What is left of the model after filter_tensors: a dict from new names to tensors, in order of first appearance. */
struct filtered {
    struct entry {
        char *name; /* owned */
        const struct wfs_tensor *tensor;
    } *items;
    size_t count;
    struct wfs_map by_name;
};

static void filtered_done(struct filtered *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->items[i].name);
    free(f->items);
    wfs_map_done(&f->by_name);
}

static int filter(const struct wfs_model *model, const struct wfs_arch *arch, struct filtered *ret,
                  struct wfs_error *err)
{
    ret->items = calloc(model->n_tensors ? model->n_tensors : 1, sizeof *ret->items);
    if (!ret->items || !wfs_map_reserve(&ret->by_name, model->n_tensors))
        return wfs_error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < model->n_tensors; i++) {
        char *name = strdup(model->tensors[i].name);
        uint32_t old = 0;
        int r;

        if (!name)
            return wfs_error_set(err, ENOMEM, "out of memory");
        if (arch->drops)
            remove_part(name, arch->drops);
        if (is_dropped(name)) {
            free(name);
            continue;
        }
        remove_part(name, "language_model.");
        r = wfs_map_add(&ret->by_name, name, strlen(name), (uint32_t)ret->count, &old);
        if (r == 1) {
            ret->items[ret->count].name = name;
            ret->items[ret->count++].tensor = &model->tensors[i];
            continue;
        }
        free(name);
        if (r < 0)
            return wfs_error_set(err, ENOMEM, "out of memory");
        ret->items[old].tensor = &model->tensors[i]; /* a dict keeps the place and takes the value */
    }
    return 0;
}

/* Source dtypes that the converter has a torch type for. */
static bool is_convertible(uint8_t dtype)
{
    switch (dtype) {
    case WFS_F64: case WFS_F32: case WFS_BF16: case WFS_F16: case WFS_I64: case WFS_I32: case WFS_I16: case WFS_U8:
    case WFS_I8: case WFS_BOOL: case WFS_F8_E4M3: case WFS_F8_E5M2:
        return wfs_kernels_get()->decode[dtype] != NULL;
    default:
        return false;
    }
}

/* The dtype of the first 16-bit tensor of two or more dimensions; F16 when there is none (ModelBase.__init__). */
static enum wfs_ggml_type guess_type(const struct filtered *f)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct wfs_tensor *t = f->items[i].tensor;

        if (t->n_dims >= 2 && t->dtype == WFS_BF16)
            return WFS_TYPE_BF16;
        if (t->n_dims >= 2 && t->dtype == WFS_F16)
            return WFS_TYPE_F16;
    }
    return WFS_TYPE_F16;
}

struct maker {
    const struct wfs_arch *arch;
    const struct wfs_arch_input *in;
    struct wfs_name_map map;
    bool prefix_model;         /* the checkpoint's names lack "model." */
    uint32_t n_heads, k_heads; /* what permute divides q and k by */
    struct wfs_gguf_tensors *out;
    struct wfs_map by_name; /* GGUF name -> index */
};

/* n_head and n_kv_head of LlamaModel.modify_tensors and permute. */
static int find_heads(struct maker *m, struct wfs_error *err)
{
    static const char *const q_keys[] = { "n_heads", "num_attention_heads", NULL };
    static const char *const kv_keys[] = { "n_kv_heads", "num_key_value_heads", NULL };
    struct wfs_hvalue kv = wfs_hparams_find(m->in->hparams, kv_keys);
    int r = wfs_hvalue_u32(wfs_hparams_find(m->in->hparams, q_keys), "num_attention_heads", &m->n_heads, err);

    m->k_heads = m->n_heads;
    if (r == 0 && kv.kind == WFS_H_ABSENT)
        r = wfs_error_set(err, EINVAL, "config.json: \"num_key_value_heads\" is missing");
    if (r == 0 && kv.kind != WFS_H_NULL)
        r = wfs_hvalue_u32(kv, "num_key_value_heads", &m->k_heads, err);
    /* A bool counts as an integer in Python, but not for reshape(). */
    if (r == 0 && (kv.kind == WFS_H_BOOL || wfs_hparams_find(m->in->hparams, q_keys).kind == WFS_H_BOOL))
        r = wfs_error_set(err, EINVAL, "config.json: the number of heads is a boolean, an integer is needed");
    return r;
}

static int set_row_order(const struct maker *m, const char *name, struct wfs_gguf_tensor *t, struct wfs_error *err)
{
    bool q = wfs_ends_with(name, "q_proj.weight") || wfs_ends_with(name, "q_proj.bias");
    bool k = wfs_ends_with(name, "k_proj.weight") || wfs_ends_with(name, "k_proj.bias");
    uint64_t rows;

    if (!m->arch->permutes_qk || (!q && !k))
        return 0;
    t->order = WFS_ROWS_ROPE;
    t->n_heads = q ? m->n_heads : m->k_heads;
    rows = t->source->n_dims ? t->source->dims[0] : 1;
    if (t->source->n_dims == 0 || t->n_heads == 0 || rows % (2 * (uint64_t)t->n_heads) != 0)
        return wfs_error_set(err, EINVAL, "tensor %s has %llu rows, which do not divide into %u heads of an even size",
                             t->source->name, (unsigned long long)rows, t->n_heads);
    return 0;
}

static int add(struct maker *m, const struct entry *e, struct wfs_error *err)
{
    struct wfs_gguf_tensor *t = &m->out->items[m->out->count];
    const struct wfs_tensor *source = e->tensor;
    char target[WFS_GGUF_NAME_BYTES], with_model[1024];
    const char *name = e->name;
    enum wfs_tensor_kind kind;
    uint32_t old = 0;
    int r;

    for (size_t i = 0; i < sizeof dropped_ends / sizeof *dropped_ends; i++) {
        if (wfs_ends_with(name, dropped_ends[i]))
            return 0;
    }
    if (!is_convertible(source->dtype))
        return wfs_error_set(err, ENOTSUP, "tensor %s has type %s, which the converter does not take", source->name,
                             wfs_dtypes[source->dtype].name);
    if (m->prefix_model) {
        if (snprintf(with_model, sizeof with_model, "model.%s", name) >= (int)sizeof with_model)
            return wfs_error_set(err, ENAMETOOLONG, "tensor %s: the name is too long", source->name);
        name = with_model;
    }
    if (strstr(name, "block_sparse_moe.experts"))
        return wfs_error_set(err, ENOTSUP, "tensor %s: a mixture of experts is not supported yet", source->name);
    if (!wfs_name_map_find(&m->map, name, target, &kind))
        return wfs_error_set(err, EINVAL,
                             "tensor %s has no place in GGUF architecture %s (the converter: \"Can not map "
                             "tensor\")",
                             source->name, m->arch->name);
    if (kind == WFS_KIND_FFN_GATE_INP || kind == WFS_KIND_FFN_GATE_EXP || kind == WFS_KIND_FFN_DOWN_EXP ||
        kind == WFS_KIND_FFN_UP_EXP)
        return wfs_error_set(err, ENOTSUP, "tensor %s: a mixture of experts is not supported yet", source->name);
    t->source = source;
    r = set_row_order(m, name, t, err);
    if (r < 0)
        return r;
    t->always_f32 = source->n_dims <= 1 || wfs_ends_with(target, "_norm.weight") || !wfs_ends_with(target, ".weight");
    t->layer = -1;
    sscanf(target, "blk.%d.", &t->layer);
    if (!wfs_add_u64(m->out->n_params, source->n_elems, &m->out->n_params))
        return wfs_error_set(err, EOVERFLOW, "the model has too many elements");
    t->name = strdup(target);
    if (!t->name)
        return wfs_error_set(err, ENOMEM, "out of memory");
    m->out->count++;
    r = wfs_map_add(&m->by_name, t->name, strlen(t->name), (uint32_t)(t - m->out->items), &old);
    if (r < 0)
        return wfs_error_set(err, ENOMEM, "out of memory");
    if (r == 0)
        return wfs_error_set(err, EINVAL, "tensors %s and %s both become %s in GGUF",
                             m->out->items[old].source ? m->out->items[old].source->name : "(made from the config)",
                             source->name, t->name);
    return 0;
}

static void extra_done(struct wfs_arch_extra *e)
{
    free(e->name);
    free(e->values);
}

static int make(struct maker *m, const struct filtered *f, struct wfs_error *err)
{
    struct wfs_gguf_tensors *out = m->out;
    WFS_CLEANUP(extra_done) struct wfs_arch_extra extra = { NULL, NULL, 0 };
    int r = m->arch->extra_tensor ? m->arch->extra_tensor(m->in, &extra, err) : 0;

    if (r < 0)
        return r;
    out->items = calloc(f->count + 1, sizeof *out->items);
    if (!out->items)
        return wfs_error_set(err, ENOMEM, "out of memory");
    if (r == 1) {
        struct wfs_gguf_tensor *t = &out->items[0];

        t->name = WFS_STEAL(extra.name);
        t->values = WFS_STEAL(extra.values);
        t->n_values = extra.n;
        t->always_f32 = true;
        t->layer = -1;
        out->n_params = extra.n;
        out->count = 1;
        if (wfs_map_add(&m->by_name, t->name, strlen(t->name), 0, NULL) < 0)
            return wfs_error_set(err, ENOMEM, "out of memory");
    }
    r = m->arch->permutes_qk ? find_heads(m, err) : 0;
    for (size_t i = 0; i < f->count && r == 0; i++)
        r = add(m, &f->items[i], err);
    return r;
}

int wfs_gguf_tensors_make(const struct wfs_model *model, const struct wfs_arch *arch, const struct wfs_arch_input *in,
                          struct wfs_gguf_tensors *ret, struct wfs_error *err)
{
    static const char *const block_keys[] = { "n_layers", "num_hidden_layers", "n_layer", "num_layers", NULL };
    WFS_CLEANUP(filtered_done) struct filtered f = { NULL, 0, { NULL, 0, 0, 0 } };
    struct wfs_gguf_tensors out = { NULL, 0, 0, WFS_TYPE_F16 };
    struct maker m = { .arch = arch, .in = in, .out = &out };
    uint32_t n_blocks;
    int r = wfs_hvalue_u32(wfs_hparams_find(in->hparams, block_keys), "num_hidden_layers", &n_blocks, err);

    wfs_map_init(&f.by_name);
    wfs_map_init(&m.by_name);
    if (r < 0)
        return r;
    m.prefix_model = arch->headless && strcmp(in->hf_name, arch->headless) == 0;
    r = filter(model, arch, &f, err);
    if (r == 0 && wfs_name_map_init(&m.map, arch->kinds, n_blocks) < 0)
        r = wfs_error_set(err, ENOMEM, "out of memory");
    if (r < 0)
        return r;
    out.auto_type = guess_type(&f);
    r = make(&m, &f, err);
    wfs_name_map_done(&m.map);
    wfs_map_done(&m.by_name);
    if (r < 0) {
        wfs_gguf_tensors_done(&out);
        return r;
    }
    *ret = out;
    return 0;
}

void wfs_gguf_tensors_done(struct wfs_gguf_tensors *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free(t->items[i].name);
        free(t->items[i].values);
    }
    free(t->items);
    memset(t, 0, sizeof *t);
}

unsigned wfs_gguf_tensor_dims(const struct wfs_gguf_tensor *t, const uint64_t **ret_dims)
{
    *ret_dims = t->source ? t->source->dims : &t->n_values;
    return t->source ? t->source->n_dims : 1;
}
