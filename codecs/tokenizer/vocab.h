/*
 * A model's vocabulary: token strings by id and ids by token string. A big one has 262,144 tokens and its merges ask
 * for two million of them, so everything is packed: the strings one behind the other, 8 bytes for each slot of the hash
 * table.
 */
#ifndef WFS_TOKENIZER_VOCAB_H
#define WFS_TOKENIZER_VOCAB_H

#include "../base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

/* More tokens, or an id beyond this, is refused: a token list is as long as its greatest id. */
enum { WFS_VOCAB_MAX = 1 << 24 };

struct wfs_vocab_slot;
struct wfs_vocab_place;

/* A piece of text, not NUL-terminated. */
struct wfs_text {
    const char *at;
    size_t len;
};

struct wfs_vocab {
    char *bytes; /* owned; every token with a NUL behind it */
    struct wfs_vocab_place *places; /* owned; by id */
    struct wfs_vocab_slot *slots;   /* owned */
    size_t mask;                    /* number of slots, less 1 */
    uint64_t seed;                  /* of the hash, so that a hostile file cannot choose colliding tokens */
    uint32_t n_ids;                 /* the greatest id and 1 */
    uint32_t n_tokens;
    uint32_t max_len; /* bytes of the longest token */
};

void wfs_vocab_init(struct wfs_vocab *v);
void wfs_vocab_done(struct wfs_vocab *v);

/*
 * Reads the "vocab" object of a tokenizer.json. 0; -EINVAL for what is no vocabulary and for two tokens with one id;
 * -EFBIG, -ENOMEM.
 */
int wfs_vocab_load(struct wfs_vocab *v, const struct cJSON *object, struct wfs_error *err);

/* True and the id when the token is there. */
bool wfs_vocab_find(const struct wfs_vocab *v, const char *token, size_t len, uint32_t *ret_id);

/*
 * Looks up many tokens at once, so that the waits for memory overlap (three times faster on a big vocabulary). Returns
 * how many in front were found: n, or the index of the first that is not there.
 */
size_t wfs_vocab_find_all(const struct wfs_vocab *v, const struct wfs_text *tokens, size_t n, uint32_t *ret_ids);

/* The token of an id, NUL-terminated; NULL when no token has it. ret_len may be NULL. */
const char *wfs_vocab_token(const struct wfs_vocab *v, uint32_t id, size_t *ret_len);

#endif
