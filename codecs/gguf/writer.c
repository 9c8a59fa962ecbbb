#include "writer.h"
#include "../base/cleanup.h"
#include "../base/checked.h"
#include "../kernels/kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 32, VERSION = 3, QUANTIZATION_VERSION = 2, MAX_DIMS = 4 };

/* One tensor of a file that is being laid out. */
struct output {
    const struct wfs_gguf_tensor *tensor;
    enum wfs_ggml_type via, type; /* in the file that is quantised (F32 when there is none), in this file */
    const float *weights;         /* importance weights, or NULL */
    uint64_t n_matrices;
};

/* The file that is being laid out. */
struct file {
    struct output *outputs; /* in the file's order */
    struct wfs_buf infos;   /* the table of tensors */
    struct wfs_buf matrix;  /* the keys that tell of an importance matrix */
    uint64_t n_matrix_keys;
    uint64_t data_bytes;    /* of all tensors, padded */
    struct wfs_gguf_measure measure;
    struct wfs_buf *notes;  /* where words of the recipe that do nothing are said, or NULL */
};

static int out_of_memory(struct wfs_error *err)
{
    return wfs_error_set(err, ENOMEM, "out of memory");
}

static uint64_t elements_of(const struct wfs_gguf_tensor *t)
{
    return t->source ? t->source->n_elems : t->n_values;
}

static int refuse_type(const struct wfs_quant_tensor *t, const struct output *o, struct wfs_error *err)
{
    const struct wfs_kernels *k = wfs_kernels_get();

    if (o->type != t->type && (t->n_dims == MAX_DIMS || t->row_elems == 0))
        return wfs_error_set(err, ENOTSUP, "tensor %s: llama-quantize fails on a tensor of this shape (%s)", t->name,
                             t->row_elems ? "four dimensions" : "empty rows");
    if (o->weights ? !k->encode_weighted[o->type] : !k->encode[o->type])
        return wfs_error_set(err, ENOTSUP, "tensor %s would be %s, which this version cannot write yet", t->name,
                             wfs_ggml_types[o->type].name);
    return 0;
}

/* The types of a file that llama-quantize makes of the one that --outtype auto gives. */
static int choose_quantised(const struct wfs_gguf *g, const struct wfs_gguf_request *request, struct file *f,
                            struct wfs_error *err)
{
    size_t n = g->tensors.count;
    struct wfs_quant_recipe recipe = request->recipe;
    WFS_CLEANUP(wfs_free) struct wfs_quant_choice *choices = calloc(n ? n : 1, sizeof *choices);
    int r;

    if (g->quantise_problem)
        return wfs_error_set(err, ENOTSUP, "%s", g->quantise_problem);
    if (!choices)
        return out_of_memory(err);
    recipe.has_imatrix = wfs_gguf_has_matrix(request);
    r = wfs_quant_choose(&recipe, &g->quant, g->quant_tensors, n, choices, err);
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct wfs_quant_tensor *t = &g->quant_tensors[i];
        struct output *o = &f->outputs[i];

        *o = (struct output){ .tensor = g->sorted[i], .via = t->type, .type = choices[i].type,
                              .n_matrices = t->n_matrices };
        f->measure.n_fallbacks += choices[i].type != choices[i].wanted;
        r = wfs_gguf_weights_of(request, t, &choices[i], &o->weights, err);
        if (r == 0)
            r = refuse_type(t, o, err);
    }
    if (r == 0 && f->notes)
        wfs_quant_notes(&recipe, g->quant_tensors, choices, n, f->notes);
    return r;
}

static int choose_converted(const struct wfs_gguf *g, const struct wfs_gguf_request *request, struct file *f,
                            struct wfs_error *err)
{
    enum wfs_ggml_type type = wfs_quant_default_type(request->recipe.file_type);

    for (size_t i = 0; i < g->tensors.count; i++) {
        const struct wfs_gguf_tensor *t = &g->tensors.items[i];

        f->outputs[i] = (struct output){ .tensor = t, .via = WFS_TYPE_F32,
                                         .type = t->always_f32 ? WFS_TYPE_F32 : type };
        if (f->outputs[i].type == WFS_TYPE_BF16 && wfs_gguf_row_elems(t) == 0)
            return wfs_error_set(err, EINVAL, "tensor %s: the converter fails on empty rows", t->name);
    }
    return 0;
}

