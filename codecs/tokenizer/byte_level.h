/* The characters that byte-level BPE writes for bytes. Source: bytes_to_unicode of GPT-2's encoder. */
#ifndef WFS_TOKENIZER_BYTE_LEVEL_H
#define WFS_TOKENIZER_BYTE_LEVEL_H

#include "../base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* Appends the characters of bytes, in UTF-8. */
void wfs_byte_level_put(struct wfs_buf *out, const char *bytes, size_t len);

/* The byte of a character, or -1 when no byte is written so. */
int wfs_byte_level_byte(uint32_t code_point);

#endif
