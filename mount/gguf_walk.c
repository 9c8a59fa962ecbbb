#include "gguf_walk.h"

#include "base/error.h"
#include "gguf/kv.h"
#include "kernels/types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC = 0x46554747, N_TYPES = WFS_GGUF_F64 + 1, MAX_DIMS = 8, VALUE_SHOWN = 60 };

static bool take_string(struct wfs_cursor *c, const uint8_t **ret, uint64_t *ret_len)
{
    if (!wfs_cursor_u64le(c, ret_len) || *ret_len > wfs_cursor_left(c))
        return false;
    *ret = wfs_cursor_take(c, (size_t)*ret_len);
    return true;
}

static bool skip_value(struct wfs_cursor *c, uint32_t type)
{
    static const uint8_t widths[N_TYPES] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
    const uint8_t *text;
    uint64_t len, count = 1;

    if (type == WFS_GGUF_ARRAY && (!wfs_cursor_u32le(c, &type) || !wfs_cursor_u64le(c, &count)))
        return false;
    if (type >= N_TYPES || type == WFS_GGUF_ARRAY)
        return false;
    if (type != WFS_GGUF_STRING)
        return count <= wfs_cursor_left(c) / widths[type] && wfs_cursor_take(c, (size_t)count * widths[type]);
    for (uint64_t i = 0; i < count; i++) {
        if (!take_string(c, &text, &len))
            return false;
    }
    return true;
}

bool wfs_gguf_walk_start(struct wfs_gguf_walk *w, const uint8_t *header, size_t len)
{
    uint32_t magic;

    *w = (struct wfs_gguf_walk){ .c = wfs_cursor_over(header, len) };
    return wfs_cursor_u32le(&w->c, &magic) && magic == MAGIC && wfs_cursor_u32le(&w->c, &w->version) &&
           wfs_cursor_u64le(&w->c, &w->n_tensors) && wfs_cursor_u64le(&w->c, &w->n_keys);
}

bool wfs_gguf_walk_key(struct wfs_gguf_walk *w, struct wfs_gguf_item *ret)
{
    *ret = (struct wfs_gguf_item){ 0 };
    if (!take_string(&w->c, &ret->name, &ret->name_len) || !wfs_cursor_u32le(&w->c, &ret->type))
        return false;
    ret->value = w->c.data + w->c.at;
    if (!skip_value(&w->c, ret->type))
        return false;
    ret->value_len = (size_t)(w->c.data + w->c.at - ret->value);
    return true;
}

bool wfs_gguf_walk_tensor(struct wfs_gguf_walk *w, struct wfs_gguf_item *ret)
{
    uint32_t n_dims;

    *ret = (struct wfs_gguf_item){ 0 };
    if (!take_string(&w->c, &ret->name, &ret->name_len))
        return false;
    ret->value = w->c.data + w->c.at;
    if (!wfs_cursor_u32le(&w->c, &n_dims) || n_dims > MAX_DIMS || !wfs_cursor_take(&w->c, n_dims * (size_t)8) ||
        !wfs_cursor_u32le(&w->c, &ret->type) || !wfs_cursor_u64le(&w->c, &ret->offset))
        return false;
    ret->value_len = (size_t)(w->c.data + w->c.at - ret->value);
    return true;
}

/* --- differences --- */

typedef bool next_item(struct wfs_gguf_walk *w, struct wfs_gguf_item *ret);

static bool same_name(const struct wfs_gguf_item *a, const struct wfs_gguf_item *b)
{
    return a->name_len == b->name_len && memcmp(a->name, b->name, (size_t)a->name_len) == 0;
}

static bool same_value(const struct wfs_gguf_item *a, const struct wfs_gguf_item *b)
{
    return a->type == b->type && a->value_len == b->value_len && memcmp(a->value, b->value, a->value_len) == 0;
}

/* Looks for an item among n. False when the header ends before. */
static bool find(struct wfs_gguf_walk w, uint64_t n, next_item *next, const struct wfs_gguf_item *wanted,
                 struct wfs_gguf_item *ret, bool *ret_found)
{
    *ret_found = false;
    for (uint64_t i = 0; i < n && !*ret_found; i++) {
        if (!next(&w, ret))
            return false;
        *ret_found = same_name(ret, wanted);
    }
    return true;
}

