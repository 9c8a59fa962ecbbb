#include "naming.h"
#include "../base/cleanup.h"
#include "pystr.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a part of a name is taken for; a part may be several. */
enum { BASENAME = 1, SIZE_LABEL = 2, FINETUNE = 4, VERSION = 8, TYPE = 16 };

struct part {
    struct wfs_pystr text;
    unsigned kinds;
};

struct parts {
    struct part *items;
    size_t n;
};

static void parts_done(struct parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        wfs_pystr_done(&p->items[i].text);
    free(p->items);
}

/* A matcher's place in a string. */
struct at {
    const uint32_t *c;
    size_t len, i;
};

static bool letter(struct at *at, char lower)
{
    if (at->i == at->len || !wfs_pychar_is_letter(at->c[at->i], lower))
        return false;
    at->i++;
    return true;
}

static bool word(struct at *at, const char *lower)
{
    size_t from = at->i;

    for (; *lower; lower++) {
        if (!letter(at, *lower)) {
            at->i = from;
            return false;
        }
    }
    return true;
}

static bool digit(struct at *at)
{
    if (at->i == at->len || !wfs_pychar_is_decimal(at->c[at->i], NULL))
        return false;
    at->i++;
    return true;
}

static bool digits(struct at *at)
{
    if (!digit(at))
        return false;
    while (digit(at))
        ;
    return true;
}

static bool ascii(struct at *at, char c)
{
    if (at->i == at->len || at->c[at->i] != (uint32_t)c)
        return false;
    at->i++;
    return true;
}

static bool at_end(const struct at *at)
{
    return at->i == at->len;
}

static struct at start(const struct wfs_pystr *s)
{
    return (struct at){ s->c, s->len, 0 };
}

/* \d+([.]\d+)* to the end. */
static bool number_rest(struct at *at)
{
    if (!digits(at))
        return false;
    while (ascii(at, '.')) {
        if (!digits(at))
            return false;
    }
    return at_end(at);
}

/* (v|iter)?\d+([.]\d+)* */
static bool is_version(const struct wfs_pystr *s)
{
    struct at at = start(s);

    if (!letter(&at, 'v'))
        word(&at, "iter");
    return number_rest(&at);
}

/* i?q\d(_\w)*|b?fp?(16|32) */
static bool is_type(const struct wfs_pystr *s)
{
    struct at at = start(s);

    letter(&at, 'i');
    if (letter(&at, 'q') && digit(&at)) {
        while (ascii(&at, '_')) {
            if (at_end(&at) || !wfs_pychar_is_word(at.c[at.i]))
                return false;
            at.i++;
        }
        return at_end(&at);
    }
    at = start(s);
    letter(&at, 'b');
    if (!letter(&at, 'f'))
        return false;
    letter(&at, 'p');
    return ((ascii(&at, '1') && ascii(&at, '6')) || (ascii(&at, '3') && ascii(&at, '2'))) && at_end(&at);
}

static bool is_word_of(const struct wfs_pystr *s, const char *const *words)
{
    for (; *words; words++) {
        struct at at = start(s);

        if (word(&at, *words) && at_end(&at))
            return true;
    }
    return false;
}

/* (([A]|\d+[x])?\d+([._]\d+)?[KMBT][\d]?|small|mini|medium|large|x?xl) */
static bool is_size(const struct wfs_pystr *s)
{
    static const char *const words[] = { "small", "mini", "medium", "large", "xl", "xxl", NULL };
    struct at at = start(s);

    if (is_word_of(s, words))
        return true;
    letter(&at, 'a');
    if (!digits(&at))
        return false;
    if (at.c[0] != 'a' && at.c[0] != 'A' && letter(&at, 'x') && !digits(&at))
        return false;
    if ((ascii(&at, '.') || ascii(&at, '_')) && !digits(&at))
        return false;
    if (!letter(&at, 'k') && !letter(&at, 'm') && !letter(&at, 'b') && !letter(&at, 't'))
        return false;
    digit(&at);
    return at_end(&at);
}

