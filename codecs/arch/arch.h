/*
 * The table of architectures: which Hugging Face architecture becomes which GGUF architecture, and what its converter
 * class does beyond the common part. One file per family; a row per converter class.
 */
#ifndef WFS_ARCH_ARCH_H
#define WFS_ARCH_ARCH_H

#include "../folder.h"
#include "../gguf/hparams.h"
#include "../gguf/kv.h"
#include "../tokenizer/tokenizer.h"
#include "tensor_names.h"

#include <stdbool.h>
#include <stdint.h>

/* What a row's functions may look at. */
struct wfs_arch_input {
    const struct wfs_hparams *hparams;
    const struct wfs_folder *folder;
    const char *hf_name; /* architectures[0] */
    const char *name;    /* GGUF's, as in "llama.block_count" */
};

/* A tensor that the converter computes from the config alone; always F32 and one-dimensional. */
struct wfs_arch_extra {
    char *name;    /* owned; GGUF's */
    float *values; /* owned */
    uint32_t n;
};

struct wfs_arch {
    const char *const *hf_names; /* NULL-terminated */
    const char *name;            /* general.architecture */
    uint64_t kinds;              /* of tensors it may have: a set of WFS_KIND_BIT */
    const char *headless;        /* the HF name whose tensors lack the prefix "model."; NULL = none */
    const char *drops;           /* a part of tensor names that is removed before mapping; NULL = none */
    bool permutes_qk;            /* q_proj and k_proj rows are regrouped (LlamaModel.permute) */
    enum wfs_vocab_method vocab;
    /* Refuses what this version does not convert. May be NULL. */
    int (*check)(const struct wfs_arch_input *in, struct wfs_error *err);
    /* The keys behind the common ones. */
    int (*set_parameters)(const struct wfs_arch_input *in, struct wfs_kv_list *kv, struct wfs_error *err);
    /* generate_extra_tensors: 1 and a tensor, 0 = none, or a negative errno. May be NULL. */
    int (*extra_tensor)(const struct wfs_arch_input *in, struct wfs_arch_extra *ret, struct wfs_error *err);
};

extern const struct wfs_arch wfs_arch_llama, wfs_arch_qwen2, wfs_arch_qwen3;

/* The row for a Hugging Face architecture name, or NULL. */
const struct wfs_arch *wfs_arch_find(const char *hf_name);

/* Writes ARCH.KEY from hparams: an error when the value is not an integer (a number). */
int wfs_arch_put_u32(const struct wfs_arch_input *in, struct wfs_kv_list *kv, const char *key, const char *hparam,
                     struct wfs_hvalue v, struct wfs_error *err);
int wfs_arch_put_f32(const struct wfs_arch_input *in, struct wfs_kv_list *kv, const char *key, const char *hparam,
                     struct wfs_hvalue v, struct wfs_error *err);

/* _try_set_pooling_type: ARCH.pooling_type from modules.json of a sentence-transformers folder. */
int wfs_arch_put_pooling_type(const struct wfs_arch_input *in, struct wfs_kv_list *kv, struct wfs_error *err);

#endif
