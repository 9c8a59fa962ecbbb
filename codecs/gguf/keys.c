#include "writer.h"

#include <errno.h>
#include <string.h>

static const char FILE_TYPE[] = "general.file_type", VERSION[] = "general.quantization_version";

static uint64_t u64_at(const uint8_t *p)
{
    uint64_t v = 0;

    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

/* Appends one string (length and bytes) to out, cut at its first NUL (NULL out: only looks). True when it has one. */
static bool cut_string(const uint8_t *p, struct wfs_buf *out)
{
    uint64_t len = u64_at(p);
    const uint8_t *nul = len ? memchr(p + 8, 0, len) : NULL;

    if (out)
        wfs_kv_array_string(out, (const char *)p + 8, nul ? (size_t)(nul - (p + 8)) : len);
    return nul != NULL;
}

/* Appends the value to out with its strings cut as C strings are (NULL out: only looks). True when one was cut. */
static bool cut_value(const struct wfs_kv *item, struct wfs_buf *out)
{
    const uint8_t *v = item->value;
    size_t head = 4 + 8; /* of an array: the type of its elements and their number */
    bool cut = false;

    if (item->type == WFS_GGUF_STRING)
        return cut_string(v, out);
    if (item->type != WFS_GGUF_ARRAY || v[0] != WFS_GGUF_STRING) {
        if (out)
            wfs_buf_put(out, v, item->value_len);
        return false;
    }
    if (out)
        wfs_buf_put(out, v, head);
    for (size_t at = head; at < item->value_len; at += 8 + u64_at(v + at))
        cut |= cut_string(v + at, out);
    return cut;
}

static bool is_moved(const struct wfs_kv *item)
{
    return strcmp(item->key, FILE_TYPE) == 0 || strcmp(item->key, VERSION) == 0;
}

int wfs_gguf_keys_make(const struct wfs_kv_list *kv, struct wfs_gguf_keys *ret)
{
    struct wfs_gguf_keys keys;
    size_t piece = 0, last_size = 0;
    bool failed = kv->failed;

    memset(&keys, 0, sizeof keys);
    keys.count = kv->count;
    for (size_t i = 0; i < kv->count && !failed; i++)
        keys.has_cut |= cut_value(&kv->items[i], NULL);
    /* The tokenizer's keys, some megabytes, are in the last piece. */
    for (size_t i = 0; i < kv->count; i++)
        last_size = is_moved(&kv->items[i]) ? 0 : last_size + wfs_kv_item_bytes(&kv->items[i]);
    failed |= !wfs_buf_reserve(&keys.pieces[WFS_KEY_PIECES - 1], last_size);
    for (size_t i = 0; i < kv->count && !failed; i++) {
        const struct wfs_kv *item = &kv->items[i];

        if (is_moved(item)) {
            piece++;
            continue;
        }
        wfs_kv_serialise_item(item, &keys.pieces[piece]);
        if (keys.has_cut) {
            wfs_kv_array_string(&keys.cut[piece], item->key, strlen(item->key));
            wfs_buf_u32le(&keys.cut[piece], (uint32_t)item->type);
            cut_value(item, &keys.cut[piece]);
        }
        failed = keys.pieces[piece].failed || keys.cut[piece].failed;
    }
    if (failed) {
        wfs_gguf_keys_done(&keys);
        return -ENOMEM;
    }
    *ret = keys;
    return 0;
}

void wfs_gguf_keys_done(struct wfs_gguf_keys *k)
{
    for (size_t i = 0; i < WFS_KEY_PIECES; i++) {
        wfs_buf_done(&k->pieces[i]);
        wfs_buf_done(&k->cut[i]);
    }
}
