#include "reader.h"
#include "../base/checked.h"
#include "../base/map.h"
#include "../kernels/types.h"
#include "walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 64, LAST_VERSION = 3 };

struct parse {
    struct wfs_gguf_walk walk;
    struct wfs_gguf_header h;
    struct wfs_error *err;
};

static int cut_short(struct parse *p, const char *what)
{
    return wfs_error_set(p->err, EINVAL, "byte %zu: the file ends within %s", p->walk.c.at, what);
}

static int parse_key(struct parse *p, struct wfs_gguf_key *k)
{
    struct wfs_gguf_item item;
    enum wfs_gguf_step step = wfs_gguf_walk_key(&p->walk, &item);

    if (step == WFS_GGUF_STEP_CUT)
        return cut_short(p, "a key");
    *k = (struct wfs_gguf_key){ .name = (const char *)item.name, .name_len = item.name_len,
                                .type = (enum wfs_gguf_value_type)item.element_type,
                                .is_array = item.type == WFS_GGUF_ARRAY, .n = item.n, .value = item.elements };
    if (k->name_len == 0)
        return wfs_error_set(p->err, EINVAL, "byte %zu: a key without a name", p->walk.c.at);
    if (step == WFS_GGUF_STEP_TYPE)
        return wfs_error_set(p->err, EINVAL, "key %.*s: %u is no type of a value", (int)k->name_len, k->name,
                             item.element_type);
    if (step != WFS_GGUF_STEP_OK)
        return wfs_error_set(p->err, EINVAL, "key %.*s: its value is longer than the file", (int)k->name_len, k->name);
    return 0;
}

/* Bytes of a tensor from its shape; false when they are more than can be. */
static bool measure(struct wfs_gguf_tensor_info *t)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[t->type];
    uint64_t n = 1;

    for (int d = 0; d < WFS_GGUF_MAX_DIMS; d++) {
        if (t->ne[d] > INT64_MAX || !wfs_mul_u64(n, t->ne[d], &n))
            return false;
    }
    t->n_elems = n;
    return n < INT64_MAX && wfs_mul_u64(n / info->block_elems, info->block_bytes, &t->n_bytes);
}

static int parse_tensor(struct parse *p, struct wfs_gguf_tensor_info *t, uint64_t *ret_offset)
{
    struct wfs_gguf_item item;
    enum wfs_gguf_step step = wfs_gguf_walk_tensor(&p->walk, &item);
    struct wfs_cursor dims;

    if (step == WFS_GGUF_STEP_CUT)
        return cut_short(p, "a tensor's description");
    if (item.name_len >= MAX_NAME)
        return wfs_error_set(p->err, EINVAL, "byte %zu: the name of a tensor has %zu bytes, %d are allowed",
                             p->walk.c.at, item.name_len, MAX_NAME - 1);
    t->name = (const char *)item.name;
    t->name_len = strnlen(t->name, item.name_len);
    t->n_dims = item.n_dims;
    if (t->n_dims > WFS_GGUF_MAX_DIMS)
        return wfs_error_set(p->err, EINVAL, "tensor %.*s has %u dimensions", (int)t->name_len, t->name, t->n_dims);
    dims = wfs_cursor_over(item.dims, t->n_dims * sizeof *t->ne);
    for (uint32_t d = 0; d < WFS_GGUF_MAX_DIMS; d++) {
        if (d >= t->n_dims || !wfs_cursor_u64le(&dims, &t->ne[d]))
            t->ne[d] = 1;
    }
    t->type = item.type;
    *ret_offset = item.offset;
    if (t->type >= WFS_TYPE_COUNT || !wfs_ggml_types[t->type].name)
        return wfs_error_set(p->err, EINVAL, "tensor %.*s: its type %u is not known", (int)t->name_len, t->name,
                             t->type);
    if (t->ne[0] % wfs_ggml_types[t->type].block_elems != 0 || !measure(t))
        return wfs_error_set(p->err, EINVAL, "tensor %.*s: its shape does not fit its type", (int)t->name_len,
                             t->name);
    return 0;
}

static int parse_keys(struct parse *p, uint64_t *ret_alignment)
{
    struct wfs_map seen;
    const struct wfs_gguf_key *alignment;
    int r = 0;

    wfs_map_init(&seen);
    for (size_t i = 0; i < p->h.n_keys && r == 0; i++) {
        struct wfs_gguf_key *k = &p->h.keys[i];

        r = parse_key(p, k);
        if (r < 0)
            break;
        r = wfs_map_add(&seen, k->name, k->name_len, 0, NULL);
        r = r == 1   ? 0
            : r == 0 ? wfs_error_set(p->err, EINVAL, "key %.*s is there twice", (int)k->name_len, k->name)
                     : wfs_error_set(p->err, ENOMEM, "out of memory");
    }
    wfs_map_done(&seen);
    if (r < 0)
        return r;
    *ret_alignment = WFS_GGUF_DEFAULT_ALIGNMENT;
    alignment = wfs_gguf_header_find(&p->h, "general.alignment");
    if (alignment) {
        struct wfs_cursor c = wfs_cursor_over(alignment->value, 4);
        uint32_t v = 0;

        if (alignment->type == WFS_GGUF_U32 && !alignment->is_array)
            wfs_cursor_u32le(&c, &v);
        *ret_alignment = v;
        if (v == 0 || (v & (v - 1)) != 0)
            return wfs_error_set(p->err, EINVAL, "key general.alignment is not a power of two of type uint32");
    }
    return 0;
}

