/* What an opened model's GGUF views share, and its parts. Private to codecs/gguf. */
#ifndef WFS_GGUF_WRITER_H
#define WFS_GGUF_WRITER_H

#include "file_types.h"
#include "../kernels/kernels.h"
#include "gguf.h"
#include "kv.h"
#include "tensors.h"

/*
 * The metadata, serialised in three pieces around the two keys that llama-quantize moves to the end: what is before
 * general.file_type, between it and general.quantization_version, and behind that.
 */
enum { WFS_KEY_PIECES = 3 };

struct wfs_gguf_keys {
    uint64_t count;
    struct wfs_buf pieces[WFS_KEY_PIECES];
    /* The same as llama-quantize writes it: strings end at their first NUL. Empty when no string has one. */
    struct wfs_buf cut[WFS_KEY_PIECES];
    bool has_cut;
};

/* kv holds general.file_type and, behind it, general.quantization_version. 0 or -ENOMEM. */
int wfs_gguf_keys_make(const struct wfs_kv_list *kv, struct wfs_gguf_keys *ret);
void wfs_gguf_keys_done(struct wfs_gguf_keys *k);

struct wfs_gguf {
    const struct wfs_model *model;
    const struct wfs_arch *arch;
    struct wfs_gguf_tensors tensors;
    struct wfs_gguf_keys keys;
    struct wfs_quant_model quant;
    /* The tensors in llama-quantize's order, and what its rules look at, once for all views. */
    const struct wfs_gguf_tensor **sorted;
    struct wfs_quant_tensor *quant_tensors;
    char *quantise_problem; /* owned: why llama-quantize refuses every type; NULL = it does not */
};

/* Fills in sorted and quant_tensors, or quantise_problem when it has none yet. 0 or -ENOMEM. */
int wfs_gguf_sort_for_quantise(struct wfs_gguf *g);

/* The length of rows: the fastest dim. */
uint64_t wfs_gguf_row_elems(const struct wfs_gguf_tensor *t);

/* ggml_n_dims: the number of dims without ones (and zeros) at the slow end, at least 1. dims: slowest first. */
unsigned wfs_gguf_trimmed_dims(const uint64_t *dims, unsigned n);

/* Whether the file is made with importance weights (llama-quantize takes a matrix without entries for none). */
bool wfs_gguf_has_matrix(const struct wfs_gguf_request *request);

/*
 * The weights of a tensor that becomes choice->type: *ret is NULL where it has none, or they count for nothing. A
 * negative errno with the reason where llama-quantize refuses to go on: there are none for a type that needs them, or
 * too few.
 */
int wfs_gguf_weights_of(const struct wfs_gguf_request *request, const struct wfs_quant_tensor *t,
                        const struct wfs_quant_choice *choice, const float **ret, struct wfs_error *err);

/* Appends one key of an unsigned number. */
void wfs_gguf_put_u32_key(struct wfs_buf *b, const char *key, uint32_t value);

/* Appends the keys that llama-quantize adds at the end for an importance matrix; how many. */
uint64_t wfs_gguf_put_matrix_keys(const struct wfs_gguf_request *request, struct wfs_buf *b);

#endif
