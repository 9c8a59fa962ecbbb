/*
 * The metadata of a GGUF file as an ordered list of keys, with the converter's rule: writing a key again replaces the
 * value and keeps the first position (a Python dict). Values are kept serialised. Source of the layout: gguf v3.
 */
#ifndef WFS_GGUF_KV_H
#define WFS_GGUF_KV_H

#include "../base/buf.h"
#include "../base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wfs_gguf_value_type {
    WFS_GGUF_U8, WFS_GGUF_I8, WFS_GGUF_U16, WFS_GGUF_I16, WFS_GGUF_U32, WFS_GGUF_I32, WFS_GGUF_F32, WFS_GGUF_BOOL,
    WFS_GGUF_STRING, WFS_GGUF_ARRAY, WFS_GGUF_U64, WFS_GGUF_I64, WFS_GGUF_F64
};

struct wfs_kv {
    char *key;                     /* owned */
    enum wfs_gguf_value_type type; /* of the value */
    uint8_t *value;                /* owned, serialised as it stands in the file behind the type number */
    size_t value_len;
};

struct wfs_kv_list {
    struct wfs_kv *items;
    size_t count, cap;
    bool failed; /* out of memory: checked once, when all is in */
};

void wfs_kv_init(struct wfs_kv_list *kv);
void wfs_kv_done(struct wfs_kv_list *kv);

void wfs_kv_u32(struct wfs_kv_list *kv, const char *key, uint32_t v);
void wfs_kv_i32(struct wfs_kv_list *kv, const char *key, int32_t v);
void wfs_kv_f32(struct wfs_kv_list *kv, const char *key, float v);
void wfs_kv_bool(struct wfs_kv_list *kv, const char *key, bool v);
void wfs_kv_string(struct wfs_kv_list *kv, const char *key, const char *text, size_t len);

/*
 * An array of n elements of a type, from bytes serialised in place (strings: u64 length and bytes each). Takes items'
 * memory (items is empty afterwards). An empty array of strings etc. is the caller's decision: the converter leaves
 * most out.
 */
void wfs_kv_array(struct wfs_kv_list *kv, const char *key, enum wfs_gguf_value_type type, uint64_t n,
                  struct wfs_buf *items);

/* Appends a string to an array under construction. */
void wfs_kv_array_string(struct wfs_buf *items, const char *text, size_t len);

const struct wfs_kv *wfs_kv_find(const struct wfs_kv_list *kv, const char *key);

/* Appends one key, its type and value to out: so many bytes. */
void wfs_kv_serialise_item(const struct wfs_kv *item, struct wfs_buf *out);
size_t wfs_kv_item_bytes(const struct wfs_kv *item);

/* For tests: appends every key, type and value to out. 0 or -ENOMEM (also for an earlier failure). */
int wfs_kv_serialise(const struct wfs_kv_list *kv, struct wfs_buf *out);

#endif