/* float(text) of what a size can leave: digits, perhaps a point and digits. False where Python raises. */
static bool to_float(const uint32_t *c, size_t len, double *ret)
{
    char *text = malloc(len + 1);
    bool point = false, ok = text != NULL && len > 0;

    for (size_t i = 0; i < len && ok; i++) {
        unsigned value;

        if (wfs_pychar_is_decimal(c[i], &value)) {
            text[i] = (char)('0' + value);
        } else {
            ok = c[i] == '.' && !point && i > 0 && i + 1 < len;
            point = true;
            text[i] = '.';
        }
    }
    if (ok) {
        text[len] = '\0';
        *ret = strtod(text, NULL);
    }
    free(text);
    return ok;
}

/* A size far from the real one is probably a context length: more than 7/8 of the parameters away. */
static bool is_far(double label, uint64_t total_params)
{
    return fabs(label - (double)total_params) > (double)(uint64_t)((unsigned __int128)total_params * 7 / 8);
}

static void annotate_size(struct part *p, uint64_t total_params)
{
    static const char suffixes[] = " KMBT";
    struct wfs_pystr *s = &p->text;
    uint32_t *last = &s->c[s->len - 1];
    double label;

    for (size_t i = 0; i < s->len; i++) {
        if (s->c[i] == '_')
            s->c[i] = '.';
    }
    /* bloom-7b1 is 7.1B */
    if (wfs_pychar_is_decimal(*last, NULL)) {
        uint32_t fraction = s->c[s->len - 1], suffix = s->c[s->len - 2];

        s->len -= 2;
        wfs_pystr_add(s, '.');
        wfs_pystr_add(s, fraction);
        wfs_pystr_add(s, suffix);
        if (s->failed)
            return;
        last = &s->c[s->len - 1];
    }
    if (s->len > 1 && wfs_pychar_is_decimal(s->c[s->len - 2], NULL) && *last < 128 && strchr("kmbt", (int)*last))
        *last -= 32;
    if (total_params != 0 && to_float(s->c, s->len - 1, &label)) {
        const char *found = *last < 128 ? strchr(suffixes, (int)*last) : NULL;

        label *= found ? pow(1000, (double)(found - suffixes)) : 0.001;
        if (is_far(label, total_params)) {
            uint32_t suffix = *last;

            p->kinds |= FINETUNE;
            s->len--;
            wfs_pystr_add_lower(s, &suffix, 1);
        }
    }
    if (p->kinds == 0)
        p->kinds |= SIZE_LABEL;
}

static void annotate(struct part *p, bool first, uint64_t total_params)
{
    static const char *const finetunes[] = { "chat", "instruct", "vision", "lora", NULL };

    if (is_version(&p->text)) {
        p->kinds |= VERSION;
    } else if (is_type(&p->text)) {
        struct wfs_pystr upper = WFS_PYSTR_INIT;

        p->kinds |= TYPE;
        wfs_pystr_add_upper(&upper, p->text.c, p->text.len);
        wfs_pystr_done(&p->text);
        p->text = upper;
    } else if (!first && is_size(&p->text)) {
        annotate_size(p, total_params);
    } else if (!first && is_word_of(&p->text, finetunes)) {
        p->kinds |= FINETUNE;
    }
}

static bool has_digit(const struct wfs_pystr *s)
{
    for (size_t i = 0; i < s->len; i++) {
        if (wfs_pychar_is_decimal(s->c[i], NULL))
            return true;
    }
    return false;
}

static bool is_all_alpha(const struct wfs_pystr *s)
{
    for (size_t i = 0; i < s->len; i++) {
        if (!wfs_pychar_is_alpha(s->c[i]))
            return false;
    }
    return true;
}

