#include "hparams.h"
#include "../base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct wfs_hvalue wfs_hvalue_from(const cJSON *node)
{
    struct wfs_hvalue v = { WFS_H_ABSENT, 0, 0, NULL };

    if (!node)
        return v;
    if (cJSON_IsNull(node)) {
        v.kind = WFS_H_NULL;
    } else if (cJSON_IsBool(node)) {
        v.kind = WFS_H_BOOL;
        v.i = cJSON_IsTrue(node);
        v.f = (double)v.i;
    } else if (cJSON_IsNumber(node)) {
        wfs_json_double(node, &v.f);
        if (!wfs_json_is_int(node))
            v.kind = WFS_H_FLOAT;
        else
            v.kind = wfs_json_i64(node, &v.i) ? WFS_H_INT : WFS_H_BIG;
        if (v.kind == WFS_H_INT)
            v.f = (double)v.i;
    } else {
        v.kind = cJSON_IsString(node) ? WFS_H_STRING : cJSON_IsArray(node) ? WFS_H_LIST : WFS_H_DICT;
        v.node = node;
    }
    return v;
}

bool wfs_hvalue_is_number(struct wfs_hvalue v)
{
    return v.kind >= WFS_H_BOOL && v.kind <= WFS_H_FLOAT;
}

bool wfs_hvalue_is_true(struct wfs_hvalue v)
{
    switch (v.kind) {
    case WFS_H_ABSENT:
    case WFS_H_NULL:
        return false;
    case WFS_H_BOOL:
    case WFS_H_INT:
        return v.i != 0;
    case WFS_H_BIG:
        return true;
    case WFS_H_FLOAT:
        return v.f != 0;
    case WFS_H_STRING:
        return wfs_json_string(v.node)[0] != '\0';
    case WFS_H_LIST:
    case WFS_H_DICT:
        return v.node->child != NULL;
    }
    return false;
}

const char *wfs_hvalue_kind_name(struct wfs_hvalue v)
{
    static const char *const names[] = {
        [WFS_H_ABSENT] = "missing",      [WFS_H_NULL] = "null",         [WFS_H_BOOL] = "a boolean",
        [WFS_H_INT] = "an integer",      [WFS_H_BIG] = "too large",     [WFS_H_FLOAT] = "a fraction",
        [WFS_H_STRING] = "a string",     [WFS_H_LIST] = "a list",       [WFS_H_DICT] = "an object",
    };

    return names[v.kind];
}

int wfs_hvalue_u32(struct wfs_hvalue v, const char *key, uint32_t *ret, struct wfs_error *err)
{
    if (v.kind != WFS_H_INT && v.kind != WFS_H_BOOL)
        return wfs_error_set(err, EINVAL, "config.json: \"%s\" is %s, an integer is needed", key,
                             wfs_hvalue_kind_name(v));
    if (v.i < 0 || v.i > (int64_t)UINT32_MAX)
        return wfs_error_set(err, EINVAL, "config.json: \"%s\" is %lld, which does not fit 32 bits without sign", key,
                             (long long)v.i);
    *ret = (uint32_t)v.i;
    return 0;
}

int wfs_hvalue_f32(struct wfs_hvalue v, const char *key, float *ret, struct wfs_error *err)
{
    float f;

    if (!wfs_hvalue_is_number(v))
        return wfs_error_set(err, EINVAL, "config.json: \"%s\" is %s, a number is needed", key,
                             wfs_hvalue_kind_name(v));
    f = (float)v.f;
    if (isinf(f) && !isinf(v.f))
        return wfs_error_set(err, EINVAL, "config.json: \"%s\" is too large for a 32-bit float", key);
    *ret = f;
    return 0;
}

struct wfs_hvalue wfs_hparams_get(const struct wfs_hparams *h, const char *key)
{
    if (h->class)
        return wfs_autoconfig_get(h->class, h->root, key);
    return wfs_hvalue_from(wfs_json_get(h->root, key));
}

struct wfs_hvalue wfs_hparams_find(const struct wfs_hparams *h, const char *const *keys)
{
    for (; *keys; keys++) {
        struct wfs_hvalue v = wfs_hparams_get(h, *keys);

        if (v.kind != WFS_H_ABSENT)
            return v;
    }
    return wfs_hvalue_from(NULL);
}

/* A value that TextModel.__init__ copies into the rope settings when it is there and not None. */
static struct wfs_hvalue mirrored(const struct wfs_hparams *h, const char *const *keys)
{
    struct wfs_hvalue v = wfs_hparams_find(h, keys);