static bool bytes_of(const struct output *o, uint64_t *ret)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[o->type];

    return wfs_mul_u64(elements_of(o->tensor) / info->block_elems, info->block_bytes, ret);
}

/* The table of tensors: names, dims (fastest first), types and offsets into the data. Measures the data. */
static int put_infos(struct file *f, size_t n, bool trims, struct wfs_error *err)
{
    struct wfs_buf *b = &f->infos;
    uint64_t offset = 0, bytes;

    for (size_t i = 0; i < n; i++) {
        const struct wfs_gguf_tensor *t = f->outputs[i].tensor;
        const uint64_t *dims;
        unsigned n_dims = wfs_gguf_tensor_dims(t, &dims), kept = n_dims;

        if (trims)
            kept = n_dims ? wfs_gguf_trimmed_dims(dims, n_dims) : 1;
        wfs_kv_array_string(b, t->name, strlen(t->name));
        wfs_buf_u32le(b, kept);
        for (unsigned d = 0; d < kept; d++)
            wfs_buf_u64le(b, n_dims ? dims[n_dims - 1 - d] : 1);
        wfs_buf_u32le(b, (uint32_t)f->outputs[i].type);
        wfs_buf_u64le(b, offset);
        if (!bytes_of(&f->outputs[i], &bytes) || !wfs_add_u64(offset, bytes, &offset) ||
            !wfs_align_u64(offset, ALIGNMENT, &offset) || offset > INT64_MAX)
            return wfs_error_set(err, EOVERFLOW, "the file would be larger than a file can be");
        f->measure.tensor_bytes += bytes;
        f->measure.counts[f->outputs[i].type]++;
    }
    f->data_bytes = offset;
    return 0;
}

static void file_done(struct file *f)
{
    free(f->outputs);
    wfs_buf_done(&f->infos);
    wfs_buf_done(&f->matrix);
}

/* Chooses the types and makes the table of tensors. */
static int plan_file(const struct wfs_gguf *g, const struct wfs_gguf_request *request, struct wfs_buf *notes,
                     struct file *f, struct wfs_error *err)
{
    size_t n = g->tensors.count;
    int r;

    *f = (struct file){ .infos = WFS_BUF_INIT, .matrix = WFS_BUF_INIT, .notes = notes };
    f->outputs = calloc(n ? n : 1, sizeof *f->outputs);
    if (!f->outputs)
        return out_of_memory(err);
    r = request->converter ? choose_converted(g, request, f, err) : choose_quantised(g, request, f, err);
    if (r == 0)
        r = put_infos(f, n, !request->converter, err);
    if (r == 0 && !request->converter)
        f->n_matrix_keys = wfs_gguf_put_matrix_keys(request, &f->matrix);
    if (r == 0 && (f->infos.failed || f->matrix.failed))
        r = out_of_memory(err);
    f->measure.n_elems = g->tensors.n_params;
    return r;
}

static const struct wfs_buf *key_pieces(const struct wfs_gguf *g, const struct wfs_gguf_request *request)
{
    return !request->converter && g->keys.has_cut ? g->keys.cut : g->keys.pieces;
}

void wfs_gguf_put_u32_key(struct wfs_buf *b, const char *key, uint32_t value)
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

static const char FILE_TYPE[] = "general.file_type", QUANTIZATION[] = "general.quantization_version";

/* Everything before the tensors' data, without the padding behind it. */
static int add_header(const struct wfs_gguf *g, const struct wfs_gguf_request *request, struct file *f,
                      struct wfs_layout *l, struct wfs_error *err)
{
    uint32_t file_type = (uint32_t)request->recipe.file_type;
    const struct wfs_buf *pieces = key_pieces(g, request);
    struct wfs_buf b = WFS_BUF_INIT;
    int r = 0;

