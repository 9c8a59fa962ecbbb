/*
 * The configuration classes of transformers as a table: which values they add to config.json, and when building one
 * raises. Source: transformers 4.57.6.
 */
#include "hparams.h"
#include "transformers_types.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INT(v) { WFS_H_INT, (v), (v), NULL }
#define FLOAT(v) { WFS_H_FLOAT, 0, (v), NULL }
#define NONE { WFS_H_NULL, 0, 0, NULL }

struct default_value {
    const char *key;
    struct wfs_hvalue value;
};

struct wfs_config_class {
    const char *model_type;
    const struct default_value *defaults;
    bool checks_rope;        /* calls rope_config_validation, after copying "type" over "rope_type" */
    bool checks_layer_types; /* makes or validates layer_types */
    bool computes_head_dim;  /* head_dim None becomes hidden_size // num_attention_heads */
};

static const struct default_value llama_defaults[] = {
    { "vocab_size", INT(32000) },
    { "hidden_size", INT(4096) },
    { "intermediate_size", INT(11008) },
    { "num_hidden_layers", INT(32) },
    { "num_attention_heads", INT(32) },
    { "num_key_value_heads", NONE },
    { "max_position_embeddings", INT(2048) },
    { "rms_norm_eps", FLOAT(1e-6) },
    { "rope_theta", FLOAT(10000.0) },
    { "rope_scaling", NONE },
    { "head_dim", NONE },
    { NULL, NONE },
};

/* MinistralConfig (mistral with layer_types) has the same defaults. */
static const struct default_value mistral_defaults[] = {
    { "vocab_size", INT(32000) },
    { "hidden_size", INT(4096) },
    { "intermediate_size", INT(14336) },
    { "num_hidden_layers", INT(32) },
    { "num_attention_heads", INT(32) },
    { "num_key_value_heads", INT(8) },
    { "head_dim", NONE },
    { "max_position_embeddings", INT(131072) },
    { "rms_norm_eps", FLOAT(1e-6) },
    { "rope_theta", FLOAT(10000.0) },
    { NULL, NONE },
};

static const struct default_value qwen2_defaults[] = {
    { "vocab_size", INT(151936) },
    { "hidden_size", INT(4096) },
    { "intermediate_size", INT(22016) },
    { "num_hidden_layers", INT(32) },
    { "num_attention_heads", INT(32) },
    { "num_key_value_heads", INT(32) },
    { "max_position_embeddings", INT(32768) },
    { "rms_norm_eps", FLOAT(1e-6) },
    { "rope_theta", FLOAT(10000.0) },
    { "rope_scaling", NONE },
    { NULL, NONE },
};

static const struct default_value qwen3_defaults[] = {
    { "vocab_size", INT(151936) },
    { "hidden_size", INT(4096) },
    { "intermediate_size", INT(22016) },
    { "num_hidden_layers", INT(32) },
    { "num_attention_heads", INT(32) },
    { "num_key_value_heads", INT(32) },
    { "head_dim", INT(128) },
    { "max_position_embeddings", INT(32768) },
    { "rms_norm_eps", FLOAT(1e-6) },
    { "rope_theta", FLOAT(10000.0) },
    { "rope_scaling", NONE },
    { NULL, NONE },
};

/* Of PretrainedConfig itself: what the converter may look for behind a class's own keys. */
static const struct default_value base_defaults[] = {
    { "max_length", INT(20) },
    { NULL, NONE },
};

static const struct wfs_config_class classes[] = {
    { "llama", llama_defaults, true, false, true },
    { "mistral", mistral_defaults, false, false, false },
    { "ministral", mistral_defaults, false, false, false },
    { "qwen2", qwen2_defaults, true, true, false },
    { "qwen3", qwen3_defaults, true, true, false },
};

static const struct wfs_config_class *find_class(const char *model_type)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strcmp(classes[i].model_type, model_type) == 0)
            return &classes[i];
    }
    return NULL;
}

static struct wfs_hvalue default_of(const struct default_value *table, const char *key)
{
    for (; table->key; table++) {
        if (strcmp(table->key, key) == 0)
            return table->value;
    }
    return wfs_hvalue_from(NULL);
}

/* The constructor's argument: what the file says, else the default. */
static struct wfs_hvalue argument(const struct wfs_config_class *class, const cJSON *root, const char *key)
{
    struct wfs_hvalue v = wfs_hvalue_from(wfs_json_get(root, key));

