/* The "normalizer" of a tokenizer.json, as the `tokenizers` library (0.22) applies it. */
#ifndef WFS_TOKENIZER_NORMALIZE_H
#define WFS_TOKENIZER_NORMALIZE_H

#include "../base/buf.h"
#include "../base/error.h"

#include <stddef.h>

struct cJSON;

/*
 * Appends the normalized text. object may be NULL or null (nothing changes). 0; -ENOTSUP naming what is not known;
 * -EINVAL, -ENOMEM.
 */
int wfs_normalize(const struct cJSON *object, const char *text, size_t len, struct wfs_buf *out, struct wfs_error *err);

#endif
