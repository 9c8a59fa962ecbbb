/*
 * The tensors of a GGUF file as the converter makes them of a model's: which are dropped, what each is called, in which
 * order its rows stand and which type it must have. Source: index_tensors, filter_tensors, prepare_tensors and
 * modify_tensors of the pinned llama.cpp's conversion/{base,llama,qwen}.py.
 */
#ifndef WFS_GGUF_TENSORS_H
#define WFS_GGUF_TENSORS_H

#include "../arch/arch.h"
#include "../model.h"
#include "../plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wfs_gguf_tensor {
    char *name;                      /* GGUF's; owned by the list */
    const struct wfs_tensor *source; /* NULL: values */
    float *values;                   /* computed by the converter, F32; owned by the list */
    uint64_t n_values;
    enum wfs_row_order order;
    uint32_t n_heads;   /* for WFS_ROWS_ROPE */
    bool always_f32;    /* F32 whatever the file's type */
    int32_t layer;      /* N of "blk.N.", else -1 */
};

struct wfs_gguf_tensors {
    struct wfs_gguf_tensor *items; /* in the converter's order */
    size_t count;
    uint64_t n_params;             /* elements of all of them */
    enum wfs_ggml_type auto_type;  /* what --outtype auto picks: F16 or BF16 */
};

/* 0 or a negative errno with a message that names the tensor. The list points into model. */
int wfs_gguf_tensors_make(const struct wfs_model *model, const struct wfs_arch *arch, const struct wfs_arch_input *in,
                          struct wfs_gguf_tensors *ret, struct wfs_error *err);
void wfs_gguf_tensors_done(struct wfs_gguf_tensors *t);

/* The dimension count and the dims, slowest first, as torch has them. */
unsigned wfs_gguf_tensor_dims(const struct wfs_gguf_tensor *t, const uint64_t **ret_dims);

#endif