    if (v.kind == WFS_H_ABSENT)
        v = default_of(class->defaults, key);
    if (v.kind == WFS_H_ABSENT)
        v = default_of(base_defaults, key);
    return v;
}

/* hidden_size // num_attention_heads; ABSENT when Python would raise. */
static struct wfs_hvalue heads_quotient(const struct wfs_config_class *class, const cJSON *root)
{
    struct wfs_hvalue hidden = argument(class, root, "hidden_size"),
                      heads = argument(class, root, "num_attention_heads");
    struct wfs_hvalue v = wfs_hvalue_from(NULL);

    if ((hidden.kind == WFS_H_INT || hidden.kind == WFS_H_BOOL) &&
        (heads.kind == WFS_H_INT || heads.kind == WFS_H_BOOL) && hidden.i >= 0 && heads.i > 0) {
        v.kind = WFS_H_INT;
        v.i = hidden.i / heads.i;
        v.f = (double)v.i;
    }
    return v;
}

struct wfs_hvalue wfs_autoconfig_get(const struct wfs_config_class *class, const cJSON *root, const char *key)
{
    struct wfs_hvalue v = argument(class, root, key);

    if (v.kind == WFS_H_NULL && strcmp(key, "num_key_value_heads") == 0)
        return argument(class, root, "num_attention_heads");
    if (v.kind == WFS_H_NULL && class->computes_head_dim && strcmp(key, "head_dim") == 0)
        return heads_quotient(class, root);
    return v;
}

bool wfs_autoconfig_renames_type(const struct wfs_config_class *class)
{
    return class->checks_rope;
}

static bool is_dict_or_none(const cJSON *root, const char *key)
{
    struct wfs_hvalue v = wfs_hvalue_from(wfs_json_get(root, key));

    return v.kind == WFS_H_ABSENT || v.kind == WFS_H_NULL || v.kind == WFS_H_DICT;
}

/* Python's int(key) of a JSON key, as far as anyone writes one. */
static bool has_integer_keys(const cJSON *dict)
{
    for (const cJSON *item = dict ? dict->child : NULL; item; item = item->next) {
        char *end;

        if (item->string[0] == '\0')
            return false;
        strtoll(item->string, &end, 10);
        if (*end != '\0')
            return false;
    }
    return true;
}

static struct wfs_hvalue item(const cJSON *dict, const char *key)
{
    return wfs_hvalue_from(wfs_json_get(dict, key));
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; text && *words; words++) {
        if (strcmp(text, *words) == 0)
            return true;
    }
    return false;
}

/* '.' in repr(f): not for inf and nan, nor for one digit with an exponent (1e-05, 1e+16). */
static bool float_has_dot(double f)
{
    char text[32];
    int digits = 0, exponent;

    if (!isfinite(f))
        return false;
    do
        snprintf(text, sizeof text, "%.*e", digits, f);
    while (strtod(text, NULL) != f && ++digits < 17);
    exponent = atoi(strchr(text, 'e') + 1);
    return digits > 0 || (exponent >= -4 && exponent < 16);
}

/* '.' in str(value) */
static bool text_has_dot(const cJSON *value)
{
    struct wfs_hvalue v = wfs_hvalue_from(value);

    if (v.kind == WFS_H_STRING)
        return strchr(wfs_json_string(value), '.') != NULL;
    if (v.kind == WFS_H_FLOAT)
        return float_has_dot(v.f);
    for (const cJSON *part = v.kind >= WFS_H_LIST ? value->child : NULL; part; part = part->next) {
        if ((v.kind == WFS_H_DICT && strchr(part->string, '.')) || text_has_dot(part))
            return true;
    }
    return false;
}

/* dict_dtype_to_str: str(dtype).split(".")[1] of what is neither null, a dict, a string nor an integer. */
static bool dtype_text_raises(const cJSON *dtype)
{
    enum wfs_hkind kind = wfs_hvalue_from(dtype).kind;

    return (kind == WFS_H_FLOAT || kind == WFS_H_LIST) && !text_has_dot(dtype);
}

/* The same for the dicts within a dict. */
static bool inner_dtype_raises(const cJSON *dict)
{
    for (const cJSON *value = dict->child; value; value = value->next) {
        if (cJSON_IsObject(value) && (dtype_text_raises(wfs_json_get(value, "dtype")) || inner_dtype_raises(value)))
            return true;
    }
    return false;
}