    wfs_buf_str(&b, "GGUF");
    wfs_buf_u32le(&b, VERSION);
    wfs_buf_u64le(&b, g->tensors.count);
    wfs_buf_u64le(&b, g->keys.count + f->n_matrix_keys);
    for (size_t i = 0; i < WFS_KEY_PIECES && r == 0; i++) {
        r = add_buffer(l, &b);
        if (r == 0)
            r = add_piece(l, &pieces[i]);
        if (request->converter && i == 0)
            wfs_gguf_put_u32_key(&b, FILE_TYPE, file_type);
        if (request->converter && i == 1)
            wfs_gguf_put_u32_key(&b, QUANTIZATION, QUANTIZATION_VERSION);
    }
    if (!request->converter) {
        wfs_gguf_put_u32_key(&b, QUANTIZATION, QUANTIZATION_VERSION);
        wfs_gguf_put_u32_key(&b, FILE_TYPE, file_type);
        wfs_buf_put(&b, f->matrix.data, f->matrix.len);
    }
    if (r == 0)
        r = add_buffer(l, &b);
    if (r == 0)
        r = add_buffer(l, &f->infos);
    wfs_buf_done(&b);
    return r < 0 ? wfs_error_set(err, -r, "the header cannot be laid out") : 0;
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
    plan.row_elems = t->order == WFS_ROWS_ROPE ? t->source->n_elems / t->source->dims[0] : wfs_gguf_row_elems(t);
    plan.n_rows = t->source->n_elems / plan.row_elems;
    if (o->weights) {
        if (plan.row_elems != wfs_gguf_row_elems(t))
            return -ENOTSUP; /* cannot be: what is rotary is a matrix */
        plan.weights = o->weights;
        plan.n_slices = o->n_matrices;
        plan.slice_rows = plan.n_rows / o->n_matrices;
    }
    return wfs_layout_add_tensor(l, &plan);
}

int wfs_gguf_measure(const struct wfs_gguf *g, const struct wfs_gguf_request *request, struct wfs_gguf_measure *ret,
                     struct wfs_buf *notes, struct wfs_error *err)
{
    enum { HEAD = 4 + 4 + 8 + 8, KEY = 8 + 4 + 4 };
    const struct wfs_buf *pieces = key_pieces(g, request);
    uint64_t size = HEAD + 2 * KEY + sizeof FILE_TYPE - 1 + sizeof QUANTIZATION - 1;
    struct file f;
    int r = plan_file(g, request, notes, &f, err);

    if (r == 0) {
        for (size_t i = 0; i < WFS_KEY_PIECES; i++)
            size += pieces[i].len;
        size += f.infos.len + f.matrix.len;
        if (!wfs_align_u64(size, ALIGNMENT, &size) || !wfs_add_u64(size, f.data_bytes, &size) || size > INT64_MAX)
            r = wfs_error_set(err, EOVERFLOW, "the file would be larger than a file can be");
    }
    if (r == 0) {
        *ret = f.measure;
        ret->size = size;
    }
    file_done(&f);
    return r;
}

static int lay_out(const struct wfs_gguf *g, const struct wfs_gguf_request *request, struct file *f,
                   struct wfs_layout *l, struct wfs_error *err)
{
    int r = add_header(g, request, f, l, err);

    if (r < 0)
        return r;
    r = wfs_layout_align(l, ALIGNMENT);
    for (size_t i = 0; i < g->tensors.count && r == 0; i++) {
        r = add_data(&f->outputs[i], !request->converter, l);
        if (r == 0)
            r = wfs_layout_align(l, ALIGNMENT);
    }
    if (r < 0)
        return wfs_error_set(err, -r, r == -ENOMEM ? "out of memory" : "the file would be larger than a file can be");
    return 0;
}

int wfs_gguf_layout(const struct wfs_gguf *g, const struct wfs_gguf_request *request, struct wfs_layout *ret,
                    struct wfs_error *err)
{
    struct wfs_layout layout;
    struct file f;
    int r;

    wfs_layout_init(&layout);
    r = plan_file(g, request, NULL, &f, err);
    if (r == 0)
        r = lay_out(g, request, &f, &layout, err);
    file_done(&f);
    if (r < 0) {
        wfs_layout_done(&layout);
        return r;
    }
    *ret = layout;
    return 0;
}
