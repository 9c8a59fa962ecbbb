#include "name_pattern.h"
#include "../base/buf.h"
#include "../base/cleanup.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1000, MAX_DEPTH = 50, MAX_REPEAT = 100, MATCH_LIMIT = 1000000 };

struct wfs_name_pattern {
    pcre2_code *code;
    pcre2_match_context *limits;
    char *text; /* for messages */
};

/* Where the translation is: ECMAScript in text, PCRE2 in out. */
struct translator {
    const char *text;
    size_t len, at;
    unsigned depth, n_lookaheads; /* around here */
    struct wfs_buf out;
    struct wfs_error *err;
};

static int refuse(const struct translator *t, size_t at, const char *why)
{
    return wfs_error_set(t->err, EINVAL, "the pattern \"%.*s\" at byte %zu: %s", (int)t->len, t->text, at + 1, why);
}

static bool is_at(const struct translator *t, char c)
{
    return t->at < t->len && t->text[t->at] == c;
}

/* A character that stands for itself, whatever PCRE2 would see in it. */
static void put_char(struct translator *t, char c)
{
    bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';

    if (plain)
        wfs_buf_u8(&t->out, (uint8_t)c);
    else
        wfs_buf_printf(&t->out, "\\x%02x", (unsigned char)c);
}

/*
 * Behind a backslash: 1 and *ret_char for an escaped character; 2 for a class ("\d"), 3 for a word boundary, which are
 * put out.
 */
static int take_escape(struct translator *t, bool in_bracket, char *ret_char)
{
    static const char from[] = "fnrtv", to[] = "\f\n\r\t\v";
    size_t at = t->at;
    const char *known;
    char c;

    if (at == t->len)
        return refuse(t, at, "a backslash at the end");
    c = t->text[t->at++];
    known = strchr(from, c);
    if (c == 'd' || c == 's' || c == 'w') {
        wfs_buf_printf(&t->out, "\\%c", c);
        return 2;
    }
    if (c == 'b' && !in_bracket) {
        wfs_buf_str(&t->out, "\\b");
        return 3;
    }
    if (c >= '0' && c <= '9')
        return refuse(t, at, "references to groups are not supported");
    if (!known && c >= 'a' && c <= 'z')
        return refuse(t, at, "this escape is not supported (these are: \\d \\s \\w \\b \\f \\n \\r \\t \\v and "
                             "signs)");
    *ret_char = known ? to[known - from] : c;
    return 1;
}

/* "[:alpha:]" in a bracket, behind the first bracket. */
static int take_class_name(struct translator *t)
{
    static const char *const names[] = { "alnum", "alpha", "blank", "cntrl", "digit", "graph",
                                         "lower", "print", "punct", "space", "upper", "xdigit" };
    size_t at = t->at;

    t->at++; /* the colon */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);

        if (t->len - t->at >= n + 2 && memcmp(t->text + t->at, names[i], n) == 0 &&
            memcmp(t->text + t->at + n, ":]", 2) == 0) {
            t->at += n + 2;
            wfs_buf_printf(&t->out, "[:%s:]", names[i]);
            return 2;
        }
    }
    return refuse(t, at, "there is no class of characters of this name");
}

/* One item of a bracket: 1 and a character, 2 for a class that is put out, 0 at the closing bracket. */
static int take_bracket_item(struct translator *t, char *ret_char)
{
    size_t at = t->at;
    char c;

    if (at == t->len)
        return refuse(t, at, "a bracket is not closed");
    c = t->text[t->at++];
    if (c == ']')
        return 0;
    if (c == '\\')
        return take_escape(t, true, ret_char);
    if (c == '[' && is_at(t, ':'))
        return take_class_name(t);
    if (c == '[' && (is_at(t, '.') || is_at(t, '=')))
        return refuse(t, at, "collating elements are not supported");
    *ret_char = c;
    return 1;
}

