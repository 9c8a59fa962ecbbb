#include "safetensors.h"
#include "../base/checked.h"
#include "../base/cleanup.h"
#include "../base/cursor.h"
#include "../json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8 };

static const char LFS_MAGIC[] = "version https://git-lfs.github.com/spec/";

/* How much of a tensor's name a message shows. */
#define NAME "\"%.160s\""

static const struct wfs_json_limits header_limits = {
    .max_bytes = WFS_SAFETENSORS_MAX_HEADER, .max_depth = 127 /* as serde_json */, .unique_keys = true
};

static bool is_lfs_pointer(const uint8_t *head, size_t len)
{
    return len >= sizeof LFS_MAGIC - 1 && memcmp(head, LFS_MAGIC, sizeof LFS_MAGIC - 1) == 0;
}

int wfs_safetensors_probe(const uint8_t *head, size_t len, uint64_t file_size)
{
    struct wfs_cursor c = wfs_cursor_over(head, len);
    uint64_t n;
    uint8_t first;

    if (is_lfs_pointer(head, len))
        return 10;
    if (!wfs_cursor_u64le(&c, &n) || n > WFS_SAFETENSORS_MAX_HEADER || n > file_size - LENGTH_BYTES ||
        !wfs_cursor_u8(&c, &first))
        return 0;
    return first == '{' ? 90 : first == ' ' ? 30 : 0;
}

/* A pointer file ends in "size N": how large the real file is. */
static int refuse_lfs_pointer(const uint8_t *head, size_t len, struct wfs_error *err)
{
    char text[WFS_SAFETENSORS_PROBE_BYTES + 1];
    const char *size;
    unsigned long long bytes;

    len = len < sizeof text - 1 ? len : sizeof text - 1;
    memcpy(text, head, len);
    text[len] = 0;
    size = strstr(text, "\nsize ");
    if (size && sscanf(size, "\nsize %llu", &bytes) == 1)
        return wfs_error_set(err, EINVAL,
                             "a Git LFS pointer instead of the %llu bytes of weights: run \"git lfs pull\"",
                             bytes);
    return wfs_error_set(err, EINVAL, "a Git LFS pointer instead of the weights: run \"git lfs pull\"");
}

int wfs_safetensors_want(const uint8_t *head, size_t len, uint64_t file_size, uint64_t *ret_bytes,
                         struct wfs_error *err)
{
    struct wfs_cursor c = wfs_cursor_over(head, len);
    uint64_t n;

    if (is_lfs_pointer(head, len))
        return refuse_lfs_pointer(head, len, err);
    if (file_size < LENGTH_BYTES || !wfs_cursor_u64le(&c, &n))
        return wfs_error_set(err, EINVAL, "a file of %" PRIu64 " bytes is too short for safetensors", file_size);
    if (n > WFS_SAFETENSORS_MAX_HEADER)
        return wfs_error_set(err, EINVAL, "not safetensors: a header of %" PRIu64 " bytes, more than the limit of %d",
                             n, WFS_SAFETENSORS_MAX_HEADER);
    if (n > file_size - LENGTH_BYTES)
        return wfs_error_set(err, EINVAL,
                             "the header of %" PRIu64
                             " bytes is longer than the file: %" PRIu64 " bytes are missing", n,
                             n - (file_size - LENGTH_BYTES));
    *ret_bytes = LENGTH_BYTES + n;
    return 0;
}

/* Bounds the nodes that a hostile header can make the JSON reader build, before it builds any. */
static int check_value_count(const uint8_t *text, size_t len, struct wfs_error *err)
{
    size_t count = 1;
    bool in_string = false;

    for (size_t i = 0; i < len; i++) {
        uint8_t c = text[i];

        if (c == '"')
            in_string = !in_string;
        else if (in_string)
            i += c == '\\';
        else
            count += c == ',' || c == '[' || c == '{';
    }
    if (count > WFS_SAFETENSORS_MAX_VALUES)
        return wfs_error_set(err, EINVAL, "the header holds more than %d JSON values", WFS_SAFETENSORS_MAX_VALUES);
    return 0;
}

/* A JSON value as the reference's usize. It takes -0 for a float. */
static bool read_u64(const cJSON *node, uint64_t *ret)
{
    return wfs_json_u64(node, ret) && !signbit(node->valuedouble);
}

