#include "writer.h"
#include "../base/cleanup.h"
#include "../base/checked.h"
#include "../kernels/kernels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 32, VERSION = 3, MAX_DIMS = 4, MAX_NAME = 64 };

/* One tensor of a file that is being laid out. */
struct output {
    const struct wfs_gguf_tensor *tensor;
    enum wfs_ggml_type via, type; /* in the file that is quantised (F32 when there is none), in this file */
};

static int out_of_memory(struct wfs_error *err)
{
    return wfs_error_set(err, ENOMEM, "out of memory");
}

/* ggml_n_dims: the number of dims without ones (and zeros) at the slow end, at least 1. */
static unsigned trimmed_dims(const uint64_t *dims, unsigned n)
{
    unsigned from = 0;

    while (n - from > 1 && dims[from] <= 1)
        from++;
    return n > from ? n - from : 1;
}

static uint64_t last_dim(const struct wfs_gguf_tensor *t)
{
    const uint64_t *dims;
    unsigned n = wfs_gguf_tensor_dims(t, &dims);

    return n ? dims[n - 1] : 1;
}

static uint64_t elements_of(const struct wfs_gguf_tensor *t)
{
    return t->source ? t->source->n_elems : t->n_values;
}

/* The order of llama-quantize: by layer (those of none first), then by name as bytes. */
static int compare_outputs(const void *a, const void *b)
{
    const struct output *x = a, *y = b;

    if (x->tensor->layer != y->tensor->layer)
        return x->tensor->layer < y->tensor->layer ? -1 : 1;
    return strcmp(x->tensor->name, y->tensor->name);
}

/* The types of a file that llama-quantize makes of the one that --outtype auto gives. */
static int choose_quantised(const struct wfs_gguf *g, const struct wfs_gguf_format *format, struct output *outputs,
                            struct wfs_error *err)
{
    size_t n = g->tensors.count;
    WFS_CLEANUP(wfs_free) struct wfs_quant_tensor *in = calloc(n ? n : 1, sizeof *in);
    WFS_CLEANUP(wfs_free) struct wfs_quant_choice *choices = calloc(n ? n : 1, sizeof *choices);
    struct wfs_quant_recipe recipe = WFS_QUANT_PLAIN(format->type);
    int r;

    if (g->quantise_problem)
        return wfs_error_set(err, ENOTSUP, "%s", g->quantise_problem);
    if (!in || !choices)
        return out_of_memory(err);
    qsort(outputs, n, sizeof *outputs, compare_outputs);
    for (size_t i = 0; i < n; i++) {
        const struct wfs_gguf_tensor *t = outputs[i].tensor;
        const uint64_t *dims;
        unsigned n_dims = wfs_gguf_tensor_dims(t, &dims);

        if (n_dims > MAX_DIMS)
            return wfs_error_set(err, ENOTSUP, "tensor %s has %u dimensions, llama-quantize takes at most %d", t->name,
                                 n_dims, MAX_DIMS);
        if (strlen(t->name) >= MAX_NAME)
            return wfs_error_set(err, ENAMETOOLONG, "tensor %s: llama-quantize takes names of less than %d bytes",
                                 t->name, MAX_NAME);
        if (!t->always_f32 && g->tensors.auto_type == WFS_TYPE_BF16 && last_dim(t) == 0)
            return wfs_error_set(err, EINVAL, "tensor %s: the converter fails on empty rows", t->name);
        outputs[i].via = t->always_f32 ? WFS_TYPE_F32 : g->tensors.auto_type;
        for (uint64_t k = 0; !t->source && k < t->n_values; k++) {
            if (!isfinite(t->values[k]))
                return wfs_error_set(
                    err, EINVAL, "tensor %s, made from config.json, has a value that llama-quantize refuses", t->name);
        }
        in[i] = (struct wfs_quant_tensor){ .name = t->name, .row_elems = last_dim(t), .type = outputs[i].via,
                                           .n_matrices = n_dims > 2 ? dims[n_dims - 3] : 1,
                                           .n_dims = trimmed_dims(dims, n_dims) };
        wfs_quant_classify(&in[i]);
    }
    r = wfs_quant_choose(&recipe, &g->quant, in, n, choices, err);
    for (size_t i = 0; i < n && r == 0; i++) {
        enum wfs_ggml_type type = choices[i].type;

        outputs[i].type = type;
        if (choices[i].needs_weights)
            r = wfs_error_set(err, ENOTSUP, "tensor %s would be %s, which needs an importance matrix", in[i].name,
                              wfs_ggml_types[type].name);
        else if (!wfs_kernels_get()->encode[type])
            r = wfs_error_set(err, ENOTSUP, "tensor %s would become %s, which is not supported yet", in[i].name,
                              wfs_ggml_types[type].name);
        else if (type != outputs[i].via && (in[i].n_dims == MAX_DIMS || in[i].row_elems == 0))
            r = wfs_error_set(err, ENOTSUP, "tensor %s: llama-quantize fails on a tensor of this shape (%s)",
                              in[i].name, in[i].row_elems ? "four dimensions" : "empty rows");
    }
    return r;
}

