#include "regex_dialect.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/*
 * Oniguruma's \w and \s, which PCRE2's are not (measured over all code points): marks and connectors are words. Outside
 * of a class, \w also takes those numbers below U+0100 that are no digits, and \W does not.
 */
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define WORD_BY_ITSELF WORD "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"

struct translation {
    const char *start, *at; /* in the pattern */
    struct wfs_buf *out;
    const char *reason;
};

static bool refuse(struct translation *t, const char *reason)
{
    t->reason = reason;
    return false;
}

static void copy(struct translation *t, size_t n)
{
    wfs_buf_put(t->out, t->at, n);
    t->at += n;
}

static void replace(struct translation *t, size_t n, const char *text)
{
    wfs_buf_str(t->out, text);
    t->at += n;
}

/* \p{Name}: PCRE2 knows the short names of the general categories only. */
static bool property(struct translation *t)
{
    static const struct {
        const char *name, *category;
    } categories[] = {
        { "Letter", "L" }, { "Mark", "M" }, { "Number", "N" }, { "Punctuation", "P" }, { "Symbol", "S" },
        { "Separator", "Z" }, { "Other", "C" }, { "Uppercase_Letter", "Lu" }, { "Lowercase_Letter", "Ll" },
        { "Titlecase_Letter", "Lt" }, { "Modifier_Letter", "Lm" }, { "Other_Letter", "Lo" }, { "Decimal_Number", "Nd" },
    };
    const char *name = t->at + 3, *end;
    bool negated;

    if (t->at[2] != '{' || !(end = strchr(name, '}')))
        return refuse(t, "\\p without a name in braces");
    negated = *name == '^';
    name += negated;
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if (strlen(categories[i].name) == (size_t)(end - name) &&
            strncmp(categories[i].name, name, (size_t)(end - name)) == 0) {
            wfs_buf_printf(t->out, "\\%c{%s%s}", t->at[1], negated ? "^" : "", categories[i].category);
            t->at = end + 1;
            return true;
        }
    }
    copy(t, (size_t)(end + 1 - t->at));
    return true;
}

static size_t hex_digits(const char *text, size_t max)
{
    size_t n = 0;

    while (n < max && isxdigit((unsigned char)text[n]))
        n++;
    return n;
}

static bool code_point(struct translation *t)
{
    if (t->at[1] == 'u') {
        if (hex_digits(t->at + 2, 4) != 4)
            return refuse(t, "\\u without four digits");
        wfs_buf_printf(t->out, "\\x{%.4s}", t->at + 2);
        t->at += 6;
        return true;
    }
    if (t->at[2] == '{') {
        size_t n = hex_digits(t->at + 3, 8);

        if (n == 0 || t->at[3 + n] != '}')
            return refuse(t, "\\x{...} that is not one code point");
        copy(t, 4 + n);
        return true;
    }
    /* Two digits give a byte there and a code point here, which is the same below 0x80. */
    if (hex_digits(t->at + 2, 2) != 2 || t->at[2] > '7')
        return refuse(t, "\\x that is not two digits below 80");
    copy(t, 4);
    return true;
}

/* A backslash and what follows, in or out of a character class. */
static bool escape(struct translation *t, bool in_class)
{
    char c = t->at[1];

    switch (c) {
    case 0:
        return refuse(t, "a backslash at the end");
    case 'p':
    case 'P':
        return property(t);
    case 'x':
    case 'u':
        return code_point(t);
    case 'w':
        replace(t, 2, in_class ? WORD : "[" WORD_BY_ITSELF "]");
        return true;
    case 'W':
        if (in_class)
            return refuse(t, "\\W in a character class");
        replace(t, 2, "[^" WORD_BY_ITSELF "]");
        return true;
    case 's':
        replace(t, 2, "\\p{White_Space}");
        return true;
    case 'S':
        replace(t, 2, "\\P{White_Space}");
        return true;
    case 'h':
        replace(t, 2, in_class ? "0-9a-fA-F" : "[0-9a-fA-F]");
        return true;
    case 'v':
        replace(t, 2, "\\x0b");
        return true;
    case 'A':
    case 'z':
    case 'Z':
        if (in_class)
            return refuse(t, "an anchor in a character class");
        copy(t, 2);
        return true;
    default:
        if (isalnum((unsigned char)c) && !strchr("dDnrtfae", c))
            return refuse(t, "an escape that is not known to mean the same in PCRE2");
        copy(t, 2);
        return true;
    }
}

/* A class; one within another adds its members, so its brackets can go. */
static bool character_class(struct translation *t)
{
    unsigned depth = 1;

    copy(t, 1);
    if (*t->at == '^')
        copy(t, 1);
    while (depth) {
        if (*t->at == ']' && (t->at[-1] == '[' || (t->at[-1] == '^' && t->at[-2] == '[')))
            return refuse(t, "a character class that starts with ']'");
        if (*t->at == 0)
            return refuse(t, "a character class without its end");
        if (*t->at == '[' && (t->at[1] == '^' || t->at[1] == ':'))
            return refuse(t, "a negated or named character class within another");
        if (t->at[0] == '&' && t->at[1] == '&')
            return refuse(t, "an intersection of character classes");
        if (*t->at == '\\') {
            if (!escape(t, true))
                return false;
        } else if (*t->at == '[') {
            depth++;
            t->at++;
        } else if (*t->at == ']') {
            depth--;
            replace(t, 1, depth ? "" : "]");
        } else {
            copy(t, 1);
        }
    }
    return true;
}

static bool group(struct translation *t)
{
    static const char *const known[] = { "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:" };

    if (t->at[1] != '?') {
        copy(t, 1);
        return true;
    }
    /* In the middle of alternatives this one's reach differs. */
    if (t->at == t->start && strncmp(t->at, "(?i)", 4) == 0) {
        copy(t, 4);
        return true;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i]);

        if (strncmp(t->at, known[i], n) == 0) {
            copy(t, n);
            return true;
        }
    }
    return refuse(t, "a kind of group that is not known to mean the same in PCRE2");
}

/* {n}, {n,} or {n,m}; anything else is a brace as such. */
static bool interval(struct translation *t)
{
    size_t n = 1;
    bool comma = false;

    if (t->at[1] == ',')
        return refuse(t, "a repetition without its lower bound");
    while (isdigit((unsigned char)t->at[n]) || (t->at[n] == ',' && !comma)) {
        comma |= t->at[n] == ',';
        n++;
    }
    if (n == 1 || t->at[n] != '}') {
        copy(t, 1);
        return true;
    }
    /* Oniguruma repeats the repetition where PCRE2 makes it possessive, or lazy. */
    if (t->at[n + 1] == '+' || t->at[n + 1] == '?')
        return refuse(t, "a repetition with a suffix");
    copy(t, n + 1);
    return true;
}

bool wfs_regex_translate(const char *pattern, struct wfs_buf *out, const char **ret_reason)
{
    struct translation t = { pattern, pattern, out, NULL };
    bool ok = true;

    while (ok && *t.at) {
        switch (*t.at) {
        case '\\':
            ok = escape(&t, false);
            break;
        case '[':
            ok = character_class(&t);
            break;
        case '(':
            ok = group(&t);
            break;
        case '{':
            ok = interval(&t);
            break;
        default:
            copy(&t, 1);
        }
    }
    *ret_reason = t.reason;
    return ok;
}
