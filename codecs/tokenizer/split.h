/*
 * The "pre_tokenizer" of a tokenizer.json: how a text is split into words, as the `tokenizers` library (0.22) does it.
 */
#ifndef WFS_TOKENIZER_SPLIT_H
#define WFS_TOKENIZER_SPLIT_H

#include "../base/error.h"
#include "pieces.h"

struct cJSON;
struct wfs_splitter;

/* What becomes of add_prefix_space when the pre_tokenizer is a ByteLevel as such (not one of a Sequence). */
enum wfs_prefix_space { WFS_PREFIX_SPACE_KEEP, WFS_PREFIX_SPACE_OFF, WFS_PREFIX_SPACE_ON };

/* object may be NULL or null: then nothing is split. 0; -ENOTSUP naming what is not known; -EINVAL, -ENOMEM. */
int wfs_splitter_new(const struct cJSON *object, enum wfs_prefix_space prefix_space, struct wfs_splitter **ret,
                     struct wfs_error *err);
void wfs_splitter_free(struct wfs_splitter *s);

/* Splits the text pieces. 0, -EINVAL, -ENOMEM. */
int wfs_splitter_run(const struct wfs_splitter *s, struct wfs_pieces *pieces, struct wfs_error *err);

/* Appends the patterns of a pre_tokenizer in quotes, for messages; "none" when it has none. */
void wfs_splitter_describe(const struct cJSON *object, struct wfs_buf *out);

#endif
