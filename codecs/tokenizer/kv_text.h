/* Strings of a JSON document as metadata: the parser's C0 80 for a NUL becomes the NUL again. */
#ifndef WFS_TOKENIZER_KV_TEXT_H
#define WFS_TOKENIZER_KV_TEXT_H

#include "../gguf/kv.h"

/* Appends text (len bytes, from a JSON document) to an array of strings under construction. */
void wfs_kv_put_text(struct wfs_buf *items, const char *text, size_t len);

/* Writes a key with a string from a JSON document; an empty one is not written, as by the converter. */
void wfs_kv_text(struct wfs_kv_list *kv, const char *key, const char *text, size_t len);

#endif