static int choose_converted(const struct wfs_gguf *g, const struct wfs_gguf_format *format, struct output *outputs,
                            struct wfs_error *err)
{
    enum wfs_ggml_type type = format->type == WFS_FTYPE_F32 ? WFS_TYPE_F32 :
                              format->type == WFS_FTYPE_F16 ? WFS_TYPE_F16 : WFS_TYPE_BF16;

    for (size_t i = 0; i < g->tensors.count; i++) {
        outputs[i].type = outputs[i].tensor->always_f32 ? WFS_TYPE_F32 : type;
        if (outputs[i].type == WFS_TYPE_BF16 && last_dim(outputs[i].tensor) == 0)
            return wfs_error_set(err, EINVAL, "tensor %s: the converter fails on empty rows", outputs[i].tensor->name);
    }
    return 0;
}

static bool bytes_of(const struct output *o, uint64_t *ret)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[o->type];

    return wfs_mul_u64(elements_of(o->tensor) / info->block_elems, info->block_bytes, ret);
}

/* The table of tensors: names, dims (fastest first), types and offsets into the data. */
static int put_infos(struct wfs_buf *b, const struct output *outputs, size_t n, bool trims, struct wfs_error *err)
{
    uint64_t offset = 0, bytes;

    for (size_t i = 0; i < n; i++) {
        const uint64_t *dims;
        unsigned n_dims = wfs_gguf_tensor_dims(outputs[i].tensor, &dims), kept = n_dims;

        if (trims)
            kept = n_dims ? trimmed_dims(dims, n_dims) : 1;
        wfs_kv_array_string(b, outputs[i].tensor->name, strlen(outputs[i].tensor->name));
        wfs_buf_u32le(b, kept);
        for (unsigned d = 0; d < kept; d++)
            wfs_buf_u64le(b, n_dims ? dims[n_dims - 1 - d] : 1);
        wfs_buf_u32le(b, (uint32_t)outputs[i].type);
        wfs_buf_u64le(b, offset);
        if (!bytes_of(&outputs[i], &bytes) || !wfs_add_u64(offset, bytes, &offset) ||
            !wfs_align_u64(offset, ALIGNMENT, &offset) || offset > INT64_MAX)
            return wfs_error_set(err, EOVERFLOW, "the file would be larger than a file can be");
    }
    return 0;
}

static void put_u32_key(struct wfs_buf *b, const char *key, uint32_t value)
{
    wfs_kv_array_string(b, key, strlen(key));
    wfs_buf_u32le(b, WFS_GGUF_U32);
    wfs_buf_u32le(b, value);
}

/* Hands a buffer's bytes to the layout. */
static int add_buffer(struct wfs_layout *l, struct wfs_buf *b)
{
    size_t len = b->len;
    uint8_t *data = wfs_buf_steal(b, NULL);

    return data ? wfs_layout_add_owned(l, data, len) : -ENOMEM;
}

static int add_piece(struct wfs_layout *l, const struct wfs_buf *piece)
{
    return wfs_layout_add_shared(l, piece->data, piece->len);
}

