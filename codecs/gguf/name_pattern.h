/*
 * The patterns of --tensor-type: std::regex (ECMAScript, as libstdc++ has it) searched in a tensor's name. What means
 * the same to PCRE2 is translated; the rest is refused. Source: regex_scanner.tcc and regex_compiler.tcc of libstdc++
 * 12, parse_tensor_type of llama.cpp's quantize.cpp.
 */
#ifndef WFS_GGUF_NAME_PATTERN_H
#define WFS_GGUF_NAME_PATTERN_H

#include "../base/error.h"

#include <stddef.h>

struct wfs_name_pattern; /* immutable; may be used by several threads at once */

/*
 * Compiles len bytes, which are lower-cased first, as llama-quantize does. -EINVAL with a message that says what is
 * wrong at which byte; -ENOMEM.
 */
int wfs_name_pattern_new(const char *text, size_t len, struct wfs_name_pattern **ret, struct wfs_error *err);
void wfs_name_pattern_free(struct wfs_name_pattern *p);

/* 1 when some part of the name matches, 0 when none does; a negative errno when the search takes too long. */
int wfs_name_pattern_matches(const struct wfs_name_pattern *p, const char *name, struct wfs_error *err);

#endif
