/* The token list of a GGUF file while it is put together: texts, types and scores by id. */
#ifndef WFS_TOKENIZER_TOKEN_LIST_H
#define WFS_TOKENIZER_TOKEN_LIST_H

#include "../base/error.h"
#include "../gguf/kv.h"
#include "files.h"

/* Values of tokenizer.ggml.token_type. Source: gguf/constants.py, TokenType */
enum wfs_token_type {
    WFS_TOKEN_NORMAL = 1,
    WFS_TOKEN_UNKNOWN = 2,
    WFS_TOKEN_CONTROL = 3,
    WFS_TOKEN_USER_DEFINED = 4,
    WFS_TOKEN_UNUSED = 5,
    WFS_TOKEN_BYTE = 6,
};

/* True for a token that the converter takes for a control token by its looks. Source: does_token_look_special */
bool wfs_token_looks_special(const char *text, size_t len);

/* Appends text with a space for each U+2581, as user-defined tokens are written. */
void wfs_token_put_plain(struct wfs_buf *out, const char *text, size_t len);

/*
 * The three kinds of vocabulary. Each writes model, pre, tokens, (scores,) token_type and what SpecialVocab adds, and
 * sets *ret_n_tokens. 0 or a negative errno with a message.
 */

/*
 * _set_vocab_sentencepiece; *ret_absent is true (and 0 returned) when there is no tokenizer.model. vocab_size: 0 or
 * less = that of the model.
 */
int wfs_token_list_sentencepiece(struct wfs_tokenizer_files *files, int64_t vocab_size, struct wfs_kv_list *kv,
                                 bool *ret_absent, uint64_t *ret_n_tokens, struct wfs_error *err);

/* _set_vocab_llama_hf; *ret_absent when the converter goes on to byte-level BPE. */
int wfs_token_list_llama_hf(struct wfs_tokenizer_files *files, struct wfs_kv_list *kv, bool *ret_absent,
                            uint64_t *ret_n_tokens, struct wfs_error *err);

/*
 * _set_vocab_gpt2. vocab_size: -1 = as many as the tokenizer has. force_pre: the pre-tokenizer's name, or NULL to find
 * it.
 */
int wfs_token_list_gpt2(struct wfs_tokenizer_files *files, int64_t vocab_size, const char *force_pre,
                        struct wfs_kv_list *kv, uint64_t *ret_n_tokens, struct wfs_error *err);

#endif