/* Sizes in words do not count next to one in numbers; then the parts at the start are the basename. */
static void annotate_rest(struct parts *parts)
{
    bool numbers = false, at_start = true;

    for (size_t i = 0; i < parts->n; i++)
        numbers |= (parts->items[i].kinds & SIZE_LABEL) && has_digit(&parts->items[i].text);
    for (size_t i = 0; i < parts->n && numbers; i++) {
        if ((parts->items[i].kinds & SIZE_LABEL) && is_all_alpha(&parts->items[i].text))
            parts->items[i].kinds &= ~(unsigned)SIZE_LABEL;
    }
    for (size_t i = 0; i < parts->n; i++) {
        struct part *p = &parts->items[i];

        if (at_start && ((p->kinds == 0 && wfs_pychar_is_alpha(p->text.c[0])) || (p->kinds & VERSION))) {
            p->kinds |= BASENAME;
            continue;
        }
        at_start = false;
        if (p->kinds == 0)
            p->kinds |= FINETUNE;
    }
    for (size_t i = parts->n; i-- > 0;) {
        struct part *p = &parts->items[i];

        if (!(p->kinds & BASENAME) || p->kinds == BASENAME)
            break;
        p->kinds &= ~(unsigned)BASENAME;
    }
}

static bool seen_before(const struct parts *parts, size_t at, unsigned kind)
{
    const struct wfs_pystr *s = &parts->items[at].text;

    for (size_t i = 0; i < at; i++) {
        const struct wfs_pystr *o = &parts->items[i].text;

        if ((parts->items[i].kinds & kind) && o->len == s->len && memcmp(o->c, s->c, s->len * sizeof *s->c) == 0)
            return true;
    }
    return false;
}

/* "-".join of the parts that are kind and not but_not, or NULL when that is empty. */
static int join(const struct parts *parts, unsigned kind, unsigned but_not, bool once, char **ret)
{
    struct wfs_pystr out = WFS_PYSTR_INIT;
    bool first = true;

    *ret = NULL;
    for (size_t i = 0; i < parts->n; i++) {
        const struct part *p = &parts->items[i];

        if (!(p->kinds & kind) || (p->kinds & but_not) || (once && seen_before(parts, i, kind)))
            continue;
        if (!first)
            wfs_pystr_add(&out, '-');
        wfs_pystr_add_part(&out, p->text.c, p->text.len);
        out.failed |= p->text.failed;
        first = false;
    }
    if (!out.failed && out.len)
        *ret = wfs_pystr_utf8(out.c, out.len);
    first = out.failed || (out.len && !*ret);
    wfs_pystr_done(&out);
    return first ? -ENOMEM : 0;
}

/* name.split("-") without the empty parts. */
static int split(const uint32_t *c, size_t len, struct parts *ret)
{
    size_t n = 1;

    for (size_t i = 0; i < len; i++)
        n += c[i] == '-';
    ret->items = calloc(n, sizeof *ret->items);
    if (!ret->items)
        return -ENOMEM;
    for (size_t from = 0, to; from < len; from = to + 1) {
        for (to = from; to < len && c[to] != '-'; to++)
            ;
        if (to > from)
            wfs_pystr_add_part(&ret->items[ret->n++].text, c + from, to - from);
    }
    for (size_t i = 0; i < ret->n; i++) {
        if (ret->items[i].text.failed)
            return -ENOMEM;
    }
    return 0;
}

static int find_parts(const uint32_t *c, size_t len, uint64_t total_params, struct wfs_model_id *id)
{
    WFS_CLEANUP(parts_done) struct parts parts = { NULL, 0 };
    int r = split(c, len, &parts);

    if (r < 0)
        return r;
    for (size_t i = 0; i < parts.n; i++)
        annotate(&parts.items[i], i == 0, total_params);
    for (size_t i = 0; i < parts.n; i++) {
        if (parts.items[i].text.failed)
            return -ENOMEM;
    }
    annotate_rest(&parts);
    r = join(&parts, BASENAME, 0, false, &id->basename);
    if (r == 0)
        r = join(&parts, SIZE_LABEL, 0, true, &id->size_label);
    if (r == 0)
        r = join(&parts, FINETUNE, 0, false, &id->finetune);
    if (r == 0)
        r = join(&parts, VERSION, BASENAME, false, &id->version);
    if (!id->size_label && !id->finetune && !id->version) {
        free(id->basename);
        id->basename = NULL;
    }
    return r;
}

