#include "gguf_difference.h"

#include "base/error.h"
#include "gguf/walk.h"
#include "kernels/types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_SHOWN = 60 };

typedef enum wfs_gguf_step next_item(struct wfs_gguf_walk *w, struct wfs_gguf_item *ret);

static bool same_name(const struct wfs_gguf_item *a, const struct wfs_gguf_item *b)
{
    return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
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
        if (next(&w, ret) != WFS_GGUF_STEP_OK)
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
    size_t len = 0;
    uint32_t v = 0;
    char shown[4 * VALUE_SHOWN + 1];
    float f;

    switch (k->type) {
    case WFS_GGUF_STRING:
        wfs_gguf_take_string(&c, &text, &len);
        wfs_escape(shown, sizeof shown, (const char *)text, len < VALUE_SHOWN ? len : VALUE_SHOWN);
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
        snprintf(out, size, "a list of %" PRIu64, k->n);
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

    wfs_escape(name, sizeof name, (const char *)item->name, item->name_len);
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
        if (next(view, &item) != WFS_GGUF_STEP_OK)
            return UNREADABLE;
        /* In the same place as a rule: then no search is needed. */
        if (i < n_file && next(file, &other) != WFS_GGUF_STEP_OK)
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
        if (next(file, &item) != WFS_GGUF_STEP_OK)
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

bool wfs_gguf_difference(const uint8_t *view, size_t view_len, const uint8_t *file, size_t file_len, char *out,
                              size_t size)
{
    struct wfs_gguf_walk a, b;
    enum outcome r;

    if (wfs_gguf_walk_start(&a, view, view_len) != WFS_GGUF_STEP_OK ||
        wfs_gguf_walk_start(&b, file, file_len) != WFS_GGUF_STEP_OK)
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
