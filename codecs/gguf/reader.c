#include "reader.h"
#include "../base/checked.h"
#include "../base/cursor.h"
#include "../base/map.h"
#include "../kernels/types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_ALIGNMENT = 32, MAX_NAME = 64, MAX_LENGTH = 1 << 30, LAST_VERSION = 3 };

struct parse {
    struct wfs_cursor c;
    struct wfs_gguf_header h;
    struct wfs_error *err;
};

static int cut_short(struct parse *p, const char *what)
{
    return wfs_error_set(p->err, EINVAL, "byte %zu: the file ends within %s", p->c.at, what);
}

static bool take_string(struct wfs_cursor *c, const char **ret, size_t *ret_len)
{
    uint64_t len;

    if (!wfs_cursor_u64le(c, &len) || len > MAX_LENGTH || len > wfs_cursor_left(c))
        return false;
    *ret = (const char *)wfs_cursor_take(c, (size_t)len);
    *ret_len = (size_t)len;
    return true;
}

/* Bytes of one value; 0 for strings and what is no type of a value. */
static size_t size_of(uint32_t type)
{
    static const uint8_t sizes[] = { [WFS_GGUF_U8] = 1,  [WFS_GGUF_I8] = 1,  [WFS_GGUF_U16] = 2, [WFS_GGUF_I16] = 2,
                                     [WFS_GGUF_U32] = 4, [WFS_GGUF_I32] = 4, [WFS_GGUF_F32] = 4, [WFS_GGUF_BOOL] = 1,
                                     [WFS_GGUF_U64] = 8, [WFS_GGUF_I64] = 8, [WFS_GGUF_F64] = 8 };

    return type < sizeof sizes ? sizes[type] : 0;
}

static bool skip_values(struct wfs_cursor *c, const struct wfs_gguf_key *k)
{
    const char *text;
    size_t len;

    if (k->type != WFS_GGUF_STRING)
        return k->n <= wfs_cursor_left(c) / size_of(k->type) && wfs_cursor_take(c, (size_t)k->n * size_of(k->type));
    for (uint64_t i = 0; i < k->n; i++) {
        if (!take_string(c, &text, &len))
            return false;
    }
    return true;
}

static int parse_key(struct parse *p, struct wfs_gguf_key *k)
{
    uint32_t type;

    if (!take_string(&p->c, &k->name, &k->name_len) || !wfs_cursor_u32le(&p->c, &type))
        return cut_short(p, "a key");
    if (k->name_len == 0)
        return wfs_error_set(p->err, EINVAL, "byte %zu: a key without a name", p->c.at);
    k->n = 1;
    k->is_array = type == WFS_GGUF_ARRAY;
    if (k->is_array && (!wfs_cursor_u32le(&p->c, &type) || !wfs_cursor_u64le(&p->c, &k->n)))
        return cut_short(p, "a key");
    if (type != WFS_GGUF_STRING && size_of(type) == 0)
        return wfs_error_set(p->err, EINVAL, "key %.*s: %u is no type of a value", (int)k->name_len, k->name, type);
    k->type = (enum wfs_gguf_value_type)type;
    k->value = p->c.data + p->c.at;
    if (k->n > MAX_LENGTH || !skip_values(&p->c, k))
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
    if (!take_string(&p->c, &t->name, &t->name_len) || !wfs_cursor_u32le(&p->c, &t->n_dims))
        return cut_short(p, "a tensor's description");
    if (t->name_len >= MAX_NAME)
        return wfs_error_set(p->err, EINVAL, "byte %zu: the name of a tensor has %zu bytes, %d are allowed", p->c.at,
                             t->name_len, MAX_NAME - 1);
    t->name_len = strnlen(t->name, t->name_len);
    if (t->n_dims > WFS_GGUF_MAX_DIMS)
        return wfs_error_set(p->err, EINVAL, "tensor %.*s has %u dimensions", (int)t->name_len, t->name, t->n_dims);
    for (uint32_t d = 0; d < WFS_GGUF_MAX_DIMS; d++) {
        t->ne[d] = 1;
        if (d < t->n_dims && !wfs_cursor_u64le(&p->c, &t->ne[d]))
            return cut_short(p, "a tensor's description");
    }
    if (!wfs_cursor_u32le(&p->c, &t->type) || !wfs_cursor_u64le(&p->c, ret_offset))
        return cut_short(p, "a tensor's description");
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
    *ret_alignment = DEFAULT_ALIGNMENT;
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

    if (!wfs_align_u64(p->c.at, alignment, &base) || base > p->c.len)
        return p->h.n_tensors ? cut_short(p, "the padding before the data") : 0;
    for (size_t i = 0; i < p->h.n_tensors; i++) {
        struct wfs_gguf_tensor_info *t = &p->h.tensors[i];

        if (offsets[i] != at)
            return wfs_error_set(p->err, EINVAL, "tensor %.*s begins at %llu, not at %llu", (int)t->name_len, t->name,
                                 (unsigned long long)offsets[i], (unsigned long long)at);
        if (!wfs_add_u64(at, t->n_bytes, &end) || !wfs_align_u64(end, alignment, &at) || at > p->c.len - base)
            return wfs_error_set(p->err, EINVAL, "tensor %.*s reaches beyond the end of the file", (int)t->name_len,
                                 t->name);
        t->data = p->c.data + base + offsets[i];
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
static int parse_counts(struct parse *p)
{
    enum { MIN_KEY = 13, MIN_TENSOR = 24 };
    const uint8_t *magic = wfs_cursor_take(&p->c, 4);
    uint64_t n_tensors, n_keys;

    if (!magic || memcmp(magic, "GGUF", 4) != 0)
        return wfs_error_set(p->err, EINVAL, "not a GGUF file");
    if (!wfs_cursor_u32le(&p->c, &p->h.version) || !wfs_cursor_u64le(&p->c, &n_tensors) ||
        !wfs_cursor_u64le(&p->c, &n_keys))
        return cut_short(p, "the header");
    if (p->h.version < 2 || p->h.version > LAST_VERSION)
        return wfs_error_set(p->err, EINVAL, "GGUF version %u is not supported", p->h.version);
    if (n_keys > wfs_cursor_left(&p->c) / MIN_KEY || n_tensors > wfs_cursor_left(&p->c) / MIN_TENSOR)
        return wfs_error_set(p->err, EINVAL, "the header announces %llu keys and %llu tensors, more than the file holds",
                             (unsigned long long)n_keys, (unsigned long long)n_tensors);
    p->h.n_keys = (size_t)n_keys;
    p->h.n_tensors = (size_t)n_tensors;
    p->h.keys = calloc(p->h.n_keys + 1, sizeof *p->h.keys);
    p->h.tensors = calloc(p->h.n_tensors + 1, sizeof *p->h.tensors);
    return p->h.keys && p->h.tensors ? 0 : wfs_error_set(p->err, ENOMEM, "out of memory");
}

int wfs_gguf_header_parse(const void *data, size_t len, struct wfs_gguf_header *ret, struct wfs_error *err)
{
    struct parse p = { .c = wfs_cursor_over(data, len), .err = err };
    uint64_t alignment;
    int r = parse_counts(&p);

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

    do {
        if (!take_string(&c, ret, ret_len))
            *ret_len = 0; /* cannot be: parse has walked here */
    } while (i-- > 0);
}
