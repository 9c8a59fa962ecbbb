/*
 * The BPE model of a tokenizer.json: a vocabulary and ranked merges, as the `tokenizers` library (0.22) applies them.
 * The unk string is that of the JSON document, which must live as long as the model.
 */
#ifndef WFS_TOKENIZER_BPE_H
#define WFS_TOKENIZER_BPE_H

#include "../base/buf.h"
#include "../base/error.h"
#include "vocab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

struct wfs_bpe_merge {
    uint32_t left, right, result; /* ids */
};

struct wfs_bpe {
    struct wfs_vocab vocab;
    struct wfs_bpe_merge *merges; /* owned; in order of rank */
    size_t n_merges;
    const char *unk; /* NULL = none */
    bool fuse_unk, byte_fallback, ignore_merges;
};

void wfs_bpe_init(struct wfs_bpe *bpe);
void wfs_bpe_done(struct wfs_bpe *bpe);

/*
 * Reads the "model" object of a tokenizer.json (type BPE). 0, -EINVAL (what the library refuses too), -ENOTSUP,
 * -ENOMEM.
 */
int wfs_bpe_load(struct wfs_bpe *bpe, const struct cJSON *model, struct wfs_error *err);

/*
 * Encodes words one by one and appends their ids (native uint32_t) to ids; ends[i] becomes the number of ids up to and
 * with word i. Many words in one call cost one pass over the merges. *work counts what all calls for one tokenizer
 * cost, up to a limit. 0, -EINVAL, -EFBIG (too much work), -ENOMEM.
 */
int wfs_bpe_encode(const struct wfs_bpe *bpe, const struct wfs_text *words, size_t n_words, struct wfs_buf *ids,
                   size_t *ends, size_t *work, struct wfs_error *err);

#endif