/* Tensors lie one behind the other, each padded; all within the file. */
static int place_tensors(struct parse *p, const uint64_t *offsets, uint64_t alignment)
{
    uint64_t base, at = 0, end;

    if (!wfs_align_u64(p->walk.c.at, alignment, &base) || base > p->walk.c.len)
        return p->h.n_tensors ? cut_short(p, "the padding before the data") : 0;
    for (size_t i = 0; i < p->h.n_tensors; i++) {
        struct wfs_gguf_tensor_info *t = &p->h.tensors[i];

        if (offsets[i] != at)
            return wfs_error_set(p->err, EINVAL, "tensor %.*s begins at %llu, not at %llu", (int)t->name_len, t->name,
                                 (unsigned long long)offsets[i], (unsigned long long)at);
        if (!wfs_add_u64(at, t->n_bytes, &end) || !wfs_align_u64(end, alignment, &at) || at > p->walk.c.len - base)
            return wfs_error_set(p->err, EINVAL, "tensor %.*s reaches beyond the end of the file", (int)t->name_len,
                                 t->name);
        t->data = p->walk.c.data + base + offsets[i];
    }
    return 0;
}

static int parse_tensors(struct parse *p, uint64_t alignment)
{
    uint64_t *offsets = calloc(p->h.n_tensors + 1, sizeof *offsets);
    struct wfs_map seen;
    int r = offsets ? 0 : wfs_error_set(p->err, ENOMEM, "out of memory");

    wfs_map_init(&seen);
    for (size_t i = 0; i < p->h.n_tensors && r == 0; i++) {
        struct wfs_gguf_tensor_info *t = &p->h.tensors[i];

        r = parse_tensor(p, t, &offsets[i]);
        if (r < 0)
            break;
        r = wfs_map_add(&seen, t->name, t->name_len, 0, NULL);
        r = r == 1   ? 0
            : r == 0 ? wfs_error_set(p->err, EINVAL, "tensor %.*s is there twice", (int)t->name_len, t->name)
                     : wfs_error_set(p->err, ENOMEM, "out of memory");
    }
    if (r == 0)
        r = place_tensors(p, offsets, alignment);
    wfs_map_done(&seen);
    free(offsets);
    return r;
}

/* The fixed part, and room for what it announces: a key takes 13 bytes at least, a tensor 24. */
static int parse_counts(struct parse *p, const void *data, size_t len)
{
    enum { MIN_KEY = 13, MIN_TENSOR = 24 };
    struct wfs_gguf_walk *w = &p->walk;
    enum wfs_gguf_step step = wfs_gguf_walk_start(w, data, len);

    if (step == WFS_GGUF_STEP_MAGIC)
        return wfs_error_set(p->err, EINVAL, "not a GGUF file");
    if (step != WFS_GGUF_STEP_OK)
        return cut_short(p, "the header");
    p->h.version = w->version;
    if (p->h.version < 2 || p->h.version > LAST_VERSION)
        return wfs_error_set(p->err, EINVAL, "GGUF version %u is not supported", p->h.version);
    if (w->n_keys > wfs_cursor_left(&w->c) / MIN_KEY || w->n_tensors > wfs_cursor_left(&w->c) / MIN_TENSOR)
        return wfs_error_set(p->err, EINVAL, "the header announces %llu keys and %llu tensors, more than the file holds",
                             (unsigned long long)w->n_keys, (unsigned long long)w->n_tensors);
    p->h.n_keys = (size_t)w->n_keys;
    p->h.n_tensors = (size_t)w->n_tensors;
    p->h.keys = calloc(p->h.n_keys + 1, sizeof *p->h.keys);
    p->h.tensors = calloc(p->h.n_tensors + 1, sizeof *p->h.tensors);
    return p->h.keys && p->h.tensors ? 0 : wfs_error_set(p->err, ENOMEM, "out of memory");
}

int wfs_gguf_header_parse(const void *data, size_t len, struct wfs_gguf_header *ret, struct wfs_error *err)
{
    struct parse p = { .err = err };
    uint64_t alignment;
    int r = parse_counts(&p, data, len);

    if (r == 0)
        r = parse_keys(&p, &alignment);
    if (r == 0)
        r = parse_tensors(&p, alignment);
    if (r < 0) {
        wfs_gguf_header_done(&p.h);
        return r;
    }
    *ret = p.h;
    return 0;
}

void wfs_gguf_header_done(struct wfs_gguf_header *h)
{
    free(h->keys);
    free(h->tensors);
    h->keys = NULL;
    h->tensors = NULL;
    h->n_keys = h->n_tensors = 0;
}

const struct wfs_gguf_key *wfs_gguf_header_find(const struct wfs_gguf_header *h, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < h->n_keys; i++) {
        if (h->keys[i].name_len == len && memcmp(h->keys[i].name, name, len) == 0)
            return &h->keys[i];
    }
    return NULL;
}

void wfs_gguf_key_string(const struct wfs_gguf_key *k, uint64_t i, const char **ret, size_t *ret_len)
{
    struct wfs_cursor c = wfs_cursor_over(k->value, SIZE_MAX / 2);
    const uint8_t *text = NULL;

    do {
        if (!wfs_gguf_take_string(&c, &text, ret_len))
            *ret_len = 0; /* cannot be: parse has walked here */
        *ret = (const char *)text;
    } while (i-- > 0);
}