/* Texts and numbers as they are, others by what they are. */
static void show_value(const struct wfs_gguf_item *k, char *out, size_t size)
{
    struct wfs_cursor c = wfs_cursor_over(k->value, k->value_len);
    const uint8_t *text = NULL;
    uint64_t len = 0;
    uint32_t v = 0;
    char shown[4 * VALUE_SHOWN + 1];
    float f;

    switch (k->type) {
    case WFS_GGUF_STRING:
        take_string(&c, &text, &len);
        wfs_escape(shown, sizeof shown, (const char *)text, len < VALUE_SHOWN ? (unsigned long)len : VALUE_SHOWN);
        snprintf(out, size, "\"%s\"%s", shown, len > VALUE_SHOWN ? "…" : "");
        return;
    case WFS_GGUF_U32:
    case WFS_GGUF_I32:
        wfs_cursor_u32le(&c, &v);
        snprintf(out, size, k->type == WFS_GGUF_U32 ? "%" PRIu32 : "%" PRId32, v);
        return;
    case WFS_GGUF_F32:
        wfs_cursor_u32le(&c, &v);
        memcpy(&f, &v, sizeof f);
        snprintf(out, size, "%.9g", (double)f);
        return;
    case WFS_GGUF_BOOL:
        snprintf(out, size, "%s", *k->value ? "true" : "false");
        return;
    case WFS_GGUF_ARRAY:
        wfs_cursor_u32le(&c, &v);
        wfs_cursor_u64le(&c, &len);
        snprintf(out, size, "a list of %" PRIu64, len);
        return;
    default:
        snprintf(out, size, "of type %" PRIu32, k->type);
    }
}

static void show_type(uint32_t type, char *out, size_t size)
{
    if (type < WFS_TYPE_COUNT && wfs_ggml_types[type].name)
        snprintf(out, size, "%s", wfs_ggml_types[type].name);
    else
        snprintf(out, size, "of type %" PRIu32, type);
}

static void say(const char *kind, const struct wfs_gguf_item *item, const char *text, char *out, size_t size)
{
    char name[300];

    wfs_escape(name, sizeof name, (const char *)item->name, (unsigned long)item->name_len);
    snprintf(out, size, "%s %s %s", kind, name, text);
}

static void say_values(const char *kind, const struct wfs_gguf_item *view, const struct wfs_gguf_item *file,
                       bool is_key, char *out, size_t size)
{
    char a[300], b[300], text[700];

    if (is_key) {
        show_value(view, a, sizeof a);
        show_value(file, b, sizeof b);
    } else {
        show_type(view->type, a, sizeof a);
        show_type(file->type, b, sizeof b);
    }
    if (!is_key && view->type == file->type)
        snprintf(text, sizeof text, "has another shape or place");
    else if (strcmp(a, b) == 0)
        snprintf(text, sizeof text, "differs (%s in both)", a);
    else
        snprintf(text, sizeof text, "is %s in the view, %s in the file", a, b);
    say(kind, view, text, out, size);
}

enum outcome { SAME, SAID, UNREADABLE };

/* The items of the view in their order, then those that only the file has. Both walks move behind them. */
static enum outcome compare(struct wfs_gguf_walk *view, uint64_t n_view, struct wfs_gguf_walk *file, uint64_t n_file,
                            next_item *next, const char *kind, char *out, size_t size)
{
    struct wfs_gguf_walk first_view = *view, first_file = *file;
    struct wfs_gguf_item item, other;
    bool found, moved = false;

    for (uint64_t i = 0; i < n_view; i++) {
        if (!next(view, &item))
            return UNREADABLE;
        /* In the same place as a rule: then no search is needed. */
        if (i < n_file && !next(file, &other))
            return UNREADABLE;
        found = i < n_file && same_name(&item, &other);
        moved |= !found;
        if (!found && !find(first_file, n_file, next, &item, &other, &found))
            return UNREADABLE;
        if (!found)
            say(kind, &item, "is only in the view", out, size);
        else if (!same_value(&item, &other))
            say_values(kind, &item, &other, next == wfs_gguf_walk_key, out, size);
        if (!found || !same_value(&item, &other))
            return SAID;
    }
    *file = first_file;
    for (uint64_t i = 0; i < n_file; i++) {
        if (!next(file, &item))
            return UNREADABLE;
        if (n_file == n_view)
            continue;
        if (!find(first_view, n_view, next, &item, &other, &found))
            return UNREADABLE;
        if (!found) {
            say(kind, &item, "is only in the file", out, size);
            return SAID;
        }
    }
    if (moved)
        snprintf(out, size, "the %ss are the same, in another order", kind);
    return moved ? SAID : SAME;
}

bool wfs_gguf_walk_difference(const uint8_t *view, size_t view_len, const uint8_t *file, size_t file_len, char *out,
                              size_t size)
{
    struct wfs_gguf_walk a, b;
    enum outcome r;

    if (!wfs_gguf_walk_start(&a, view, view_len) || !wfs_gguf_walk_start(&b, file, file_len))
        return false;
    if (a.version != b.version) {
        snprintf(out, size, "GGUF version %" PRIu32 " in the view, %" PRIu32 " in the file", a.version, b.version);
        return true;
    }
    r = compare(&a, a.n_keys, &b, b.n_keys, wfs_gguf_walk_key, "key", out, size);
    if (r == SAME)
        r = compare(&a, a.n_tensors, &b, b.n_tensors, wfs_gguf_walk_tensor, "tensor", out, size);
    return r == SAID;
}