static int split_id(const struct wfs_pystr *s, uint64_t total_params, struct wfs_model_id *id)
{
    size_t slash = 0, name = 0;
    bool sentence = false;

    for (size_t i = 0; i < s->len; i++)
        sentence |= s->c[i] == ' ';
    while (slash < s->len && s->c[slash] != '/')
        slash++;
    if (!sentence && slash < s->len) {
        name = slash + 1;
        if (slash == 0 || s->c[0] != '.') {
            id->organization = wfs_pystr_utf8(s->c, slash);
            if (!id->organization)
                return -ENOMEM;
        }
    }
    id->name = wfs_pystr_utf8(s->c ? s->c + name : NULL, s->len - name);
    if (!id->name)
        return -ENOMEM;
    return sentence ? 0 : find_parts(s->c ? s->c + name : NULL, s->len - name, total_params, id);
}

int wfs_naming_split(const char *id, uint64_t total_params, struct wfs_model_id *ret)
{
    WFS_CLEANUP(wfs_pystr_done) struct wfs_pystr s = WFS_PYSTR_INIT;
    struct wfs_model_id out = { NULL, NULL, NULL, NULL, NULL, NULL };
    int r;

    wfs_pystr_add_utf8(&s, id, strlen(id));
    if (s.failed)
        return -EINVAL;
    r = split_id(&s, total_params, &out);
    if (r < 0)
        wfs_model_id_done(&out);
    else
        *ret = out;
    return r;
}

void wfs_model_id_done(struct wfs_model_id *id)
{
    free(id->name);
    free(id->organization);
    free(id->basename);
    free(id->finetune);
    free(id->version);
    free(id->size_label);
    memset(id, 0, sizeof *id);
}

/* ^(v\d+(?:\.\d+)*|\d.*)$ with nothing ignored */
static bool keeps_case(const uint32_t *c, size_t len)
{
    struct at at = { c, len, 0 };

    if (ascii(&at, 'v'))
        return number_rest(&at);
    return digit(&at);
}

char *wfs_naming_title(const char *text)
{
    WFS_CLEANUP(wfs_pystr_done) struct wfs_pystr s = WFS_PYSTR_INIT;
    WFS_CLEANUP(wfs_pystr_done) struct wfs_pystr out = WFS_PYSTR_INIT;

    wfs_pystr_add_utf8(&s, text, strlen(text));
    for (size_t from = 0, to; from < s.len; from = to + 1) {
        for (to = from; to < s.len && s.c[to] != '-' && !wfs_pychar_is_space(s.c[to]); to++)
            ;
        if (to == from)
            continue;
        if (out.len)
            wfs_pystr_add(&out, ' ');
        if (wfs_pystr_is_lower(s.c + from, to - from) && !keeps_case(s.c + from, to - from))
            wfs_pystr_add_title(&out, s.c + from, to - from);
        else
            wfs_pystr_add_part(&out, s.c + from, to - from);
    }
    return s.failed || out.failed ? NULL : wfs_pystr_utf8(out.c, out.len);
}

void wfs_naming_size_label(uint64_t total_params, char ret[static WFS_SIZE_LABEL_BYTES])
{
    static const struct {
        double above, scale;
        char suffix;
    } units[] = { { 1e12, 1e-12, 'T' }, { 1e9, 1e-9, 'B' }, { 1e6, 1e-6, 'M' }, { -1, 1e-3, 'K' } };
    char rounded[32];
    size_t u = 0;
    double scaled;
    int n;

    while ((double)total_params <= units[u].above)
        u++;
    scaled = (double)total_params * units[u].scale;
    n = snprintf(rounded, sizeof rounded, "%.0f", scaled); /* round() of Python: half to even */
    if (strcmp(rounded, "0") == 0)
        n = 0; /* its zero is stripped */
    snprintf(ret, WFS_SIZE_LABEL_BYTES, "%.*f%c", n < 2 ? 2 - n : 0, scaled, units[u].suffix);
}
