#include "locate.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- the tensor names of a GGUF header (layout: gguf.md of ggml's docs, version 3) --- */

enum { GGUF_STRING = 8, GGUF_ARRAY = 9, GGUF_TYPES = 13, DEFAULT_ALIGNMENT = 32 };

static bool take_string(struct wfs_cursor *c, const uint8_t **ret, uint64_t *ret_len)
{
    if (!wfs_cursor_u64le(c, ret_len) || *ret_len > wfs_cursor_left(c))
        return false;
    *ret = wfs_cursor_take(c, (size_t)*ret_len);
    return true;
}

static bool skip_value(struct wfs_cursor *c, uint32_t type)
{
    static const uint8_t widths[GGUF_TYPES] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
    const uint8_t *text;
    uint64_t len, count = 1;

    if (type == GGUF_ARRAY && (!wfs_cursor_u32le(c, &type) || !wfs_cursor_u64le(c, &count)))
        return false;
    if (type >= GGUF_TYPES || type == GGUF_ARRAY)
        return false;
    if (type != GGUF_STRING)
        return count <= wfs_cursor_left(c) / widths[type] && wfs_cursor_take(c, (size_t)count * widths[type]);
    for (uint64_t i = 0; i < count; i++) {
        if (!take_string(c, &text, &len))
            return false;
    }
    return true;
}

/* Behind the metadata; *ret_alignment from general.alignment. */
static bool skip_metadata(struct wfs_cursor *c, uint64_t count, uint32_t *ret_alignment)
{
    static const char alignment[] = "general.alignment";

    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *key;
        uint64_t len;
        uint32_t type;
        struct wfs_cursor value;

        if (!take_string(c, &key, &len) || !wfs_cursor_u32le(c, &type))
            return false;
        value = *c;
        if (len == sizeof alignment - 1 && memcmp(key, alignment, (size_t)len) == 0)
            wfs_cursor_u32le(&value, ret_alignment);
        if (!skip_value(c, type))
            return false;
    }
    return *ret_alignment > 0;
}

struct gguf_tensor {
    const uint8_t *name;
    uint64_t name_len, offset;
};

static bool take_tensor(struct wfs_cursor *c, struct gguf_tensor *ret)
{
    uint32_t n_dims, type;

    return take_string(c, &ret->name, &ret->name_len) && wfs_cursor_u32le(c, &n_dims) && n_dims <= 8 &&
           wfs_cursor_take(c, n_dims * (size_t)8) && wfs_cursor_u32le(c, &type) && wfs_cursor_u64le(c, &ret->offset);
}

bool wfs_locate_gguf(const uint8_t *header, size_t len, uint64_t offset, char *name, size_t size, uint64_t *ret_begin)
{
    struct wfs_cursor c = wfs_cursor_over(header, len), tensors;
    uint32_t magic, version, alignment = DEFAULT_ALIGNMENT;
    uint64_t n_tensors, n_kv, data;
    struct gguf_tensor t, found = { 0 };

    if (!wfs_cursor_u32le(&c, &magic) || magic != 0x46554747 || !wfs_cursor_u32le(&c, &version) ||
        !wfs_cursor_u64le(&c, &n_tensors) || !wfs_cursor_u64le(&c, &n_kv) || !skip_metadata(&c, n_kv, &alignment))
        return false;
    tensors = c;
    for (uint64_t i = 0; i < n_tensors; i++) {
        if (!take_tensor(&c, &t))
            return false;
    }
    data = (c.at + alignment - 1) / alignment * alignment;
    if (offset < data)
        return false;
    for (uint64_t i = 0; i < n_tensors; i++) {
        take_tensor(&tensors, &t);
        if (t.offset <= offset - data && (!found.name || t.offset >= found.offset))
            found = t;
    }
    if (!found.name)
        return false;
    wfs_escape(name, size, (const char *)found.name, (unsigned long)found.name_len);
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

/* A header that the view holds itself: the literal bytes in front of the first tensor. */
static void gather_header(const struct wfs_layout *l, struct wfs_buf *out)
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

    gather_header(l, &header);
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