static int read_metadata(const cJSON *object, struct wfs_error *err)
{
    if (cJSON_IsNull(object))
        return 0;
    if (!cJSON_IsObject(object))
        return wfs_error_set(err, EINVAL, "__metadata__ is not an object");
    for (const cJSON *m = object->child; m; m = m->next) {
        if (!cJSON_IsString(m))
            return wfs_error_set(err, EINVAL, "__metadata__: the value of " NAME " is not a string", m->string);
    }
    return 0;
}

static int read_dtype(const cJSON *node, struct wfs_tensor *t, struct wfs_error *err)
{
    const char *name = wfs_json_string(node);
    int dtype;

    if (!name)
        return wfs_error_set(err, EINVAL, "tensor " NAME ": no dtype, or one that is not a string", t->name);
    dtype = wfs_dtype_find(name, strlen(name));
    if (dtype < 0)
        return wfs_error_set(err, EINVAL, "tensor " NAME ": unknown dtype \"%.40s\"", t->name, name);
    t->dtype = (uint8_t)dtype;
    return 0;
}

static int read_shape(const cJSON *node, struct wfs_tensor *t, uint64_t *dims, struct wfs_error *err)
{
    t->dims = dims;
    t->n_dims = 0;
    t->n_elems = 1;
    if (!cJSON_IsArray(node))
        return wfs_error_set(err, EINVAL, "tensor " NAME ": no shape, or one that is not an array", t->name);
    for (const cJSON *d = node->child; d; d = d->next) {
        if (t->n_dims == WFS_MAX_DIMS)
            return wfs_error_set(err, EINVAL, "tensor " NAME ": more than %d dimensions", t->name, WFS_MAX_DIMS);
        if (!read_u64(d, &dims[t->n_dims]))
            return wfs_error_set(err, EINVAL, "tensor " NAME ": dimension %u is not a non-negative 64-bit integer",
                                 t->name, t->n_dims);
        if (!wfs_mul_u64(t->n_elems, dims[t->n_dims], &t->n_elems))
            return wfs_error_set(err, EINVAL, "tensor " NAME ": its number of elements overflows 64 bits", t->name);
        t->n_dims++;
    }
    return 0;
}

/* Sets offset (in the data part) and n_bytes, and checks them against shape and dtype. */
static int read_offsets(const cJSON *node, struct wfs_tensor *t, struct wfs_error *err)
{
    const cJSON *first = cJSON_IsArray(node) ? node->child : NULL;
    unsigned dtype_bits = wfs_dtypes[t->dtype].bits;
    uint64_t begin, end, bits;

    if (!first || !first->next || first->next->next || !read_u64(first, &begin) || !read_u64(first->next, &end))
        return wfs_error_set(err, EINVAL,
                             "tensor " NAME ": data_offsets is not an array of two non-negative 64-bit integers",
                             t->name);
    if (end < begin)
        return wfs_error_set(err, EINVAL,
                             "tensor " NAME ": data_offsets end (%" PRIu64 ") before they begin (%" PRIu64 ")",
                             t->name, end, begin);
    if (!wfs_mul_u64(t->n_elems, dtype_bits, &bits))
        return wfs_error_set(err, EINVAL, "tensor " NAME ": its size overflows 64 bits", t->name);
    if (bits % 8)
        return wfs_error_set(err, EINVAL, "tensor " NAME ": %" PRIu64 " elements of %u bits do not fill whole bytes",
                             t->name, t->n_elems, dtype_bits);
    if (end - begin != bits / 8)
        return wfs_error_set(err, EINVAL,
                             "tensor " NAME ": its shape and dtype take %" PRIu64
                             " bytes, its data_offsets span %" PRIu64,
                             t->name, bits / 8, end - begin);
    t->offset = begin;
    t->n_bytes = end - begin;
    return 0;
}

static int read_tensor(const cJSON *node, struct wfs_tensor *t, uint64_t *dims, struct wfs_error *err)
{
    int r;

    if (!cJSON_IsObject(node))
        return wfs_error_set(err, EINVAL, "tensor " NAME ": its entry is not an object", t->name);
    r = read_dtype(wfs_json_get(node, "dtype"), t, err);
    if (r == 0)
        r = read_shape(wfs_json_get(node, "shape"), t, dims, err);
    if (r == 0)
        r = read_offsets(wfs_json_get(node, "data_offsets"), t, err);
    return r;
}

static bool is_metadata(const cJSON *node)
{
    return strcmp(node->string, "__metadata__") == 0;
}

