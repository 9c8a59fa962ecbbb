/*
 * The tokenizer of a tokenizer.json as the pinned transformers (4.57.6, with tokenizers 0.22) load it: AutoTokenizer
 * picks a class, and the class and tokenizer_config.json change what the file says.
 */
#ifndef WFS_TOKENIZER_HF_H
#define WFS_TOKENIZER_HF_H

#include "added.h"
#include "bpe.h"
#include "files.h"
#include "split.h"

struct wfs_hf {
    const cJSON *json; /* tokenizer.json; not owned */
    struct wfs_bpe bpe;
    struct wfs_added added;
    struct wfs_splitter *splitter; /* made when first needed */
    enum wfs_prefix_space prefix_space;
    bool split_special; /* special tokens in a text are text */
    bool clean_up;      /* decoding takes spaces in front of punctuation away */
    bool own_template;  /* the class puts bos and eos around a text, whatever post_processor says */
    bool add_bos, add_eos;
    uint32_t bos_id, eos_id;
    size_t work; /* of wfs_bpe_encode */
    struct wfs_buf specials; /* of const char *: the contents of the special tokens, in the order of the attributes */
};

void wfs_hf_init(struct wfs_hf *hf);
void wfs_hf_done(struct wfs_hf *hf);

/*
 * Loads the tokenizer. files must live as long as hf. 0; -ENOENT without a tokenizer.json; -EINVAL for what the
 * reference refuses too; -ENOTSUP for what is not known here; -EFBIG, -ENOMEM.
 */
int wfs_hf_load(struct wfs_hf *hf, struct wfs_tokenizer_files *files, struct wfs_error *err);

/* The id of a token, added or of the model. */
bool wfs_hf_id(const struct wfs_hf *hf, const char *token, uint32_t *ret);

/* Appends the ids (native uint32_t) of a text; add_special: with what the post-processor puts around it. */
int wfs_hf_encode(struct wfs_hf *hf, const char *text, size_t len, bool add_special, struct wfs_buf *ids,
                  struct wfs_error *err);

/* Appends the text of ids. */
int wfs_hf_decode(const struct wfs_hf *hf, const uint32_t *ids, size_t n, struct wfs_buf *out, struct wfs_error *err);

/* Part of wfs_hf_load: what the class and tokenizer_config.json make of the tokenizer (in hf_class.c). */
int wfs_hf_apply_class(struct wfs_hf *hf, struct wfs_tokenizer_files *files, struct wfs_error *err);

/*
 * Part of wfs_hf_load: whether the tokenizers library takes normalizer, pre_tokenizer, post_processor, decoder,
 * truncation, padding and version of a tokenizer.json (in hf_parts.c). 0; -EINVAL for what it refuses; -ENOTSUP for
 * what is not known here.
 */
int wfs_hf_check_parts(const cJSON *json, struct wfs_error *err);

#endif
