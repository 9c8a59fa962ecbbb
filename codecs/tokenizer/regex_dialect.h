/* Oniguruma's patterns in PCRE2's words. */
#ifndef WFS_TOKENIZER_REGEX_DIALECT_H
#define WFS_TOKENIZER_REGEX_DIALECT_H

#include "../base/buf.h"

#include <stdbool.h>

/*
 * Appends to out a pattern for PCRE2 (with its options UTF, UCP and MULTILINE, newline LF) that matches what the given
 * pattern matches under Oniguruma (Ruby syntax, UTF-8). False with a reason for what is not known to mean the same.
 */
bool wfs_regex_translate(const char *pattern, struct wfs_buf *out, const char **ret_reason);

#endif