/* Counts first, so that a header of any number of tensors takes three allocations. */
static int allocate(const cJSON *root, struct wfs_shard *s)
{
    size_t count = 0, name_bytes = 0, n_dims = 0;

    for (const cJSON *node = root->child; node; node = node->next) {
        const cJSON *shape = wfs_json_get(node, "shape");

        count++;
        name_bytes += strlen(node->string) + 1;
        for (const cJSON *d = cJSON_IsArray(shape) ? shape->child : NULL; d; d = d->next)
            n_dims++;
    }
    s->tensors = calloc(count + 1, sizeof *s->tensors);
    s->names = malloc(name_bytes + 1);
    s->dims = malloc((n_dims + 1) * sizeof *s->dims);
    return s->tensors && s->names && s->dims ? 0 : -ENOMEM;
}

static int read_entries(const cJSON *root, struct wfs_shard *s, struct wfs_error *err)
{
    char *names;
    uint64_t *dims;
    int r;

    if (!cJSON_IsObject(root))
        return wfs_error_set(err, EINVAL, "the header is not a JSON object");
    if (allocate(root, s) < 0)
        return wfs_error_set(err, ENOMEM, "out of memory for the header");
    names = s->names;
    dims = s->dims;
    for (const cJSON *node = root->child; node; node = node->next) {
        struct wfs_tensor *t = &s->tensors[s->n_tensors];
        size_t len = strlen(node->string);

        if (is_metadata(node)) {
            r = read_metadata(node, err);
            if (r < 0)
                return r;
            continue;
        }
        memcpy(names, node->string, len + 1);
        t->name = names;
        t->name_len = (uint32_t)len;
        r = read_tensor(node, t, dims, err);
        if (r < 0)
            return r;
        names += len + 1;
        dims += t->n_dims;
        s->n_tensors++;
    }
    return 0;
}

static int compare_offsets(const void *a, const void *b)
{
    const struct wfs_tensor *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
}

/* Tensors must cover the data part of the file exactly; then their offsets become offsets in the file. */
static int place(struct wfs_shard *s, uint64_t data_begin, uint64_t file_size, struct wfs_error *err)
{
    uint64_t end = 0, data_bytes = file_size - data_begin;

    qsort(s->tensors, s->n_tensors, sizeof *s->tensors, compare_offsets);
    for (size_t i = 0; i < s->n_tensors; i++) {
        struct wfs_tensor *t = &s->tensors[i];

        if (t->offset < end)
            return wfs_error_set(err, EINVAL, "tensor " NAME ": its bytes overlap those of tensor " NAME, t->name,
                                 t[-1].name);
        if (t->offset > end)
            return wfs_error_set(err, EINVAL, "tensor " NAME ": a hole of %" PRIu64 " bytes in front of its bytes",
                                 t->name, t->offset - end);
        end = t->offset + t->n_bytes;
    }
    if (end > data_bytes)
        return wfs_error_set(err, EINVAL,
                             "the file is truncated: %" PRIu64 " bytes are missing of the %" PRIu64
                             " bytes of tensors that its header describes",
                             end - data_bytes, end);
    if (end < data_bytes)
        return wfs_error_set(err, EINVAL, "%" PRIu64 " bytes of no tensor at the end of the file", data_bytes - end);
    for (size_t i = 0; i < s->n_tensors; i++)
        s->tensors[i].offset += data_begin;
    return 0;
}

static void free_json(struct wfs_json **json)
{
    wfs_json_free(*json);
}

int wfs_safetensors_parse(const uint8_t *bytes, size_t len, uint64_t file_size, struct wfs_shard *ret,
                          struct wfs_error *err)
{
    struct wfs_shard WFS_CLEANUP(wfs_shard_done) shard;
    struct wfs_json WFS_CLEANUP(free_json) *json = NULL;
    uint64_t need;
    int r;

    wfs_shard_init(&shard);
    r = wfs_safetensors_want(bytes, len, file_size, &need, err);
    if (r < 0)
        return r;
    if (len < need)
        return wfs_error_set(err, EINVAL, "the header is cut short: %" PRIu64 " bytes are missing", need - len);
    r = check_value_count(bytes + LENGTH_BYTES, need - LENGTH_BYTES, err);
    if (r == 0)
        r = wfs_json_parse(bytes + LENGTH_BYTES, need - LENGTH_BYTES, &header_limits, "header", &json, err);
    if (r == 0)
        r = read_entries(wfs_json_root(json), &shard, err);
    if (r == 0)
        r = place(&shard, need, file_size, err);
    if (r < 0)
        return r;
    *ret = shard;
    wfs_shard_init(&shard);
    return 0;
}
