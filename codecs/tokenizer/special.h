/*
 * SpecialVocab of the converter: merges, special ids, add_X_token, chat templates and normalizer keys. Source:
 * gguf/vocab.py.
 */
#ifndef WFS_TOKENIZER_SPECIAL_H
#define WFS_TOKENIZER_SPECIAL_H

#include "../gguf/kv.h"
#include "files.h"

struct wfs_special_request {
    bool load_merges;
    bool infill;     /* CodeLlama's types (prefix, suffix, middle, eot) in place of the usual ones */
    int64_t n_vocab; /* ids from here on are left out; -1 = no limit */
    int64_t eot_id;  /* what eot is when the files do not say; -1 = nothing */
};

/* Writes the keys. 0; -EINVAL for what the converter stumbles over too; -ENOTSUP; -ENOMEM or a read's error. */
int wfs_special_write(struct wfs_tokenizer_files *files, const struct wfs_special_request *request,
                      struct wfs_kv_list *kv, struct wfs_error *err);

#endif
