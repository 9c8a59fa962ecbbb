#include "yaml_scalar.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <math.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum form { FORM_BOOL, FORM_FLOAT, FORM_INT, FORM_MERGE, FORM_NULL, FORM_TIMESTAMP, FORM_VALUE, FORM_COUNT };

/* In PyYAML's order; a pattern is asked only for texts that start with one of first ("" = the empty text too). */
static const struct {
    const char *first, *pattern, *tag;
} forms[FORM_COUNT] = {
    [FORM_BOOL] = { "yYnNtTfFoO", "yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
                    "bool" },
    [FORM_FLOAT] = { "-+0123456789.",
                     "[-+]?(?:[0-9][0-9_]*)\\.[0-9_]*(?:[eE][-+][0-9]+)?|\\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|"
                     "[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\\.[0-9_]*|[-+]?\\.(?:inf|Inf|INF)|\\.(?:nan|NaN|NAN)",
                     "float" },
    [FORM_INT] = { "-+0123456789",
                   "[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|"
                   "[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+",
                   "int" },
    [FORM_MERGE] = { "<", "<<", "merge" },
    [FORM_NULL] = { "~nN", "~|null|Null|NULL|", "null" },
    [FORM_TIMESTAMP] = { "0123456789",
                         "[0-9]{4}-[0-9][0-9]-[0-9][0-9]|[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?(?:[Tt]|[ \\t]+)[0-9][0-9]?"
                         ":[0-9][0-9]:[0-9][0-9](?:\\.[0-9]*)?(?:[ \\t]*(?:Z|[-+][0-9][0-9]?(?::[0-9][0-9])?))?",
                         "timestamp" },
    [FORM_VALUE] = { "=", "=", "value" },
};

struct wfs_yaml_resolver {
    pcre2_code *codes[FORM_COUNT];
};

struct wfs_yaml_resolver *wfs_yaml_resolver_new(void)
{
    struct wfs_yaml_resolver *r = calloc(1, sizeof *r);

    for (size_t i = 0; r && i < FORM_COUNT; i++) {
        int code;
        PCRE2_SIZE at;

        r->codes[i] = pcre2_compile((PCRE2_SPTR)forms[i].pattern, PCRE2_ZERO_TERMINATED,
                                    PCRE2_ANCHORED | PCRE2_ENDANCHORED, &code, &at, NULL);
        if (!r->codes[i]) {
            wfs_yaml_resolver_free(r);
            return NULL;
        }
    }
    return r;
}

void wfs_yaml_resolver_free(struct wfs_yaml_resolver *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < FORM_COUNT; i++)
        pcre2_code_free(r->codes[i]);
    free(r);
}

static bool matches(const pcre2_code *code, const char *text, size_t len)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int r = data ? pcre2_match(code, (PCRE2_SPTR)text, len, 0, 0, data, NULL) : -1;

    pcre2_match_data_free(data);
    return r >= 0;
}

/* The form of a plain scalar, or FORM_COUNT for a string. */
static enum form form_of(const struct wfs_yaml_resolver *r, const char *text, size_t len)
{
    for (size_t i = 0; i < FORM_COUNT; i++) {
        bool asked = len == 0 ? i == FORM_NULL : strchr(forms[i].first, text[0]) != NULL;

        if (asked && matches(r->codes[i], text, len))
            return (enum form)i;
    }
    return FORM_COUNT;
}

static int set_bool(struct wfs_yaml_node *node)
{
    static const char *const words[] = { "no", "yes", "false", "true", "off", "on" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(node->text, words[i]) == 0) {
            node->kind = WFS_YAML_BOOL;
            node->i = i & 1;
            return 0;
        }
    }
    return -EINVAL;
}

/* text without underscores and sign; NULL: no memory. */
static char *digits_of(const char *text, bool *ret_negative)
{
    char *copy = strdup(text), *to = copy;

    for (const char *p = text; copy && *p; p++) {
        if (*p != '_')
            *to++ = *p;
    }
    if (!copy)
        return NULL;
    *to = '\0';
    *ret_negative = copy[0] == '-';
    if (copy[0] == '-' || copy[0] == '+')
        memmove(copy, copy + 1, strlen(copy));
    return copy;
}

/* Python's int(text, base) of ASCII digits. False where it raises. *ret_big: it does not fit. */
static bool parse_int(const char *text, int base, uint64_t *ret, bool *ret_big)
{
    char *end;

    if (text[0] == '\0' || !strchr("0123456789abcdefABCDEF", text[0]))
        return false;
    errno = 0;
    *ret = strtoull(text, &end, base);
    *ret_big |= errno == ERANGE;
    return *end == '\0';
}

static bool parse_sexagesimal(char *text, uint64_t *ret, bool *ret_big)
{
    char *save = NULL;

    *ret = 0;
    for (char *part = strtok_r(text, ":", &save); part; part = strtok_r(NULL, ":", &save)) {
        uint64_t v;

        if (!parse_int(part, 10, &v, ret_big))
            return false;
        *ret_big |= __builtin_mul_overflow(*ret, 60, ret) || __builtin_add_overflow(*ret, v, ret);
    }
    return true;
}

