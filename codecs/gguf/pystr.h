/*
 * Strings as Python's str has them: arrays of code points, with the methods that the converter's naming rules use. A
 * NUL code point stands in UTF-8 as C0 80 (see json.h), so that UTF-8 texts can stay C strings.
 */
#ifndef WFS_GGUF_PYSTR_H
#define WFS_GGUF_PYSTR_H

#include "../base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wfs_pystr {
    uint32_t *c; /* owned */
    size_t len, cap;
    bool failed; /* out of memory (or bytes that are not UTF-8) since init; appends then do nothing */
};

#define WFS_PYSTR_INIT { NULL, 0, 0, false }

void wfs_pystr_done(struct wfs_pystr *s);
void wfs_pystr_add(struct wfs_pystr *s, uint32_t c);
void wfs_pystr_add_utf8(struct wfs_pystr *s, const char *text, size_t len);
void wfs_pystr_add_part(struct wfs_pystr *s, const uint32_t *c, size_t len);

/* A malloc'ed UTF-8 copy of len code points; NULL when out of memory. */
char *wfs_pystr_utf8(const uint32_t *c, size_t len);

bool wfs_pychar_is_space(uint32_t c);
bool wfs_pychar_is_alpha(uint32_t c);
bool wfs_pychar_is_word(uint32_t c); /* \w of a regular expression */
/* isdecimal; *ret_value (may be NULL) is the digit's value. */
bool wfs_pychar_is_decimal(uint32_t c, unsigned *ret_value);

/* c matches the ASCII letter (given in lower case) under re.IGNORECASE. */
bool wfs_pychar_is_letter(uint32_t c, char lower);

/* str.islower() of len code points. */
bool wfs_pystr_is_lower(const uint32_t *c, size_t len);

/* Append str.title(), str.lower() and str.upper() of len code points. */
void wfs_pystr_add_title(struct wfs_pystr *s, const uint32_t *c, size_t len);
void wfs_pystr_add_lower(struct wfs_pystr *s, const uint32_t *c, size_t len);
void wfs_pystr_add_upper(struct wfs_pystr *s, const uint32_t *c, size_t len);

#endif
