/* The model card: the YAML front matter of README.md. */
#ifndef WFS_GGUF_CARD_H
#define WFS_GGUF_CARD_H

#include "../folder.h"
#include "yaml.h"

/*
 * The front matter of a README's bytes as YAML text, in a malloc'ed string: what stands between a first line of exactly
 * "---" and the next one. Lines end where Python's text mode and splitlines() end them. *ret is NULL when there is
 * none. 0, -EILSEQ when the text is not UTF-8, or -ENOMEM. Source: gguf-py's metadata.py, load_model_card.
 */
int wfs_card_front_matter(const uint8_t *text, size_t len, char **ret);

/*
 * Reads the card of a folder. 1 and a document whose root is a DICT; 0 when there is no such card; a negative errno
 * with a message where the converter fails on it.
 */
int wfs_card_read(const struct wfs_folder *folder, struct wfs_yaml **ret, struct wfs_error *err);

#endif