/* dtype, or the older torch_dtype, must be an attribute of torch: "auto" is not, nor is "torch.bfloat16". */
static bool dtype_raises(const cJSON *root)
{
    static const char *const dtypes[] = {
        "bfloat16",        "float16",         "float32",        "float64",    "half",      "float",
        "double",          "float8_e4m3fn",   "float8_e5m2",    "uint8",      "int8",      "int16",
        "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "int32",      "int64",     "short",
        "int",             "long",            "bool",           "complex64",  "complex128", "qint8",
        "quint8",          "qint32",          "uint16",         "uint32",     "uint64",    NULL,
    };
    const char *key = item(root, "dtype").kind <= WFS_H_NULL ? "torch_dtype" : "dtype";
    const cJSON *value = wfs_json_get(root, key);
    const char *dtype = wfs_json_string(value);

    return (dtype && !is_one_of(dtype, dtypes)) || dtype_text_raises(value) || inner_dtype_raises(root);
}

/* What AutoConfig.from_pretrained, PretrainedConfig.__init__ and to_dict raise on. */
static bool base_raises(const cJSON *root)
{
    static const char *const problems[] = { "regression", "single_label_classification", "multi_label_classification",
                                            NULL };
    struct wfs_hvalue problem = item(root, "problem_type"), pruned = item(root, "pruned_heads");
    struct wfs_hvalue quantization = item(root, "quantization_config"), auto_map = item(root, "auto_map");

    /* to_dict() calls a method of anything that is no dict, None included. */
    if (quantization.kind != WFS_H_ABSENT && quantization.kind != WFS_H_DICT)
        return true;
    if (auto_map.kind != WFS_H_ABSENT && auto_map.kind < WFS_H_STRING)
        return true;
    if (!is_dict_or_none(root, "id2label") || !is_dict_or_none(root, "label2id"))
        return true;
    if (item(root, "id2label").kind <= WFS_H_NULL && item(root, "num_labels").kind > WFS_H_INT)
        return true;
    if (!has_integer_keys(wfs_json_get(root, "id2label")))
        return true;
    if (pruned.kind == WFS_H_DICT ? !has_integer_keys(pruned.node) : pruned.kind > WFS_H_NULL)
        return true;
    if (problem.kind > WFS_H_NULL && !is_one_of(wfs_json_string(problem.node), problems))
        return true;
    return dtype_raises(root) || wfs_json_get(root, "use_return_dict") != NULL; /* a property without setter */
}

static bool has_all(const cJSON *dict, const char *const *keys)
{
    for (; *keys; keys++) {
        if (!wfs_json_get(dict, *keys))
            return false;
    }
    return true;
}

/* `(value or other)` in a comparison of numbers: raises for anything true that is no number. */
static bool compares(struct wfs_hvalue v)
{
    return !wfs_hvalue_is_true(v) || wfs_hvalue_is_number(v);
}

static bool has_length(struct wfs_hvalue v)
{
    return v.kind >= WFS_H_STRING;
}

/* What rope_config_validation raises on (most of what it finds it only warns about). */
static bool rope_raises(const struct wfs_config_class *class, const cJSON *root)
{
    static const char *const factor[] = { "factor", NULL };
    static const char *const longrope[] = { "short_factor", "long_factor", NULL };
    static const char *const llama3[] = { "factor", "original_max_position_embeddings", "low_freq_factor",
                                          "high_freq_factor", NULL };
    struct wfs_hvalue rope = argument(class, root, "rope_scaling"), type, original;
    struct wfs_hvalue n_ctx = argument(class, root, "max_position_embeddings");
    const char *name = "default";

    if (rope.kind == WFS_H_NULL)
        return false;
    if (rope.kind != WFS_H_DICT)
        return true;
    type = item(rope.node, "type");
    if (type.kind == WFS_H_ABSENT)
        type = item(rope.node, "rope_type");
    if (type.kind == WFS_H_LIST || type.kind == WFS_H_DICT)
        return true;
    if (type.kind == WFS_H_STRING)
        name = wfs_json_string(type.node);
    else if (type.kind != WFS_H_ABSENT)
        return false;
    original = item(rope.node, "original_max_position_embeddings");
    if (strcmp(name, "default") == 0)
        return type.kind == WFS_H_ABSENT;
    if (strcmp(name, "linear") == 0 || strcmp(name, "dynamic") == 0)
        return !has_all(rope.node, factor);
    if (strcmp(name, "yarn") == 0)
        return !has_all(rope.node, factor) || !compares(item(rope.node, "beta_fast")) ||
               !compares(item(rope.node, "beta_slow")) ||
               (original.kind > WFS_H_NULL &&
                (!wfs_hvalue_is_number(original) || original.f == 0 || !wfs_hvalue_is_number(n_ctx)));
    if (strcmp(name, "longrope") == 0)
        return !has_all(rope.node, longrope) || !has_length(item(rope.node, "short_factor")) ||
               !has_length(item(rope.node, "long_factor")) || heads_quotient(class, root).kind == WFS_H_ABSENT;
    if (strcmp(name, "llama3") == 0)
        return !has_all(rope.node, llama3) || !wfs_hvalue_is_number(item(rope.node, "high_freq_factor")) ||
               !wfs_hvalue_is_number(item(rope.node, "low_freq_factor")) || !wfs_hvalue_is_number(original) ||
               !wfs_hvalue_is_number(n_ctx);
    return false;
}

