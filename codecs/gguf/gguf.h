/*
 * GGUF views of a model: what convert_hf_to_gguf.py (float types) and llama-quantize over the --outtype auto file
 * (every other type) of the pinned llama.cpp would write, byte for byte.
 */
#ifndef WFS_GGUF_GGUF_H
#define WFS_GGUF_GGUF_H

#include "../folder.h"
#include "../layout.h"
#include "../model.h"
#include "file_types.h"

struct wfs_imatrix; /* imatrix.h */

/* What a GGUF file is made by. */
struct wfs_gguf_request {
    bool converter; /* the converter itself: recipe.file_type is F32, F16 or BF16 (else llama-quantize) */
    struct wfs_quant_recipe recipe; /* its has_imatrix is set from what follows */
    const struct wfs_imatrix *imatrix; /* NULL = none; outlives the layouts and what is made of them */
    const char *imatrix_file;          /* its path as it was typed: it stands in the file */
};

struct wfs_gguf_format { /* a row of the table of GGUF views */
    const char *name; /* in the view's name: "q4_k_m" */
    bool usual;       /* listed in the folder; the others only open by name */
    struct wfs_gguf_request request;
};

/* Every file type that llama-quantize offers, and its aliases. */
extern const struct wfs_gguf_format wfs_gguf_formats[];
extern const size_t wfs_gguf_n_formats;

struct wfs_gguf_options {
    const char *model_name;   /* --model-name, or NULL */
    const char *pretokenizer; /* force this tokenizer.ggml.pre, or NULL */
    /* NULL, or called when all but the tokenizer was read and is sound: what follows takes as long as that does. */
    void (*before_tokenizer)(void *ctx);
    void *ctx;
};

struct wfs_gguf; /* what all GGUF views of a model share: hparams, names, metadata, the tokenizer block. Immutable. */

/*
 * Reads config, card and tokenizer, maps every tensor. Takes as long as the tokenizer does (0.1 s for 128k tokens):
 * call it off the request threads. model and folder must outlive the result (folder is only used during the call). 0 or
 * a negative errno with the reason why no GGUF view can be offered.
 */
int wfs_gguf_open(const struct wfs_model *model, const struct wfs_folder *folder,
                  const struct wfs_gguf_options *options, struct wfs_gguf **ret, struct wfs_error *err);
void wfs_gguf_free(struct wfs_gguf *g);

/* What is known of a file before a byte of it is made. */
struct wfs_gguf_measure {
    uint64_t size;                   /* of the file */
    uint64_t tensor_bytes, n_elems;  /* of all tensors, without padding: their ratio is llama-quantize's "BPW" */
    uint32_t counts[WFS_TYPE_COUNT]; /* tensors of each type */
    uint32_t n_fallbacks;            /* tensors whose rows did not fit the type that the rules chose */
};

/*
 * Measures one file, in a few milliseconds for thousands of tensors (patterns of a recipe take longer). Appends to
 * notes (may be NULL) a line for each word of a recipe that does nothing. A negative errno with the reason when the
 * file cannot be offered (no fallback type for a row length ...).
 */
int wfs_gguf_measure(const struct wfs_gguf *g, const struct wfs_gguf_request *request, struct wfs_gguf_measure *ret,
                     struct wfs_buf *notes, struct wfs_error *err);

/* Lays one file out. The layout shares bytes with g, which must outlive it. Errors as above. */
int wfs_gguf_layout(const struct wfs_gguf *g, const struct wfs_gguf_request *request, struct wfs_layout *ret,
                    struct wfs_error *err);

/* The architecture's name in GGUF ("llama"), for `weightfs info`. */
const char *wfs_gguf_architecture(const struct wfs_gguf *g);

#endif
