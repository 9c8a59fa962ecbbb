/* How the converter tells byte-level pre-tokenizers apart: by the hash of the ids of one fixed text. */
#ifndef WFS_TOKENIZER_FINGERPRINT_H
#define WFS_TOKENIZER_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wfs_fingerprint {
    const char *hash; /* SHA-256 in lower-case hexadecimal digits */
    const char *name; /* the value of tokenizer.ggml.pre */
};

extern const struct wfs_fingerprint WFS_FINGERPRINTS[];
extern const size_t WFS_N_FINGERPRINTS;

/* The converter's test text (valid UTF-8, no NUL). */
extern const char WFS_FINGERPRINT_TEXT[];
extern const size_t WFS_FINGERPRINT_TEXT_LEN;

enum { WFS_FINGERPRINT_HASH_SIZE = 65 };

/* The hash of a list of ids: SHA-256 of Python's str(list). False when out of memory. */
bool wfs_fingerprint_hash(const uint32_t *ids, size_t n, char ret[static WFS_FINGERPRINT_HASH_SIZE]);

/* The name for a hash, NULL when it is not in the table. */
const char *wfs_fingerprint_name(const char *hash);

/* True when some hash has this name. */
bool wfs_fingerprint_known(const char *name);

#endif
