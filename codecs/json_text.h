/* Writing JSON: the one place that escapes strings. */
#ifndef WFS_JSON_TEXT_H
#define WFS_JSON_TEXT_H

#include "base/buf.h"

/*
 * Appends a JSON string, quotes included, in serde_json's form: only '"', '\\' and control bytes are escaped, the short
 * way where there is one, else \u00xx. C0 80 (see json.h) becomes \u0000; any other byte that is not valid UTF-8
 * becomes U+FFFD.
 */
void wfs_json_put_string(struct wfs_buf *b, const char *text, size_t len);

/*
 * The same for JSON that people may see on a terminal: DEL, U+0080 to U+009F and the characters that turn the writing
 * direction are escaped as well. Readers get the same text.
 */
void wfs_json_put_shown(struct wfs_buf *b, const char *text, size_t len);

#endif
