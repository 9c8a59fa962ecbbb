/*
 * Which type llama-quantize gives each tensor of a file, as tables: the file types and their rules, the classes of
 * tensors, the fallbacks. Source: llama-quant.cpp of the pinned llama.cpp.
 */
#ifndef WFS_GGUF_FILE_TYPES_H
#define WFS_GGUF_FILE_TYPES_H

#include "../base/buf.h"
#include "../base/error.h"
#include "../kernels/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wfs_file_type { /* llama.cpp's LLAMA_FTYPE numbers */
    WFS_FTYPE_F32 = 0, WFS_FTYPE_F16 = 1, WFS_FTYPE_Q4_0 = 2, WFS_FTYPE_Q4_1 = 3, WFS_FTYPE_Q8_0 = 7,
    WFS_FTYPE_Q5_0 = 8, WFS_FTYPE_Q5_1 = 9, WFS_FTYPE_Q2_K = 10, WFS_FTYPE_Q3_K_S = 11, WFS_FTYPE_Q3_K_M = 12,
    WFS_FTYPE_Q3_K_L = 13, WFS_FTYPE_Q4_K_S = 14, WFS_FTYPE_Q4_K_M = 15, WFS_FTYPE_Q5_K_S = 16, WFS_FTYPE_Q5_K_M = 17,
    WFS_FTYPE_Q6_K = 18,
    WFS_FTYPE_IQ2_XXS = 19, WFS_FTYPE_IQ2_XS = 20, WFS_FTYPE_Q2_K_S = 21, WFS_FTYPE_IQ3_XS = 22, WFS_FTYPE_IQ3_XXS = 23,
    WFS_FTYPE_IQ1_S = 24, WFS_FTYPE_IQ4_NL = 25, WFS_FTYPE_IQ3_S = 26, WFS_FTYPE_IQ3_M = 27, WFS_FTYPE_IQ2_S = 28,
    WFS_FTYPE_IQ2_M = 29, WFS_FTYPE_IQ4_XS = 30, WFS_FTYPE_IQ1_M = 31, WFS_FTYPE_BF16 = 32, WFS_FTYPE_TQ1_0 = 36,
    WFS_FTYPE_TQ2_0 = 37, WFS_FTYPE_MXFP4_MOE = 38, WFS_FTYPE_Q1_0 = 40, WFS_FTYPE_Q2_0 = 41
};

struct wfs_name_pattern; /* name_pattern.h */

/* What the rules look at. */
struct wfs_quant_model {
    const char *arch;             /* GGUF's name, for the architectures with rules of their own */
    uint32_t n_layers;            /* block_count */
    uint32_t n_heads, n_heads_kv; /* of layer 0 */
    uint32_t n_experts;           /* expert_count, 0 for dense models */
};

struct wfs_quant_tensor {
    const char *name;        /* GGUF's */
    uint64_t row_elems;      /* ne[0] */
    uint64_t n_matrices;     /* ne[2]: the experts in one tensor; 1 for a matrix */
    unsigned n_dims;         /* without trailing ones, at least 1 */
    enum wfs_ggml_type type; /* in the file that is quantised */
    /* wfs_quant_classify sets these, which are of the name alone. */
    uint8_t category;
    bool kept; /* its name says that it is never quantised */
};

/* --tensor-type: tensors whose name matches get the type. */
struct wfs_quant_override {
    struct wfs_name_pattern *pattern;
    enum wfs_ggml_type type;
    char *word; /* as it was typed, for notes; may be NULL */
};

/* What llama-quantize was asked for. WFS_TYPE_COUNT stands for a type that was not given. */
struct wfs_quant_recipe {
    enum wfs_file_type file_type;
    enum wfs_ggml_type output;          /* --output-tensor-type */
    enum wfs_ggml_type token_embedding; /* --token-embedding-type */
    bool pure;                          /* --pure */
    bool leave_output;                  /* --leave-output-tensor */
    bool has_imatrix;                   /* --imatrix: some rules differ */
    const struct wfs_quant_override *overrides; /* the first that matches counts */
    size_t n_overrides;
};

/* A recipe that is a file type and nothing else. */
#define WFS_QUANT_PLAIN(number)                                                                                        \
    {                                                                                                                  \
        .file_type = (number), .output = WFS_TYPE_COUNT, .token_embedding = WFS_TYPE_COUNT                             \
    }

/* What decided about a tensor's type: its name or shape, the file type's rules, or a word of the recipe. */
enum { WFS_QUANT_BY_NAME, WFS_QUANT_BY_RULES, WFS_QUANT_BY_OUTPUT, WFS_QUANT_BY_TOKEN_EMBEDDING,
       WFS_QUANT_BY_LEAVE_OUTPUT, WFS_QUANT_BY_PURE, WFS_QUANT_BY_OVERRIDE /* the first; the second is one more … */ };

struct wfs_quant_choice {
    enum wfs_ggml_type type;
    enum wfs_ggml_type wanted; /* what the rules asked for: another type when the shape made it fall back */
    bool needs_weights;        /* llama-quantize does not write this type without importance weights */
    uint32_t by;               /* WFS_QUANT_BY_… */
};

/* Fills in what the rules take from the name. Once per tensor. */
void wfs_quant_classify(struct wfs_quant_tensor *t);

/* Whether a classified tensor is a token embedding, from whose weights llama-quantize does not ask much. */
bool wfs_quant_is_token_embedding(const struct wfs_quant_tensor *t);
bool wfs_quant_is_output(const struct wfs_quant_tensor *t); /* output.weight, of a classified tensor */

/*
 * Sets ret[i] for n classified tensors in the order of the output file (the rules count tensors of a class). 0, or a
 * negative errno with a message that names the tensor: a row length that has no type to fall back to, a layer that
 * cannot be told, a pattern that takes too long; or the file type is not in the table.
 */
int wfs_quant_choose(const struct wfs_quant_recipe *recipe, const struct wfs_quant_model *model,
                     const struct wfs_quant_tensor *tensors, size_t n, struct wfs_quant_choice *ret,
                     struct wfs_error *err);

/*
 * Appends a line for each word of the recipe that decided about no tensor, which llama-quantize passes over in silence:
 * the word, and why. choices: what wfs_quant_choose set. Without words nothing is appended.
 */
void wfs_quant_notes(const struct wfs_quant_recipe *recipe, const struct wfs_quant_tensor *tensors,
                     const struct wfs_quant_choice *choices, size_t n, struct wfs_buf *out);

/* The type of most tensors, or WFS_TYPE_COUNT when llama-quantize does not offer the file type. */
enum wfs_ggml_type wfs_quant_default_type(enum wfs_file_type file_type);

#endif
