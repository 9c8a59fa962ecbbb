/* What an importance matrix does to a quantised file: each tensor's weights, and the keys that tell of the matrix. */
#include "imatrix.h"
#include "writer.h"

#include <errno.h>
#include <string.h>

/* llama-quantize takes a matrix without entries for none. */
bool wfs_gguf_has_matrix(const struct wfs_gguf_request *request)
{
    return request->imatrix && request->imatrix->n_entries > 0;
}

static const char *why_no_weights(const struct wfs_gguf_request *request)
{
    if (wfs_gguf_has_matrix(request))
        return "the matrix has none for it";
    return request->imatrix ? "the matrix has none at all" : "give option imatrix=FILE";
}

/* Source: llama_model_quantize_impl. A length that does not fit is fatal but for the token embedding. */
static int find(const struct wfs_gguf_request *request, const struct wfs_quant_tensor *t, const float **ret,
                struct wfs_error *err)
{
    const struct wfs_imatrix_entry *e = NULL;

    if (wfs_gguf_has_matrix(request))
        e = wfs_imatrix_find(request->imatrix, t->name);
    if (e && e->n == t->row_elems * t->n_matrices)
        *ret = e->values;
    else if (e && !wfs_quant_is_token_embedding(t))
        return wfs_error_set(err, EINVAL,
                             "tensor %s: the importance matrix has %zu values, the tensor needs %llu; llama-quantize "
                             "refuses that",
                             t->name, e->n, (unsigned long long)(t->row_elems * t->n_matrices));
    return 0;
}

int wfs_gguf_weights_of(const struct wfs_gguf_request *request, const struct wfs_quant_tensor *t,
                        const struct wfs_quant_choice *choice, const float **ret, struct wfs_error *err)
{
    const struct wfs_kernels *k = wfs_kernels_get();
    const char *type = wfs_ggml_types[choice->type].name;
    const float *weights = NULL;
    int r = 0;

    *ret = NULL;
    if (choice->type == t->type) /* copied as it is */
        return 0;
    r = find(request, t, &weights, err);
    if (r < 0)
        return r;
    if (!weights && choice->needs_weights)
        return wfs_error_set(err, ENOTSUP, "tensor %s would be %s, which needs importance weights: %s", t->name, type,
                             why_no_weights(request));
    if (!weights && !k->encode[choice->type] && k->encode_weighted[choice->type])
        return wfs_error_set(err, ENOTSUP, "tensor %s: llama-quantize fails to make it %s without importance weights",
                             t->name, type);
    if (!k->encode_weighted[choice->type]) /* the type takes no notice of them */
        weights = NULL;
    if (weights && wfs_ggml_types[choice->type].row_weighted && t->row_elems > WFS_PLAN_MAX_WEIGHTED_ROW)
        return wfs_error_set(err, ENOTSUP, "tensor %s: rows of %llu elements are too long to be weighted", t->name,
                             (unsigned long long)t->row_elems);
    *ret = weights;
    return 0;
}

/* llama.cpp keeps the text of an override in 128 bytes. */
static void put_string(struct wfs_buf *b, const char *key, const char *text)
{
    enum { MAX_TEXT = 127 };

    wfs_kv_array_string(b, key, strlen(key));
    wfs_buf_u32le(b, WFS_GGUF_STRING);
    wfs_kv_array_string(b, text, strnlen(text, MAX_TEXT));
}

uint64_t wfs_gguf_put_matrix_keys(const struct wfs_gguf_request *request, struct wfs_buf *b)
{
    const struct wfs_imatrix *m = request->imatrix;
    uint64_t n = 2;

    if (!wfs_gguf_has_matrix(request))
        return 0;
    put_string(b, "quantize.imatrix.file", request->imatrix_file);
    if (m->dataset) {
        put_string(b, "quantize.imatrix.dataset", m->dataset);
        n++;
    }
    wfs_gguf_put_u32_key(b, "quantize.imatrix.entries_count", (uint32_t)m->n_entries);
    if (m->chunks > 0) {
        wfs_gguf_put_u32_key(b, "quantize.imatrix.chunks_count", (uint32_t)m->chunks);
        n++;
    }
    return n;
}
