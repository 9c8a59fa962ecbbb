/*
 * GGUF views of a model: what convert_hf_to_gguf.py (float types) and llama-quantize over the --outtype auto file
 * (every other type) of the pinned llama.cpp would write, byte for byte.
 */
#ifndef WFS_GGUF_GGUF_H
#define WFS_GGUF_GGUF_H

#include "../folder.h"
#include "../layout.h"
#include "../model.h"

enum wfs_file_type { /* llama.cpp's LLAMA_FTYPE numbers */
    WFS_FTYPE_F32 = 0, WFS_FTYPE_F16 = 1, WFS_FTYPE_Q4_0 = 2, WFS_FTYPE_Q4_1 = 3, WFS_FTYPE_Q8_0 = 7,
    WFS_FTYPE_Q5_0 = 8, WFS_FTYPE_Q5_1 = 9, WFS_FTYPE_Q2_K = 10, WFS_FTYPE_Q3_K_S = 11, WFS_FTYPE_Q3_K_M = 12, WFS_FTYPE_Q3_K_L = 13,
    WFS_FTYPE_Q4_K_S = 14, WFS_FTYPE_Q4_K_M = 15, WFS_FTYPE_Q5_K_S = 16, WFS_FTYPE_Q5_K_M = 17, WFS_FTYPE_Q6_K = 18,
    WFS_FTYPE_IQ2_XXS = 19, WFS_FTYPE_IQ2_XS = 20, WFS_FTYPE_Q2_K_S = 21, WFS_FTYPE_IQ3_XS = 22, WFS_FTYPE_IQ3_XXS = 23,
    WFS_FTYPE_IQ1_S = 24, WFS_FTYPE_IQ4_NL = 25, WFS_FTYPE_IQ3_S = 26, WFS_FTYPE_IQ3_M = 27, WFS_FTYPE_IQ2_S = 28,
    WFS_FTYPE_IQ2_M = 29, WFS_FTYPE_IQ4_XS = 30, WFS_FTYPE_IQ1_M = 31, WFS_FTYPE_BF16 = 32, WFS_FTYPE_TQ1_0 = 36,
    WFS_FTYPE_TQ2_0 = 37, WFS_FTYPE_MXFP4_MOE = 38, WFS_FTYPE_Q1_0 = 40, WFS_FTYPE_Q2_0 = 41
};

struct wfs_gguf_format { /* a row of the table of GGUF views */
    const char *name;       /* in the view's name: "q4_k_m" */
    enum wfs_file_type type;
    bool converter; /* written by the converter itself (else by llama-quantize from the auto file) */
};

extern const struct wfs_gguf_format wfs_gguf_formats[];
extern const size_t wfs_gguf_n_formats;

struct wfs_gguf_options {
    const char *model_name;   /* --model-name, or NULL */
    const char *pretokenizer; /* force this tokenizer.ggml.pre, or NULL */
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

/*
 * Lays one view out. The layout shares bytes with g, which must outlive it. A negative errno with the reason when this
 * format cannot be offered (no fallback type for a row length ...).
 */
int wfs_gguf_layout(const struct wfs_gguf *g, const struct wfs_gguf_format *format, struct wfs_layout *ret,
                    struct wfs_error *err);

/* The architecture's name in GGUF ("llama"), for `weightfs info`. */
const char *wfs_gguf_architecture(const struct wfs_gguf *g);

#endif
