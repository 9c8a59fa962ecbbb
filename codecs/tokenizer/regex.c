#include "regex.h"
#include "../base/cleanup.h"
#include "../base/utf8.h"
#include "regex_dialect.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum { MATCH_LIMIT = 1000000, HEAP_LIMIT_KIB = 64 << 10, MAX_PATTERN_BYTES = 1 << 16 };

struct wfs_regex {
    pcre2_code *code;
    pcre2_match_context *limits;
};

static void compile_context_done(pcre2_compile_context **c)
{
    pcre2_compile_context_free(*c);
}

static void match_data_done(pcre2_match_data **m)
{
    pcre2_match_data_free(*m);
}

void wfs_regex_free(struct wfs_regex *regex)
{
    if (!regex)
        return;
    pcre2_code_free(regex->code);
    pcre2_match_context_free(regex->limits);
    free(regex);
}

static void regex_free(struct wfs_regex **regex)
{
    wfs_regex_free(*regex);
}

int wfs_regex_new(const char *pattern, enum wfs_regex_kind kind, struct wfs_regex **ret, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf text = WFS_BUF_INIT;
    WFS_CLEANUP(compile_context_done) pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    WFS_CLEANUP(regex_free) struct wfs_regex *regex = calloc(1, sizeof *regex);
    const char *reason = NULL;
    int code = 0;
    PCRE2_SIZE at = 0;

    if (strlen(pattern) > MAX_PATTERN_BYTES)
        return wfs_error_set(err, EFBIG, "a pattern of %zu bytes", strlen(pattern));
    if (kind == WFS_REGEX_LITERAL)
        wfs_buf_str(&text, pattern);
    else if (!wfs_regex_translate(pattern, &text, &reason))
        return wfs_error_set(err, ENOTSUP, "the pattern '%s' is not supported: %s", pattern, reason);
    if (!context || !regex || text.failed)
        return wfs_error_set(err, ENOMEM, "out of memory");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    regex->code = pcre2_compile(text.data ? text.data : (const uint8_t *)"", text.len,
                                kind == WFS_REGEX_LITERAL ? PCRE2_UTF | PCRE2_LITERAL
                                                          : PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE,
                                &code, &at, context);
    if (!regex->code) {
        char message[128] = "";

        pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof message);
        return wfs_error_set(err, EINVAL, "the pattern '%s' does not compile: %s", pattern, message);
    }
    regex->limits = pcre2_match_context_create(NULL);
    if (!regex->limits)
        return wfs_error_set(err, ENOMEM, "out of memory");
    pcre2_set_match_limit(regex->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(regex->limits, HEAP_LIMIT_KIB);
    *ret = WFS_STEAL(regex);
    return 0;
}

static void put(struct wfs_buf *matches, size_t from, size_t to, bool matched)
{
    struct wfs_match m = { from, to, matched };

    wfs_buf_put(matches, &m, sizeof m);
}

int wfs_regex_find(const struct wfs_regex *regex, const char *text, size_t len, struct wfs_buf *matches,
                   struct wfs_error *err)
{
    WFS_CLEANUP(match_data_done) pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    size_t at = 0, covered = 0;
    bool any = false;

    if (!data)
        return wfs_error_set(err, ENOMEM, "out of memory");
    while (at <= len) {
        int r = pcre2_match(regex->code, (PCRE2_SPTR)text, len, at, at ? PCRE2_NO_UTF_CHECK : 0, data, regex->limits);
        const PCRE2_SIZE *range = pcre2_get_ovector_pointer(data);

        if (r == PCRE2_ERROR_NOMATCH)
            break;
        if (r < 0) {
            char message[128] = "";

            pcre2_get_error_message(r, (PCRE2_UCHAR *)message, sizeof message);
            return wfs_error_set(err, EINVAL, "a pattern fails on the text: %s", message);
        }
        if (range[0] == range[1] && any && range[1] == covered) {
            unsigned n = wfs_utf8_decode(text + at, len - at, NULL);

            at += n ? n : 1;
            continue;
        }
        if (covered != range[0])
            put(matches, covered, range[0], false);
        put(matches, range[0], range[1], true);
        at = covered = range[1];
        any = true;
    }
    if (covered != len)
        put(matches, covered, len, false);
    return matches->failed ? wfs_error_set(err, ENOMEM, "out of memory") : 0;
}
