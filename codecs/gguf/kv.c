#include "kv.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void wfs_kv_init(struct wfs_kv_list *kv)
{
    memset(kv, 0, sizeof *kv);
}

static void item_done(struct wfs_kv *item)
{
    free(item->key);
    free(item->value);
}

void wfs_kv_done(struct wfs_kv_list *kv)
{
    for (size_t i = 0; i < kv->count; i++)
        item_done(&kv->items[i]);
    free(kv->items);
    wfs_kv_init(kv);
}

/* The lists hold a few dozen keys: a linear look-up is the simplest thing that is fast enough. */
const struct wfs_kv *wfs_kv_find(const struct wfs_kv_list *kv, const char *key)
{
    for (size_t i = 0; i < kv->count; i++) {
        if (strcmp(kv->items[i].key, key) == 0)
            return &kv->items[i];
    }
    return NULL;
}

/* Takes value's bytes. */
static void put(struct wfs_kv_list *kv, const char *key, enum wfs_gguf_value_type type, struct wfs_buf *value)
{
    struct wfs_kv *item = (struct wfs_kv *)wfs_kv_find(kv, key);
    size_t len = value->len;
    uint8_t *data = wfs_buf_steal(value, NULL);

    if (!data)
        goto failed;
    if (!item) {
        if (kv->count == kv->cap) {
            size_t cap = kv->cap ? kv->cap * 2 : 64;
            struct wfs_kv *grown = reallocarray(kv->items, cap, sizeof *grown);

            if (!grown)
                goto failed;
            kv->items = grown;
            kv->cap = cap;
        }
        item = &kv->items[kv->count];
        memset(item, 0, sizeof *item);
        item->key = strdup(key);
        if (!item->key)
            goto failed;
        kv->count++;
    }
    free(item->value);
    item->type = type;
    item->value = data;
    item->value_len = len;
    return;
failed:
    free(data);
    kv->failed = true;
}

void wfs_kv_u32(struct wfs_kv_list *kv, const char *key, uint32_t v)
{
    struct wfs_buf b = WFS_BUF_INIT;

    wfs_buf_u32le(&b, v);
    put(kv, key, WFS_GGUF_U32, &b);
}

void wfs_kv_i32(struct wfs_kv_list *kv, const char *key, int32_t v)
{
    struct wfs_buf b = WFS_BUF_INIT;

    wfs_buf_u32le(&b, (uint32_t)v);
    put(kv, key, WFS_GGUF_I32, &b);
}

void wfs_kv_f32(struct wfs_kv_list *kv, const char *key, float v)
{
    struct wfs_buf b = WFS_BUF_INIT;

    wfs_buf_f32le(&b, v);
    put(kv, key, WFS_GGUF_F32, &b);
}

void wfs_kv_bool(struct wfs_kv_list *kv, const char *key, bool v)
{
    struct wfs_buf b = WFS_BUF_INIT;

    wfs_buf_u8(&b, v);
    put(kv, key, WFS_GGUF_BOOL, &b);
}

void wfs_kv_string(struct wfs_kv_list *kv, const char *key, const char *text, size_t len)
{
    struct wfs_buf b = WFS_BUF_INIT;

    wfs_kv_array_string(&b, text, len);
    put(kv, key, WFS_GGUF_STRING, &b);
}

void wfs_kv_array(struct wfs_kv_list *kv, const char *key, enum wfs_gguf_value_type type, uint64_t n,
                  struct wfs_buf *items)
{
    enum { HEAD = sizeof(uint32_t) + sizeof n };
    uint32_t type_bytes = htole32((uint32_t)type);
    uint64_t n_bytes = htole64(n);

    if (wfs_buf_reserve(items, HEAD)) {
        memmove(items->data + HEAD, items->data, items->len);
        memcpy(items->data, &type_bytes, sizeof type_bytes);
        memcpy(items->data + sizeof type_bytes, &n_bytes, sizeof n_bytes);
        items->len += HEAD;
    }
    put(kv, key, WFS_GGUF_ARRAY, items);
}

void wfs_kv_array_string(struct wfs_buf *items, const char *text, size_t len)
{
    uint64_t size = htole64(len);
    uint8_t *room = wfs_buf_reserve(items, sizeof size + len);

    if (!room)
        return;
    memcpy(room, &size, sizeof size);
    if (len)
        memcpy(room + sizeof size, text, len);
    items->len += sizeof size + len;
}

size_t wfs_kv_item_bytes(const struct wfs_kv *item)
{
    return sizeof(uint64_t) + strlen(item->key) + sizeof(uint32_t) + item->value_len;
}

void wfs_kv_serialise_item(const struct wfs_kv *item, struct wfs_buf *out)
{
    wfs_kv_array_string(out, item->key, strlen(item->key));
    wfs_buf_u32le(out, (uint32_t)item->type);
    wfs_buf_put(out, item->value, item->value_len);
}

int wfs_kv_serialise(const struct wfs_kv_list *kv, struct wfs_buf *out)
{
    if (kv->failed)
        return -ENOMEM;
    for (size_t i = 0; i < kv->count; i++)
        wfs_kv_serialise_item(&kv->items[i], out);
    return out->failed ? -ENOMEM : 0;
}
