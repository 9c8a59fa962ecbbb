/*
 * How the bytes of one output tensor come from one source tensor: rows are read, put in order, decoded to float,
 * rounded through the 16-bit file that the reference quantises from, and encoded. A description; fs/pipeline carries it
 * out.
 */
#ifndef WFS_PLAN_H
#define WFS_PLAN_H

#include "kernels/types.h"
#include "model.h"

/* More elements than any tensor has (70 T); so few that the bytes fit 64 bits and tiles can be numbered with 32. */
#define WFS_PLAN_MAX_ELEMS ((uint64_t)1 << 46)

/*
 * Rows of types whose weighted bytes depend on the whole row (wfs_ggml_type_info.row_weighted) are made at once: longer
 * ones are not taken. Real ones have at most some 100,000 elements.
 */
#define WFS_PLAN_MAX_WEIGHTED_ROW ((uint64_t)1 << 22)

enum wfs_row_order {
    WFS_ROWS_AS_IS,
    /*
     * llama.cpp's order of rotary q and k rows: within each head of n = n_rows / n_heads rows, output row 2j + p is
     * source row p * n/2 + j (p in {0, 1}). Source: LlamaModel.permute of the converter.
     */
    WFS_ROWS_ROPE,
};

struct wfs_plan {
    const struct wfs_tensor *tensor; /* of the model; its dtype is the source type */
    uint64_t row_elems, n_rows;      /* output rows = source rows; row_elems * n_rows = tensor->n_elems */
    enum wfs_row_order order;
    uint32_t n_heads;            /* for WFS_ROWS_ROPE: divides n_rows into even parts */
    enum wfs_ggml_type via;      /* F32 = nothing; F16 or BF16: values are rounded to it before dst is made */
    enum wfs_ggml_type dst;      /* row_elems is a multiple of its block */
    /*
     * Importance weights: NULL, or row_elems for each of n_slices slices (experts) of slice_rows rows, which come one
     * behind the other. The order is then AS_IS, or the rows are those of the tensor. Not owned.
     */
    const float *weights;
    uint64_t slice_rows, n_slices;
    bool validate_via, validate; /* refuse what llama-quantize's validation refuses, in its input and output */
};

/* Whether the plan's rows must not be cut. */
static inline bool wfs_plan_whole_rows(const struct wfs_plan *p)
{
    return p->weights && wfs_ggml_types[p->dst].row_weighted;
}

/* Bytes of one output row / of the whole output. */
static inline uint64_t wfs_plan_row_bytes(const struct wfs_plan *p)
{
    return p->row_elems / wfs_ggml_types[p->dst].block_elems * wfs_ggml_types[p->dst].block_bytes;
}

static inline uint64_t wfs_plan_bytes(const struct wfs_plan *p)
{
    return p->n_rows * wfs_plan_row_bytes(p);
}

#endif
