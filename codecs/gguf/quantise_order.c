/* The tensors of a file as llama-quantize takes them: its order, its limits, and what its rules look at. */
#include "writer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIMS = 4, MAX_NAME = 64 };

unsigned wfs_gguf_trimmed_dims(const uint64_t *dims, unsigned n)
{
    unsigned from = 0;

    while (n - from > 1 && dims[from] <= 1)
        from++;
    return n > from ? n - from : 1;
}

uint64_t wfs_gguf_row_elems(const struct wfs_gguf_tensor *t)
{
    const uint64_t *dims;
    unsigned n = wfs_gguf_tensor_dims(t, &dims);

    return n ? dims[n - 1] : 1;
}

/* By layer (those of none first), then by name as bytes. */
static int compare(const void *a, const void *b)
{
    const struct wfs_gguf_tensor *x = *(const struct wfs_gguf_tensor *const *)a;
    const struct wfs_gguf_tensor *y = *(const struct wfs_gguf_tensor *const *)b;

    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Why llama-quantize takes no file with this tensor, or 0. */
static int check(const struct wfs_gguf *g, const struct wfs_gguf_tensor *t, struct wfs_error *err)
{
    const uint64_t *dims;
    unsigned n_dims = wfs_gguf_tensor_dims(t, &dims);

    if (n_dims > MAX_DIMS)
        return wfs_error_set(err, ENOTSUP, "tensor %s has %u dimensions, llama-quantize takes at most %d", t->name,
                             n_dims, MAX_DIMS);
    if (strlen(t->name) >= MAX_NAME)
        return wfs_error_set(err, ENAMETOOLONG, "tensor %s: llama-quantize takes names of less than %d bytes", t->name,
                             MAX_NAME);
    if (!t->always_f32 && g->tensors.auto_type == WFS_TYPE_BF16 && wfs_gguf_row_elems(t) == 0)
        return wfs_error_set(err, EINVAL, "tensor %s: the converter fails on empty rows", t->name);
    for (uint64_t i = 0; !t->source && i < t->n_values; i++) {
        if (!isfinite(t->values[i]))
            return wfs_error_set(err, EINVAL,
                                 "tensor %s, made from config.json, has a value that llama-quantize refuses", t->name);
    }
    return 0;
}

static struct wfs_quant_tensor describe(const struct wfs_gguf *g, const struct wfs_gguf_tensor *t)
{
    const uint64_t *dims;
    unsigned n_dims = wfs_gguf_tensor_dims(t, &dims);
    struct wfs_quant_tensor q = { .name = t->name, .row_elems = wfs_gguf_row_elems(t),
                                  .n_matrices = n_dims > 2 ? dims[n_dims - 3] : 1,
                                  .n_dims = wfs_gguf_trimmed_dims(dims, n_dims),
                                  .type = t->always_f32 ? WFS_TYPE_F32 : g->tensors.auto_type };

    wfs_quant_classify(&q);
    return q;
}

int wfs_gguf_sort_for_quantise(struct wfs_gguf *g)
{
    size_t n = g->tensors.count;
    struct wfs_error err = { 0 };

    g->sorted = calloc(n + 1, sizeof *g->sorted);
    g->quant_tensors = calloc(n + 1, sizeof *g->quant_tensors);
    if (!g->sorted || !g->quant_tensors)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        g->sorted[i] = &g->tensors.items[i];
    qsort(g->sorted, n, sizeof *g->sorted, compare);
    for (size_t i = 0; i < n; i++) {
        if (!g->quantise_problem && check(g, g->sorted[i], &err) < 0) {
            g->quantise_problem = strdup(err.msg);
            if (!g->quantise_problem)
                return -ENOMEM;
        }
        if (!g->quantise_problem)
            g->quant_tensors[i] = describe(g, g->sorted[i]);
    }
    return 0;
}
