/*
 * Which type llama-quantize gives each tensor of a file, as a table of file types. Source: llama-quant.cpp of the
 * pinned llama.cpp.
 */
#ifndef WFS_GGUF_FILE_TYPES_H
#define WFS_GGUF_FILE_TYPES_H

#include "../base/error.h"
#include "../kernels/types.h"
#include "gguf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the rules look at. */
struct wfs_quant_model {
    uint32_t n_layers;            /* block_count */
    uint32_t n_heads, n_heads_kv; /* of layer 0 */
    bool is_70b;                  /* llama.cpp calls the model a 70B */
};

struct wfs_quant_tensor {
    const char *name;         /* GGUF's */
    uint64_t row_elems;       /* ne[0] */
    unsigned n_dims;          /* without trailing ones, at least 1 */
    enum wfs_ggml_type type;  /* in the file that is quantised */
};

/*
 * Sets ret[i] for n tensors in the order of the output file (the rules count tensors of a class). 0, or a negative
 * errno with a message when the file type is not in the table or a row length has no type to fall back to.
 */
int wfs_quant_types(enum wfs_file_type file_type, const struct wfs_quant_model *model,
                    const struct wfs_quant_tensor *tensors, size_t n, enum wfs_ggml_type *ret, struct wfs_error *err);

#endif
