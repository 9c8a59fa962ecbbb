#include "../base/cleanup.h"
#include "../base/utf8.h"
#include "hparams.h"
#include "metadata.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const char NAME[] = "generation_config.json";

enum form { TEXT, I32, F32 };

static const struct {
    const char *source, *key;
    enum form form;
} rows[] = {
    { "sequence", "general.sampling.sequence", TEXT },
    { "top_k", "general.sampling.top_k", I32 },
    { "top_p", "general.sampling.top_p", F32 },
    { "min_p", "general.sampling.min_p", F32 },
    { "xtc_probability", "general.sampling.xtc_probability", F32 },
    { "xtc_threshold", "general.sampling.xtc_threshold", F32 },
    { "temperature", "general.sampling.temp", F32 },
    { "penalty_last_n", "general.sampling.penalty_last_n", I32 },
    { "penalty_repeat", "general.sampling.penalty_repeat", F32 },
    { "mirostat", "general.sampling.mirostat", I32 },
    { "mirostat_tau", "general.sampling.mirostat_tau", F32 },
    { "mirostat_eta", "general.sampling.mirostat_eta", F32 },
};

static int wrong(struct wfs_error *err, const char *key, struct wfs_hvalue v)
{
    return wfs_error_set(err, EINVAL, "%s: \"%s\" is %s, which the converter cannot write", NAME, key,
                         wfs_hvalue_kind_name(v));
}

static int put(size_t row, struct wfs_hvalue v, struct wfs_kv_list *kv, struct wfs_error *err)
{
    const char *key = rows[row].key;

    switch (rows[row].form) {
    case TEXT:
        if (!wfs_hvalue_is_true(v))
            return 0;
        if (v.kind != WFS_H_STRING)
            return wrong(err, rows[row].source, v);
        wfs_metadata_text(kv, key, wfs_json_string(v.node));
        return 0;
    case I32:
        if ((v.kind != WFS_H_INT && v.kind != WFS_H_BOOL) || v.i < INT32_MIN || v.i > INT32_MAX)
            return wrong(err, rows[row].source, v);
        wfs_kv_i32(kv, key, (int32_t)v.i);
        return 0;
    case F32:
        if (!wfs_hvalue_is_number(v) || (isinf((float)v.f) && !isinf(v.f)))
            return wrong(err, rows[row].source, v);
        wfs_kv_f32(kv, key, (float)v.f);
        return 0;
    }
    return 0;
}

/*
 * Whether Python's json might read a text that the strict parser refuses: it takes NaN, Infinity and lone surrogates.
 * What it refuses as well counts as no file at all.
 */
static bool python_may_read(const struct wfs_blob *blob)
{
    static const char *const words[] = { "NaN", "Infinity", "\\u" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (blob->len && memmem(blob->data, blob->len, words[i], strlen(words[i])))
            return true;
    }
    return false;
}

int wfs_sampling_write(const struct wfs_folder *folder, struct wfs_kv_list *kv, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_blob_done) struct wfs_blob blob = { NULL, 0 };
    struct wfs_json *json = NULL;
    struct wfs_hvalue root;
    int r = folder->read(folder->ctx, NAME, &blob, err);

    if (r <= 0)
        return r;
    if (wfs_utf8_check(blob.data, blob.len) != blob.len)
        return wfs_error_set(err, EILSEQ, "%s is not UTF-8, which the converter fails on", NAME);
    r = wfs_json_parse(blob.data, blob.len, &WFS_JSON_PYTHON, NAME, &json, err);
    if (r < 0)
        return r == -EINVAL && !python_may_read(&blob) ? 0 : r;
    root = wfs_hvalue_from(wfs_json_root(json));
    if (root.kind != WFS_H_DICT && wfs_hvalue_is_true(root))
        r = wfs_error_set(err, EINVAL, "%s is not an object, which the converter fails on", NAME);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && r == 0 && root.kind == WFS_H_DICT; i++) {
        struct wfs_hvalue v = wfs_hvalue_from(wfs_json_get(root.node, rows[i].source));

        if (v.kind > WFS_H_NULL)
            r = put(i, v, kv, err);
    }
    wfs_json_free(json);
    return r;
}