static int set_int(struct wfs_yaml_node *node)
{
    bool negative = false, big = false, ok;
    char *text = digits_of(node->text, &negative);
    uint64_t v = 0;

    if (!text)
        return -ENOMEM;
    if (strncmp(text, "0b", 2) == 0)
        ok = parse_int(text + 2, 2, &v, &big);
    else if (strncmp(text, "0x", 2) == 0)
        ok = parse_int(text + 2, 16, &v, &big);
    else if (text[0] == '0' && text[1])
        ok = parse_int(text, 8, &v, &big);
    else if (strchr(text, ':'))
        ok = parse_sexagesimal(text, &v, &big);
    else
        ok = parse_int(text, 10, &v, &big);
    free(text);
    if (!ok)
        return -EINVAL;
    node->kind = big || v > INT64_MAX ? WFS_YAML_BIG : WFS_YAML_INT;
    node->i = node->kind == WFS_YAML_INT ? (negative ? -(int64_t)v : (int64_t)v) : 0;
    return 0;
}

static int set_float(struct wfs_yaml_node *node)
{
    bool negative = false;
    char *text = digits_of(node->text, &negative), *save = NULL, *end = NULL;
    double v = 0;

    if (!text)
        return -ENOMEM;
    if (strcasecmp(text, ".inf") == 0) {
        v = INFINITY;
    } else if (strcasecmp(text, ".nan") == 0) {
        v = NAN;
    } else if (strchr(text, ':')) {
        for (char *part = strtok_r(text, ":", &save); part; part = strtok_r(NULL, ":", &save))
            v = v * 60 + strtod(part, NULL);
    } else {
        v = strtod(text, &end);
    }
    if (end && (end == text || *end)) {
        free(text);
        return -EINVAL;
    }
    free(text);
    node->kind = WFS_YAML_FLOAT;
    node->f = negative ? -v : v;
    return 0;
}

/* datetime raises for what is no date; the pattern has made sure of the shape. */
static int set_date(struct wfs_yaml_node *node)
{
    static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    unsigned long n[6] = { 0 };
    const char *p = node->text;
    char *end;
    unsigned long last;
    bool leap;

    for (size_t i = 0; i < 6 && *p; i++) {
        n[i] = strtoul(p, &end, 10);
        p = end;
        if (i >= 5 || !*p)
            break;
        while (*p && !strchr("0123456789", *p))
            p++;
    }
    if (n[0] == 0 || n[1] < 1 || n[1] > 12)
        return -EINVAL;
    leap = (n[0] % 4 == 0 && n[0] % 100 != 0) || n[0] % 400 == 0;
    last = days[n[1] - 1] + (n[1] == 2 && leap ? 1u : 0u);
    if (n[2] < 1 || n[2] > last || n[3] > 23 || n[4] > 59 || n[5] > 59)
        return -EINVAL;
    node->kind = WFS_YAML_DATE;
    return 0;
}

static int set_value(struct wfs_yaml_node *node, enum form form, bool *ret_merge, bool *ret_value,
                     const char **ret_reason)
{
    int r = 0;

    switch (form) {
    case FORM_BOOL:
        r = set_bool(node);
        break;
    case FORM_FLOAT:
        r = set_float(node);
        break;
    case FORM_INT:
        r = set_int(node);
        break;
    case FORM_TIMESTAMP:
        r = set_date(node);
        break;
    case FORM_NULL:
        node->kind = WFS_YAML_NULL;
        break;
    case FORM_MERGE:
        *ret_merge = true;
        break;
    case FORM_VALUE:
        *ret_value = true;
        break;
    case FORM_COUNT:
        break;
    }
    if (r == -EINVAL)
        *ret_reason = form == FORM_TIMESTAMP ? "no such date" : "not a value of its type";
    return r;
}

int wfs_yaml_resolve(const struct wfs_yaml_resolver *r, const char *tag, bool plain, struct wfs_yaml_node *node,
                     size_t len, bool *ret_merge, bool *ret_value, const char **ret_reason)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    enum form form = FORM_COUNT;

    *ret_merge = *ret_value = false;
    node->kind = WFS_YAML_STRING;
    if (!tag)
        return plain ? set_value(node, form_of(r, node->text, len), ret_merge, ret_value, ret_reason) : 0;
    if (strncmp(tag, prefix, sizeof prefix - 1) == 0) {
        tag += sizeof prefix - 1;
        if (strcmp(tag, "str") == 0)
            return 0;
        for (size_t i = 0; i < FORM_COUNT; i++) {
            if (strcmp(tag, forms[i].tag) == 0)
                form = (enum form)i;
        }
    }
    if (form == FORM_COUNT || form == FORM_TIMESTAMP) {
        *ret_reason = "a tag that is not supported";
        return -ENOTSUP;
    }
    if ((form == FORM_INT || form == FORM_FLOAT) && !matches(r->codes[form], node->text, len)) {
        *ret_reason = "a tagged number that is not supported";
        return -ENOTSUP;
    }
    return set_value(node, form, ret_merge, ret_value, ret_reason);
}