/* Behind "[". A dash that is neither first nor last nor part of a range differs between libraries: refused. */
static int take_bracket(struct translator *t)
{
    int kind, last_kind = 0;
    bool negated = is_at(t, '^'), is_first = true;
    char c, to;

    if (negated)
        t->at++;
    if (is_at(t, ']')) { /* nothing, or anything */
        t->at++;
        wfs_buf_str(&t->out, negated ? "[\\x00-\\xff]" : "(?!)");
        return 0;
    }
    wfs_buf_str(&t->out, negated ? "[^" : "[");
    for (;; is_first = false) {
        size_t at = t->at;
        bool is_dash = is_at(t, '-');

        kind = take_bracket_item(t, &c);
        if (kind < 0)
            return kind;
        if (kind == 0)
            break;
        if (is_dash && !is_first && !is_at(t, ']'))
            return refuse(t, at, last_kind == 2 ? "a range cannot begin with a class"
                                                : "a dash must be first or last, or stand between two characters");
        last_kind = kind;
        if (kind == 2)
            continue;
        put_char(t, c);
        if (!is_at(t, '-') || t->at + 1 >= t->len || t->text[t->at + 1] == ']')
            continue;
        t->at++;
        at = t->at;
        kind = take_bracket_item(t, &to);
        if (kind < 0)
            return kind;
        if (kind != 1)
            return refuse(t, at, "a range must end with a character");
        if ((unsigned char)to < (unsigned char)c)
            return refuse(t, at, "a range must not run backwards");
        wfs_buf_u8(&t->out, '-');
        put_char(t, to);
        last_kind = 3;
    }
    wfs_buf_u8(&t->out, ']');
    return 0;
}

static int take_number(struct translator *t, unsigned *ret)
{
    size_t at = t->at;

    for (*ret = 0; t->at < t->len && t->text[t->at] >= '0' && t->text[t->at] <= '9'; t->at++) {
        *ret = *ret * 10 + (unsigned)(t->text[t->at] - '0');
        if (*ret > MAX_REPEAT)
            return refuse(t, at, "repeats are supported up to 100");
    }
    return t->at > at;
}

/* "{n}", "{n,}", "{n,m}", behind the brace. */
static int take_count(struct translator *t)
{
    size_t at = t->at;
    unsigned min, max = 0;
    int has_max = 1, r = take_number(t, &min);

    if (r == 0)
        return refuse(t, at, "a number must follow the brace");
    if (r > 0 && is_at(t, ',')) {
        t->at++;
        r = has_max = take_number(t, &max);
    } else {
        max = min;
    }
    if (r < 0)
        return r;
    if (!is_at(t, '}'))
        return refuse(t, t->at, "the brace must be closed here");
    t->at++;
    if (has_max && max < min)
        return refuse(t, at, "the second number is smaller than the first");
    if (has_max)
        wfs_buf_printf(&t->out, "{%u,%u}", min, max);
    else
        wfs_buf_printf(&t->out, "{%u,}", min);
    return 0;
}

static bool is_quantifier(const struct translator *t)
{
    return is_at(t, '*') || is_at(t, '+') || is_at(t, '?') || is_at(t, '{');
}

/* What may follow an atom. */
static int take_quantifier(struct translator *t)
{
    int r = 0;

    if (!is_quantifier(t))
        return 0;
    if (is_at(t, '{')) {
        t->at++;
        r = take_count(t);
    } else {
        wfs_buf_u8(&t->out, (uint8_t)t->text[t->at++]);
    }
    if (r == 0 && is_at(t, '?')) { /* lazy: finds the same names */
        t->at++;
        wfs_buf_u8(&t->out, '?');
    }
    if (r == 0 && is_quantifier(t))
        return refuse(t, t->at, "a quantifier behind a quantifier is not supported");
    return r;
}

static int take_alternatives(struct translator *t);

/* Behind "(". 1: an atom; 2: an assertion. */
static int take_group(struct translator *t)
{
    size_t at = t->at;
    int r, kind = 1;

    if (++t->depth > MAX_DEPTH)
        return refuse(t, at, "groups are nested too deeply");
    if (is_at(t, '?')) {
        char c = at + 1 < t->len ? t->text[at + 1] : '\0';

        if (c != ':' && c != '=' && c != '!')
            return refuse(t, at, "of the groups that begin with \"(?\", only (?:, (?= and (?! are known");
        t->at += 2;
        kind = c == ':' ? 1 : 2;
        wfs_buf_printf(&t->out, "(?%c", c);
    } else {
        wfs_buf_str(&t->out, "(?:");
    }
    t->n_lookaheads += kind == 2;
    r = take_alternatives(t);
    t->n_lookaheads -= kind == 2;
    if (r < 0)
        return r;
    if (!is_at(t, ')'))
        return refuse(t, t->at, "a group is not closed");
    t->at++;
    t->depth--;
    wfs_buf_u8(&t->out, ')');
    return kind;
}