/* What Qwen2Config and Qwen3Config raise on when they make or check layer_types. */
static bool layer_types_raise(const struct wfs_config_class *class, const cJSON *root)
{
    static const char *const allowed[] = { "full_attention", "sliding_attention", "chunked_attention",
                                           "linear_attention" };
    struct wfs_hvalue types = wfs_hvalue_from(wfs_json_get(root, "layer_types"));
    struct wfs_hvalue n_layers = argument(class, root, "num_hidden_layers");
    struct wfs_hvalue window_from = wfs_hvalue_from(wfs_json_get(root, "max_window_layers"));
    int64_t n = 0;

    if (types.kind <= WFS_H_NULL) {
        bool slides = wfs_hvalue_is_true(wfs_hvalue_from(wfs_json_get(root, "use_sliding_window"))) &&
                      wfs_hvalue_from(wfs_json_get(root, "sliding_window")).kind != WFS_H_NULL;

        if (n_layers.kind != WFS_H_INT && n_layers.kind != WFS_H_BOOL)
            return true;
        return slides && n_layers.i > 0 && window_from.kind != WFS_H_ABSENT && !wfs_hvalue_is_number(window_from);
    }
    if (types.kind != WFS_H_LIST)
        return true;
    for (const cJSON *t = types.node->child; t; t = t->next, n++) {
        const char *text = wfs_json_string(t);
        bool known = false;

        for (size_t i = 0; text && i < sizeof allowed / sizeof *allowed; i++)
            known |= strcmp(text, allowed[i]) == 0;
        if (!known)
            return true;
    }
    return n_layers.kind != WFS_H_NULL && !(wfs_hvalue_is_number(n_layers) && n_layers.f == (double)n);
}

/* The model type that decides about the class, or NULL when AutoConfig raises because nothing names one. */
static int find_type(const cJSON *root, const char *path, const char **ret, struct wfs_error *err)
{
    const char *type = wfs_json_string(wfs_json_get(root, "model_type"));

    if (type) {
        /* AutoConfig's own rule for Mistral models with alternating attention. */
        *ret = strcmp(type, "mistral") == 0 && wfs_json_get(root, "layer_types") ? "ministral" : type;
        return 0;
    }
    if (wfs_json_get(root, "model_type"))
        return wfs_error_set(err, EINVAL, "config.json: \"model_type\" is not a string");
    if (wfs_json_get(root, "pretrained_cfg"))
        return wfs_error_set(err, ENOTSUP, "config.json is that of a timm model, which is not supported yet");
    *ret = wfs_transformers_guess(path);
    if (*ret && !find_class(*ret))
        return wfs_error_set(err, ENOTSUP,
                             "config.json has no \"model_type\", and for its path transformers takes it for "
                             "%s, which is not supported yet",
                             *ret);
    return 0;
}

int wfs_autoconfig_class(const cJSON *root, const char *path, const struct wfs_config_class **ret,
                         struct wfs_error *err)
{
    const struct wfs_config_class *class;
    const char *type = NULL;
    int r = find_type(root, path, &type, err);

    *ret = NULL;
    if (r < 0 || !type)
        return r;
    class = find_class(type);
    if (!class) {
        if (wfs_transformers_knows(type))
            return wfs_error_set(err, ENOTSUP, "config.json: model_type \"%s\" is not supported yet", type);
        return 0;
    }
    if (base_raises(root) || (class->checks_rope && rope_raises(class, root)) ||
        (class->checks_layer_types && layer_types_raise(class, root)))
        return 0;
    if (class->computes_head_dim && argument(class, root, "head_dim").kind == WFS_H_NULL &&
        heads_quotient(class, root).kind == WFS_H_ABSENT)
        return 0;
    *ret = class;
    return 0;
}
