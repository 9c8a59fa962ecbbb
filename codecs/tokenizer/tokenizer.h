/*
 * The tokenizer part of a GGUF file, as the pinned converter writes it: set_vocab and SpecialVocab of the model class
 * over tokenizer.json, tokenizer.model, tokenizer_config.json, config.json and the chat templates of a folder.
 */
#ifndef WFS_TOKENIZER_TOKENIZER_H
#define WFS_TOKENIZER_TOKENIZER_H

#include "../folder.h"
#include "../gguf/kv.h"

#include <stdbool.h>
#include <stdint.h>

/* Which of the converter's set_vocab methods a model class has. */
enum wfs_vocab_method {
    WFS_VOCAB_LLAMA, /* LlamaModel.set_vocab: SentencePiece, else tokenizer.json with byte fallback, else byte-level BPE
                      */
    WFS_VOCAB_QWEN2, /* Qwen2Model.set_vocab: SentencePiece, else byte-level BPE */
};

struct wfs_tokenizer_request {
    const struct wfs_folder *folder;
    enum wfs_vocab_method method;
    int64_t vocab_size; /* hparams["vocab_size"] after the converter's defaults; -1 when absent */
    const char *force_pre;  /* option pretokenizer=NAME, or NULL */
    /* Python's hparams as far as vocab code looks at them: an object with the flattened config (may be NULL). */
    const struct cJSON *config;
};

/*
 * Writes the tokenizer keys in the converter's order into kv. 0, or a negative errno with a message that says which
 * file and what (an unknown pre-tokenizer gives the split pattern, the hash and the option that forces one).
 * *ret_n_tokens is the length of the token list (for checks against the embedding).
 */
int wfs_tokenizer_write(const struct wfs_tokenizer_request *req, struct wfs_kv_list *kv, uint64_t *ret_n_tokens,
                        struct wfs_error *err);

#endif
