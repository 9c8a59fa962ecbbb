#include "locate.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "gguf/walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Behind the keys; *ret_alignment from general.alignment. */
static bool skip_keys(struct wfs_gguf_walk *w, uint32_t *ret_alignment)
{
    static const char alignment[] = "general.alignment";

    *ret_alignment = WFS_GGUF_DEFAULT_ALIGNMENT;
    for (uint64_t i = 0; i < w->n_keys; i++) {
        struct wfs_gguf_item key;
        struct wfs_cursor value;

        if (wfs_gguf_walk_key(w, &key) != WFS_GGUF_STEP_OK)
            return false;
        value = wfs_cursor_over(key.value, key.value_len);
        if (key.name_len == sizeof alignment - 1 && memcmp(key.name, alignment, sizeof alignment - 1) == 0)
            wfs_cursor_u32le(&value, ret_alignment);
    }
    return *ret_alignment > 0;
}

bool wfs_locate_gguf(const uint8_t *header, size_t len, uint64_t offset, char *name, size_t size, uint64_t *ret_begin)
{
    struct wfs_gguf_walk w, tensors;
    struct wfs_gguf_item t, found = { 0 };
    uint32_t alignment;
    uint64_t data;

    if (wfs_gguf_walk_start(&w, header, len) != WFS_GGUF_STEP_OK || !skip_keys(&w, &alignment))
        return false;
    tensors = w;
    for (uint64_t i = 0; i < w.n_tensors; i++) {
        if (wfs_gguf_walk_tensor(&w, &t) != WFS_GGUF_STEP_OK)
            return false;
    }
    data = (w.c.at + alignment - 1) / alignment * alignment;
    if (offset < data)
        return false;
    for (uint64_t i = 0; i < w.n_tensors; i++) {
        wfs_gguf_walk_tensor(&tensors, &t);
        if (t.offset <= offset - data && (!found.name || t.offset >= found.offset))
            found = t;
    }
    if (!found.name)
        return false;
    wfs_escape(name, size, (const char *)found.name, found.name_len);
    *ret_begin = data + found.offset;
    return true;
}

/* --- the segments of a layout --- */

static const struct wfs_tensor *tensor_at(const struct wfs_object *object, const struct wfs_model *model, uint32_t file,
                                          uint64_t offset)
{
    const char *path = file < object->n_files ? object->files[file]->path : NULL;

    for (size_t i = 0; model && path && i < model->n_tensors; i++) {
        const struct wfs_tensor *t = &model->tensors[i];

        if (offset >= t->offset && offset - t->offset < t->n_bytes && strcmp(model->files[t->file].name, path) == 0)
            return t;
    }
    return NULL;
}

void wfs_locate_header(const struct wfs_layout *l, struct wfs_buf *out)
{
    for (size_t i = 0; i < l->n_segments; i++) {
        const struct wfs_segment *s = &l->segments[i];

        if (s->kind == WFS_SEGMENT_DATA)
            wfs_buf_put(out, s->data, (size_t)(s->end - s->begin));
        else if (s->kind != WFS_SEGMENT_ZERO || s->end - s->begin > 4096)
            break;
        else
            wfs_buf_fill(out, 0, (size_t)(s->end - s->begin));
    }
}

static void say_tensor(const char *name, const struct wfs_tensor *source, uint64_t at, uint64_t n_bytes, char *out,
                       size_t size)
{
    char shown[600] = "";

    if (source)
        wfs_escape(shown, sizeof shown, source->name, source->name_len);
    if (name && source && strcmp(name, shown) != 0)
        snprintf(out, size, "tensor %s (from %s), byte %" PRIu64 " of its %" PRIu64, name, shown, at, n_bytes);
    else
        snprintf(out, size, "tensor %s, byte %" PRIu64 " of its %" PRIu64, name ? name : shown, at, n_bytes);
}

void wfs_locate(const struct wfs_object *object, const struct wfs_model *model, uint64_t offset, char *out, size_t size)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf header = WFS_BUF_INIT;
    const struct wfs_layout *l = object->layout;
    const struct wfs_segment *s = &l->segments[wfs_layout_find(l, offset)];
    const struct wfs_tensor *source = NULL;
    char name[600];
    uint64_t begin = 0;
    bool in_gguf;

    wfs_locate_header(l, &header);
    in_gguf = !header.failed && wfs_locate_gguf(header.data, header.len, offset, name, sizeof name, &begin);
    switch (s->kind) {
    case WFS_SEGMENT_TENSOR:
        say_tensor(in_gguf ? name : NULL, s->plan->tensor, offset - s->begin, s->end - s->begin, out, size);
        return;
    case WFS_SEGMENT_EXTENT:
        source = tensor_at(object, model, s->extent.file, s->extent.offset + (offset - s->begin));
        if (in_gguf)
            say_tensor(name, source, offset - begin, s->end - begin, out, size);
        else if (source)
            say_tensor(NULL, source, s->extent.offset + (offset - s->begin) - source->offset, source->n_bytes, out,
                       size);
        else
            snprintf(out, size, "no tensor: a header, or another kind of file");
        return;
    case WFS_SEGMENT_ZERO:
        snprintf(out, size, "padding%s%s", in_gguf ? " behind tensor " : "", in_gguf ? name : "");
        return;
    case WFS_SEGMENT_DATA:
        snprintf(out, size, "%s", in_gguf ? "bytes between tensors" : "the header");
        return;
    }
}
