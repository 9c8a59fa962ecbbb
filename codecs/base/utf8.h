/* UTF-8 as RFC 3629 has it: no surrogates, no overlong forms, at most U+10FFFF. */
#ifndef WFS_BASE_UTF8_H
#define WFS_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Decodes one code point at text (len bytes available). Returns its length in bytes (1 to 4) and sets *ret_code_point
 * when that is not NULL; 0 when the bytes are not valid UTF-8 or len is 0.
 */
unsigned wfs_utf8_decode(const void *text, size_t len, uint32_t *ret_code_point);

/* Encodes a code point into out (room for 4 bytes). Returns its length, 0 for a surrogate or a value over U+10FFFF. */
unsigned wfs_utf8_encode(uint32_t code_point, char *out);

/* The offset of the first byte that is not valid UTF-8, or len when all is valid. */
size_t wfs_utf8_check(const void *text, size_t len);

#endif