    return v.kind == WFS_H_NULL ? wfs_hvalue_from(NULL) : v;
}

struct wfs_hvalue wfs_hparams_rope(const struct wfs_hparams *h, const char *key)
{
    static const char *const theta[] = { "global_rope_theta", "rope_global_theta", "rope_theta_global", "rope_theta",
                                         "rotary_emb_base", NULL };
    static const char *const original[] = { "original_max_position_embeddings", NULL };
    struct wfs_hvalue v = wfs_hvalue_from(wfs_json_get(h->rope, key));

    if (strcmp(key, "rope_type") == 0) {
        const cJSON *type = wfs_json_get(h->rope, "type");
        bool is_scaling = h->rope && h->rope == wfs_json_get(h->root, "rope_scaling");

        if (type && h->class && is_scaling && wfs_autoconfig_renames_type(h->class))
            return wfs_hvalue_from(type);
        if (v.kind == WFS_H_ABSENT && type && !cJSON_IsNull(type))
            return wfs_hvalue_from(type);
        return v;
    }
    if (v.kind != WFS_H_ABSENT)
        return v;
    if (strcmp(key, "rope_theta") == 0)
        return mirrored(h, theta);
    if (strcmp(key, original[0]) == 0)
        return mirrored(h, original);
    return v;
}

/* What changes the meaning of the whole file and is not followed here: better no view than a wrong one. */
static int refuse_unknown(const cJSON *root, struct wfs_error *err)
{
    static const char *const nested[] = { "text_config", "llm_config", "lm_config", "thinker_config", "language_config",
                                          "lfm", "transformer_layer_config", "configuration_files" };
    struct wfs_hvalue quant = wfs_hvalue_from(wfs_json_get(root, "quantization_config"));
    const char *method;

    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++) {
        if (wfs_json_get(root, nested[i]))
            return wfs_error_set(err, ENOTSUP, "config.json: a model with \"%s\" is not supported yet", nested[i]);
    }
    if (wfs_hvalue_is_true(quant)) {
        method = wfs_json_string(wfs_json_get(quant.node, "quant_method"));
        return wfs_error_set(err, ENOTSUP,
                             "config.json: the model is quantised already (quantization_config, quant_method %s), "
                             "which is not supported yet",
                             method ? method : "unknown");
    }
    return 0;
}

/* rope_parameters, when the key is there at all, hides rope_scaling; anything false is {}. */
static int find_rope(struct wfs_hparams *h, struct wfs_error *err)
{
    struct wfs_hvalue v = wfs_hparams_get(h, "rope_parameters");
    const char *key = "rope_parameters";

    if (v.kind == WFS_H_ABSENT) {
        key = "rope_scaling";
        v = wfs_hparams_get(h, key);
    }
    h->rope = NULL;
    if (!wfs_hvalue_is_true(v))
        return 0;
    if (v.kind != WFS_H_DICT)
        return wfs_error_set(err, EINVAL, "config.json: \"%s\" is %s, an object is needed", key,
                             wfs_hvalue_kind_name(v));
    if (wfs_json_get(v.node, "full_attention") || wfs_json_get(v.node, "sliding_attention"))
        return wfs_error_set(err, ENOTSUP, "config.json: \"%s\" by kind of layer is not supported yet", key);
    h->rope = v.node;
    return 0;
}

int wfs_hparams_open(const struct wfs_folder *folder, struct wfs_hparams *ret, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_blob_done) struct wfs_blob blob = { NULL, 0 };
    struct wfs_hparams h = { NULL, NULL, NULL, NULL };
    int r = folder->read(folder->ctx, "config.json", &blob, err);

    if (r < 0)
        return r;
    if (r == 0)
        return wfs_error_set(err, ENOENT, "config.json is missing");
    r = wfs_json_parse(blob.data, blob.len, &WFS_JSON_PYTHON, "config.json", &h.json, err);
    if (r < 0)
        return r;
    h.root = wfs_json_root(h.json);
    if (!cJSON_IsObject(h.root))
        r = wfs_error_set(err, EINVAL, "config.json: not an object");
    if (r == 0)
        r = refuse_unknown(h.root, err);
    if (r == 0)
        r = wfs_autoconfig_class(h.root, folder->path, &h.class, err);
    if (r == 0)
        r = find_rope(&h, err);
    if (r < 0) {
        wfs_hparams_done(&h);
        return r;
    }
    *ret = h;
    return 0;
}

void wfs_hparams_done(struct wfs_hparams *h)
{
    wfs_json_free(h->json);
    memset(h, 0, sizeof *h);
}