/* Everything before the tensors' data, without the padding behind it. */
static int add_header(const struct wfs_gguf *g, const struct wfs_gguf_format *format, const struct output *outputs,
                      struct wfs_layout *l, struct wfs_error *err)
{
    static const char FILE_TYPE[] = "general.file_type", QUANTIZATION[] = "general.quantization_version";
    enum { QUANTIZATION_VERSION = 2 };
    bool quantised = !format->converter;
    const struct wfs_buf *pieces = quantised && g->keys.has_cut ? g->keys.cut : g->keys.pieces;
    struct wfs_buf b = WFS_BUF_INIT;
    int r = 0;

    wfs_buf_str(&b, "GGUF");
    wfs_buf_u32le(&b, VERSION);
    wfs_buf_u64le(&b, g->tensors.count);
    wfs_buf_u64le(&b, g->keys.count);
    for (size_t i = 0; i < WFS_KEY_PIECES && r == 0; i++) {
        r = add_buffer(l, &b);
        if (r == 0)
            r = add_piece(l, &pieces[i]);
        if (!quantised && i == 0)
            put_u32_key(&b, FILE_TYPE, (uint32_t)format->type);
        if (!quantised && i == 1)
            put_u32_key(&b, QUANTIZATION, QUANTIZATION_VERSION);
    }
    if (quantised) {
        put_u32_key(&b, QUANTIZATION, QUANTIZATION_VERSION);
        put_u32_key(&b, FILE_TYPE, (uint32_t)format->type);
    }
    if (r == 0)
        r = put_infos(&b, outputs, g->tensors.count, quantised, err);
    else if (r < 0)
        r = wfs_error_set(err, -r, "the header cannot be laid out");
    if (r == 0 && add_buffer(l, &b) < 0)
        r = out_of_memory(err);
    wfs_buf_done(&b);
    return r;
}

static int add_values(const struct wfs_gguf_tensor *t, struct wfs_layout *l)
{
    struct wfs_buf b = WFS_BUF_INIT;

    for (uint64_t i = 0; i < t->n_values; i++)
        wfs_buf_f32le(&b, t->values[i]);
    return add_buffer(l, &b);
}

static int add_data(const struct output *o, bool quantised, struct wfs_layout *l)
{
    const struct wfs_gguf_tensor *t = o->tensor;
    struct wfs_plan plan = { .tensor = t->source,
                             .order = t->order,
                             .n_heads = t->n_heads,
                             .via = o->via,
                             .dst = o->type,
                             .validate_via = quantised,
                             .validate = quantised && o->type != o->via };

    if (!t->source)
        return add_values(t, l);
    if (t->source->n_elems == 0)
        return 0;
    /* Rows that change places are those of the slowest dimension, whatever is in them. */
    plan.row_elems = t->order == WFS_ROWS_ROPE ? t->source->n_elems / t->source->dims[0] : last_dim(t);
    plan.n_rows = t->source->n_elems / plan.row_elems;
    return wfs_layout_add_tensor(l, &plan);
}

int wfs_gguf_layout(const struct wfs_gguf *g, const struct wfs_gguf_format *format, struct wfs_layout *ret,
                    struct wfs_error *err)
{
    size_t n = g->tensors.count;
    WFS_CLEANUP(wfs_free) struct output *outputs = calloc(n ? n : 1, sizeof *outputs);
    struct wfs_layout layout;
    int r = 0;

    if (!outputs)
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        outputs[i] = (struct output){ &g->tensors.items[i], WFS_TYPE_F32, WFS_TYPE_F32 };
    if (format->converter)
        r = choose_converted(g, format, outputs, err);
    else
        r = choose_quantised(g, format, outputs, err);
    if (r < 0)
        return r;
    wfs_layout_init(&layout);
    r = add_header(g, format, outputs, &layout, err);
    if (r == 0) {
        r = wfs_layout_align(&layout, ALIGNMENT);
        for (size_t i = 0; i < n && r == 0; i++) {
            r = add_data(&outputs[i], !format->converter, &layout);
            if (r == 0)
                r = wfs_layout_align(&layout, ALIGNMENT);
        }
        if (r < 0)
            r = wfs_error_set(err, -r, r == -ENOMEM ? "out of memory" : "the file would be larger than a file can be");
    }
    if (r < 0) {
        wfs_layout_done(&layout);
        return r;
    }
    *ret = layout;
    return 0;
}
