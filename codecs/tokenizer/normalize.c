#include "normalize.h"
#include "../base/cleanup.h"
#include "../json.h"
#include "regex.h"

#include <errno.h>
#include <string.h>
#include <utf8proc.h>

enum { MAX_NESTING = 8 };

static bool is_ascii(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] > 0x7f)
            return false;
    }
    return true;
}

static int unicode_form(utf8proc_option_t form, const char *text, size_t len, struct wfs_buf *out,
                        struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) utf8proc_uint8_t *mapped = NULL;
    utf8proc_ssize_t n;

    if (is_ascii(text, len)) {
        wfs_buf_put(out, text, len);
        return 0;
    }
    n = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, &mapped, UTF8PROC_STABLE | form);
    if (n < 0)
        return wfs_error_set(err, n == UTF8PROC_ERROR_NOMEM ? ENOMEM : EINVAL, "tokenizer.json: normalizer: %s",
                             utf8proc_errmsg(n));
    wfs_buf_put(out, mapped, (size_t)n);
    return 0;
}

static int replace(const cJSON *o, const char *text, size_t len, struct wfs_buf *out, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf matches = WFS_BUF_INIT;
    const cJSON *pattern = wfs_json_get(o, "pattern");
    const char *regex = wfs_json_string(wfs_json_get(pattern, "Regex"));
    const char *literal = wfs_json_string(wfs_json_get(pattern, "String"));
    const char *content = wfs_json_string(wfs_json_get(o, "content"));
    struct wfs_regex *compiled;
    const struct wfs_match *m;
    int r;

    if (!regex == !literal || !content)
        return wfs_error_set(err, EINVAL, "tokenizer.json: normalizer: a Replace without pattern or content");
    r = wfs_regex_new(regex ? regex : literal, regex ? WFS_REGEX_PATTERN : WFS_REGEX_LITERAL, &compiled, err);
    if (r == 0) {
        r = wfs_regex_find(compiled, text, len, &matches, err);
        wfs_regex_free(compiled);
    }
    if (r < 0)
        return wfs_error_wrap(err, "tokenizer.json: normalizer");
    m = (const void *)matches.data;
    for (size_t i = 0; i < matches.len / sizeof *m; i++) {
        if (m[i].matched)
            wfs_buf_str(out, content);
        else
            wfs_buf_put(out, text + m[i].from, m[i].to - m[i].from);
    }
    return 0;
}

static int apply(const cJSON *o, unsigned nesting, const char *text, size_t len, struct wfs_buf *out,
                 struct wfs_error *err);

static int sequence(const cJSON *o, unsigned nesting, const char *text, size_t len, struct wfs_buf *out,
                    struct wfs_error *err)
{
    const cJSON *parts = wfs_json_get(o, "normalizers");
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf now = WFS_BUF_INIT;

    if (!cJSON_IsArray(parts) || nesting == MAX_NESTING)
        return wfs_error_set(err, EINVAL,
                             "tokenizer.json: normalizer: a Sequence without a list, or nested too deeply");
    wfs_buf_put(&now, text, len);
    for (const cJSON *part = parts->child; part; part = part->next) {
        struct wfs_buf next = WFS_BUF_INIT;
        int r = now.failed ? wfs_error_nomem(err)
                           : apply(part, nesting + 1, (const char *)now.data, now.len, &next, err);

        wfs_buf_done(&now);
        now = next;
        if (r < 0)
            return r;
    }
    wfs_buf_put(out, now.data, now.len);
    out->failed |= now.failed;
    return 0;
}

static int apply(const cJSON *o, unsigned nesting, const char *text, size_t len, struct wfs_buf *out,
                 struct wfs_error *err)
{
    static const struct {
        const char *type;
        utf8proc_option_t form;
    } forms[] = {
        { "NFC", UTF8PROC_COMPOSE },
        { "NFD", UTF8PROC_DECOMPOSE },
        { "NFKC", UTF8PROC_COMPOSE | UTF8PROC_COMPAT },
        { "NFKD", UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT },
    };
    const char *type = wfs_json_string(wfs_json_get(o, "type"));
    const char *prepend = wfs_json_string(wfs_json_get(o, "prepend"));

    if (!type)
        return wfs_error_set(err, EINVAL, "tokenizer.json: normalizer: an object without a type");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(type, forms[i].type) == 0)
            return unicode_form(forms[i].form, text, len, out, err);
    }
    if (strcmp(type, "Sequence") == 0)
        return sequence(o, nesting, text, len, out, err);
    if (strcmp(type, "Replace") == 0)
        return replace(o, text, len, out, err);
    if (strcmp(type, "Prepend") == 0 && prepend) {
        if (len)
            wfs_buf_str(out, prepend);
        wfs_buf_put(out, text, len);
        return 0;
    }
    return wfs_error_set(err, ENOTSUP, "tokenizer.json: a normalizer of type '%s' is not supported", type);
}

int wfs_normalize(const cJSON *object, const char *text, size_t len, struct wfs_buf *out, struct wfs_error *err)
{
    int r = 0;

    if (!object || cJSON_IsNull(object))
        wfs_buf_put(out, text, len);
    else
        r = apply(object, 0, text, len, out, err);
    if (r == 0 && out->failed)
        r = wfs_error_nomem(err);
    return r;
}
