/* Qwen2, Qwen2.5 and Qwen3 dense. Source: Qwen2Model and Qwen3Model in the pinned llama.cpp's conversion/qwen.py. */
#include "../base/cleanup.h"
#include "arch.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const qwen2_names[] = { "Qwen2ForCausalLM", "Qwen2Model", NULL };
static const char *const qwen3_names[] = { "Qwen3ForCausalLM", "Qwen3Model", NULL };

/* True when text (len bytes) holds part, compared without regard to the case of ASCII letters. */
static bool contains(const char *text, size_t len, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= len; i++) {
        size_t k = 0;

        while (k < n && tolower((unsigned char)text[i + k]) == part[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

static bool names_reranker(const char *text)
{
    return contains(text, strlen(text), "qwen3-reranker") || contains(text, strlen(text), "qwen3-vl-reranker");
}

/*
 * Qwen3Model._is_qwen3_reranker: the README's text, the folder's path or the config make a model a reranker, whose
 * output head the converter replaces. AutoConfig sets _name_or_path to the whole path, so a parent folder's name counts
 * as well.
 */
static int refuse_reranker(const struct wfs_arch_input *in, struct wfs_error *err)
{
    static const char MSG[] = "%s makes the converter treat this as a Qwen3 reranker, which is not supported yet";
    WFS_CLEANUP(wfs_blob_done) struct wfs_blob readme = { NULL, 0 };
    const char *name = wfs_json_string(wfs_json_get(in->hparams->root, "_name_or_path"));
    const char *type = wfs_json_string(wfs_json_get(in->hparams->root, "model_type"));
    int r = in->folder->read(in->folder->ctx, "README.md", &readme, err);

    if (r < 0)
        return r;
    if (r > 0 && (contains((const char *)readme.data, readme.len, "# qwen3-reranker") ||
                  contains((const char *)readme.data, readme.len, "# qwen3-vl-reranker")))
        return wfs_error_set(err, ENOTSUP, MSG, "README.md");
    if (names_reranker(in->folder->path))
        return wfs_error_set(err, ENOTSUP, MSG, "the folder's path");
    if ((!in->hparams->class && name && names_reranker(name)) || (type && names_reranker(type)))
        return wfs_error_set(err, ENOTSUP, MSG, "config.json");
    return 0;
}

#define QWEN2_KINDS                                                                                                    \
    (WFS_KIND_BIT(TOKEN_EMBD) | WFS_KIND_BIT(OUTPUT_NORM) | WFS_KIND_BIT(OUTPUT) | WFS_KIND_BIT(ROPE_FREQS) |          \
     WFS_KIND_BIT(ATTN_NORM) | WFS_KIND_BIT(ATTN_Q) | WFS_KIND_BIT(ATTN_K) | WFS_KIND_BIT(ATTN_V) |                    \
     WFS_KIND_BIT(ATTN_OUT) | WFS_KIND_BIT(FFN_NORM) | WFS_KIND_BIT(FFN_GATE) | WFS_KIND_BIT(FFN_DOWN) |               \
     WFS_KIND_BIT(FFN_UP))

const struct wfs_arch wfs_arch_qwen2 = {
    .hf_names = qwen2_names,
    .name = "qwen2",
    .kinds = QWEN2_KINDS,
    .headless = "Qwen2Model",
    .vocab = WFS_VOCAB_QWEN2,
    .set_parameters = wfs_arch_put_pooling_type,
};

const struct wfs_arch wfs_arch_qwen3 = {
    .hf_names = qwen3_names,
    .name = "qwen3",
    .kinds = QWEN2_KINDS | WFS_KIND_BIT(ATTN_Q_NORM) | WFS_KIND_BIT(ATTN_K_NORM),
    /* Qwen3Model inherits a rename that looks for "Qwen2Model" only, so its own headless checkpoints map without
       prefix. */
    .vocab = WFS_VOCAB_QWEN2,
    .check = refuse_reranker,
    .set_parameters = wfs_arch_put_pooling_type,
};
