/*
 * The regular expressions of a tokenizer.json. Their dialect is Oniguruma's (its Ruby syntax over UTF-8); they are run
 * by PCRE2 after a translation that keeps what means the same in both, rewrites what is spelt otherwise, and refuses
 * the rest.
 */
#ifndef WFS_TOKENIZER_REGEX_H
#define WFS_TOKENIZER_REGEX_H

#include "../base/buf.h"
#include "../base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct wfs_regex;

/* A stretch of a text: what matched, or what lies between matches. */
struct wfs_match {
    size_t from, to;
    bool matched;
};

enum wfs_regex_kind { WFS_REGEX_PATTERN, WFS_REGEX_LITERAL };

/* 0; -EINVAL or -ENOTSUP with a message that shows the pattern; -ENOMEM. */
int wfs_regex_new(const char *pattern, enum wfs_regex_kind kind, struct wfs_regex **ret, struct wfs_error *err);
void wfs_regex_free(struct wfs_regex *regex);

/*
 * Appends the stretches (struct wfs_match) of a text, matched and not, in order; together they cover it. An empty match
 * is one of length 0, but not directly behind another match. 0; -EINVAL (text that is not UTF-8, or a pattern that
 * backtracks without end), -ENOMEM.
 */
int wfs_regex_find(const struct wfs_regex *regex, const char *text, size_t len, struct wfs_buf *matches,
                   struct wfs_error *err);

#endif
