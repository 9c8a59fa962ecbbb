/*
 * A GGUF view of the user's own: a name, a file type, and llama-quantize's flags as words, as in
 *     model-mine.gguf q4_k_m output=q8_0 token-embedding=q6_k tensor-type=ffn_down=q5_k pure imatrix=FILE
 */
#ifndef WFS_GGUF_RECIPE_H
#define WFS_GGUF_RECIPE_H

#include "gguf.h"

#include <stdatomic.h>

struct wfs_gguf_recipe {
    atomic_uint refs;
    char *view; /* the file's name */
    /* Its strings and patterns belong to the recipe. imatrix_file: as it was typed, or NULL; imatrix: NULL. */
    struct wfs_gguf_request request;
};

/*
 * Parses len bytes: words separated by blanks; a backslash before a blank makes it part of the word. -EINVAL with a
 * message that names the word and says what is allowed; -ENOMEM. The result has one reference.
 */
int wfs_gguf_recipe_parse(const char *text, size_t len, struct wfs_gguf_recipe **ret, struct wfs_error *err);
struct wfs_gguf_recipe *wfs_gguf_recipe_ref(struct wfs_gguf_recipe *r);
void wfs_gguf_recipe_unref(struct wfs_gguf_recipe *r);

#endif