/* One atom or assertion and its quantifier. */
static int take_term(struct translator *t)
{
    size_t at = t->at;
    char c = t->text[t->at++], escaped;
    int r = 1; /* 1: an atom; anything higher takes no quantifier */

    if ((unsigned char)c < 0x20 || (unsigned char)c > 0x7e)
        return refuse(t, at, "only printable ASCII is supported");
    switch (c) {
    case '^':
        wfs_buf_str(&t->out, "\\A");
        r = 2;
        break;
    case '$':
        wfs_buf_str(&t->out, "\\z");
        r = 2;
        break;
    case '.':
        wfs_buf_str(&t->out, "[^\\n\\r]");
        break;
    case '(':
        r = take_group(t);
        break;
    case '[':
        r = take_bracket(t) < 0 ? -EINVAL : 1;
        break;
    case '\\':
        r = take_escape(t, false, &escaped);
        if (r == 1)
            put_char(t, escaped);
        r = r == 2 ? 1 : r == 3 ? 2 : r;
        break;
    case '*':
    case '+':
    case '?':
    case '{':
        return refuse(t, at, "there is nothing to repeat");
    default:
        put_char(t, c);
    }
    if (r < 0)
        return r;
    /* There, libstdc++ sees the place that it looks from as the beginning of the text. */
    if (r > 1 && (c == '^' || c == '\\') && t->n_lookaheads > 0)
        return refuse(t, at, "^ and \\b are not supported in a look ahead");
    if (r > 1 && is_quantifier(t))
        return refuse(t, t->at, "an assertion cannot be repeated");
    return take_quantifier(t);
}

static int take_alternatives(struct translator *t)
{
    int r = 0;

    while (t->at < t->len && t->text[t->at] != ')' && r == 0) {
        if (is_at(t, '|')) {
            t->at++;
            wfs_buf_u8(&t->out, '|');
        } else {
            r = take_term(t);
        }
    }
    return r;
}

static int translate(struct translator *t)
{
    int r;

    if (t->len == 0)
        return wfs_error_set(t->err, EINVAL, "the pattern for names of tensors is empty");
    if (t->len > MAX_TEXT)
        return wfs_error_set(t->err, E2BIG, "a pattern for names of tensors has more than %d bytes", MAX_TEXT);
    r = take_alternatives(t);
    if (r == 0 && t->at < t->len)
        r = refuse(t, t->at, "there is no group to close");
    return r;
}

static int compile(struct wfs_name_pattern *p, const struct wfs_buf *translated, struct wfs_error *err)
{
    int number;
    size_t at;

    p->code = pcre2_compile(translated->data, translated->len, PCRE2_NO_UTF_CHECK, &number, &at, NULL);
    if (!p->code)
        return wfs_error_set(err, EINVAL, "the pattern \"%s\" is not supported", p->text);
    p->limits = pcre2_match_context_create(NULL);
    if (!p->limits)
        return wfs_error_set(err, ENOMEM, "out of memory");
    pcre2_set_match_limit(p->limits, MATCH_LIMIT);
    return 0;
}

int wfs_name_pattern_new(const char *text, size_t len, struct wfs_name_pattern **ret, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *lower = malloc(len + 1);
    struct translator t = { .text = lower, .len = len, .out = WFS_BUF_INIT, .err = err };
    struct wfs_name_pattern *p = NULL;
    int r;

    if (!lower)
        return wfs_error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < len; i++)
        lower[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + ('a' - 'A')) : text[i];
    lower[len] = '\0';
    r = translate(&t);
    if (r == 0) {
        p = calloc(1, sizeof *p);
        if (p)
            p->text = strdup(lower);
        if (!p || !p->text || t.out.failed)
            r = wfs_error_set(err, ENOMEM, "out of memory");
    }
    if (r == 0)
        r = compile(p, &t.out, err);
    wfs_buf_done(&t.out);
    if (r < 0)
        wfs_name_pattern_free(p);
    else
        *ret = p;
    return r;
}

void wfs_name_pattern_free(struct wfs_name_pattern *p)
{
    if (!p)
        return;
    pcre2_code_free(p->code);
    pcre2_match_context_free(p->limits);
    free(p->text);
    free(p);
}

int wfs_name_pattern_matches(const struct wfs_name_pattern *p, const char *name, struct wfs_error *err)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int r;

    if (!data)
        return wfs_error_set(err, ENOMEM, "out of memory");
    r = pcre2_match(p->code, (PCRE2_SPTR)name, strlen(name), 0, 0, data, p->limits);
    pcre2_match_data_free(data);
    if (r == PCRE2_ERROR_NOMATCH)
        return 0;
    if (r < 0)
        return wfs_error_set(err, EINVAL, "the pattern \"%s\" takes too long on the name %s", p->text, name);
    return 1;
}
