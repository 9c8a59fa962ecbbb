/*
 * The added tokens of a tokenizer: found in a text before it is split. As the `tokenizers` library (0.22) keeps them: a
 * token that comes again with other flags takes the place of the old one, but the old one's text is still looked for.
 */
#ifndef WFS_TOKENIZER_ADDED_H
#define WFS_TOKENIZER_ADDED_H

#include "../base/error.h"
#include "../base/map.h"
#include "pieces.h"
#include "regex.h"
#include "vocab.h"

#include <stdbool.h>

struct cJSON;

enum wfs_added_flags {
    WFS_ADDED_SINGLE_WORD = 1,
    WFS_ADDED_LSTRIP = 2,
    WFS_ADDED_RSTRIP = 4,
    WFS_ADDED_NORMALIZED = 8, /* looked for in the normalized text */
    WFS_ADDED_SPECIAL = 16,
};

/* The names that files give the flags, WFS_ADDED_N_FLAGS of them, and the flags. */
enum { WFS_ADDED_N_FLAGS = 5 };
extern const struct wfs_added_flag {
    const char *key;
    unsigned flag;
} wfs_added_flags[WFS_ADDED_N_FLAGS];

struct wfs_added_token {
    const char *content; /* not owned */
    uint32_t len;
    uint32_t id;
    unsigned flags; /* of enum wfs_added_flags */
    bool special;   /* was special once: what split_special leaves in the text */
    uint32_t seen;  /* a bit for each combination of flags it has had in this call of wfs_added_add */
};

struct wfs_added_pattern {
    const char *text;
    size_t at, len; /* at: in the normalized texts */
    uint32_t token; /* index in tokens */
    uint32_t order; /* the first of equal patterns counts */
};

struct wfs_added {
    struct wfs_buf tokens; /* of struct wfs_added_token; one for each content, in order of first sight */
    struct wfs_map by_content;
    size_t n_bytes; /* of all contents */
    struct wfs_buf listed[2]; /* of struct listed: the special ones and the others */
    /* Of struct wfs_added_pattern, sorted: [0] for the text as it is, [1] for the normalized. */
    struct wfs_buf patterns[2];
    struct wfs_buf normalized;  /* the texts of patterns[1] */
    struct wfs_regex *word;     /* a character of a word; NULL when no token is for single words */
    uint32_t *by_id;            /* index in tokens and 1, for ids up to max_id; made by wfs_added_build */
    uint32_t max_id;
};

/* Far beyond any real tokenizer; they bound the time that a hostile one can cost. */
enum { WFS_ADDED_MAX = 1 << 16, WFS_ADDED_MAX_LEN = 1 << 10, WFS_ADDED_MAX_BYTES = 1 << 21 };

void wfs_added_init(struct wfs_added *a);
void wfs_added_done(struct wfs_added *a);

/*
 * Adds tokens (content, len and flags) in one call: those without an id in the vocabulary get the next free ones. 0;
 * -EINVAL when a new id is taken (the result is not defined then), -EFBIG, -ENOMEM. Contents must live as long as a.
 */
int wfs_added_add(struct wfs_added *a, const struct wfs_vocab *vocab, const struct wfs_added_token *tokens, size_t n,
                  struct wfs_error *err);

size_t wfs_added_count(const struct wfs_added *a);
const struct wfs_added_token *wfs_added_get(const struct wfs_added *a, size_t i);
const struct wfs_added_token *wfs_added_find(const struct wfs_added *a, const char *content, size_t len);

/* The token of an id, after wfs_added_build; NULL when it is no added token's. */
const struct wfs_added_token *wfs_added_by_id(const struct wfs_added *a, uint32_t id);

/* Makes ready for wfs_added_extract, once no more tokens come. 0 or what wfs_normalize returns. */
int wfs_added_build(struct wfs_added *a, const struct cJSON *normalizer, struct wfs_error *err);

/*
 * Takes the tokens out of the text pieces: those that are looked for in the text as it is, or (normalized) the others.
 * split_special leaves special ones in the text. 0, -EINVAL, -ENOMEM.
 */
int wfs_added_extract(const struct wfs_added *a, bool normalized, bool split_special, struct wfs_pieces *pieces,
                      struct wfs_error *err);

#endif
