#include "pystr.h"
#include "../base/utf8.h"
#include "pystr_tables.h"

#include <stdlib.h>
#include <string.h>

static const char UTF8_NUL[] = "\xc0\x80";

void wfs_pystr_done(struct wfs_pystr *s)
{
    free(s->c);
    memset(s, 0, sizeof *s);
}

void wfs_pystr_add(struct wfs_pystr *s, uint32_t c)
{
    if (s->failed)
        return;
    if (s->len == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 64;
        uint32_t *grown = reallocarray(s->c, cap, sizeof *grown);

        if (!grown) {
            s->failed = true;
            return;
        }
        s->c = grown;
        s->cap = cap;
    }
    s->c[s->len++] = c;
}

void wfs_pystr_add_part(struct wfs_pystr *s, const uint32_t *c, size_t len)
{
    for (size_t i = 0; i < len; i++)
        wfs_pystr_add(s, c[i]);
}

void wfs_pystr_add_utf8(struct wfs_pystr *s, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        uint32_t c = 0;
        unsigned n = wfs_utf8_decode(text + at, len - at, &c);

        if (n == 0 && len - at >= 2 && memcmp(text + at, UTF8_NUL, 2) == 0) {
            n = 2;
            c = 0;
        }
        if (n == 0) {
            s->failed = true;
            return;
        }
        wfs_pystr_add(s, c);
        at += n;
    }
}

char *wfs_pystr_utf8(const uint32_t *c, size_t len)
{
    struct wfs_buf b = WFS_BUF_INIT;

    for (size_t i = 0; i < len; i++) {
        char bytes[4];
        unsigned n = wfs_utf8_encode(c[i], bytes);

        if (c[i] == 0)
            wfs_buf_str(&b, UTF8_NUL);
        else
            wfs_buf_put(&b, bytes, n);
    }
    return (char *)wfs_buf_steal(&b, NULL);
}

static bool in_ranges(const struct wfs_char_ranges *t, uint32_t c, uint32_t *ret_lo)
{
    size_t lo = 0, hi = t->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (c < t->ranges[mid].lo) {
            hi = mid;
        } else if (c > t->ranges[mid].hi) {
            lo = mid + 1;
        } else {
            if (ret_lo)
                *ret_lo = t->ranges[mid].lo;
            return true;
        }
    }
    return false;
}

/* Appends what c becomes. */
static void add_mapped(struct wfs_pystr *s, const struct wfs_char_map *map, uint32_t c)
{
    for (size_t i = 0; i < map->n_full; i++) {
        if (map->full[i].from == c) {
            for (size_t k = 0; k < 3 && map->full[i].to[k]; k++)
                wfs_pystr_add(s, map->full[i].to[k]);
            return;
        }
    }
    for (size_t i = 0; i < map->n_runs; i++) {
        const struct run *r = &map->runs[i];

        if (c >= r->lo && c <= r->hi && (c - r->lo) % r->step == 0) {
            wfs_pystr_add(s, (uint32_t)((int64_t)c + r->delta));
            return;
        }
    }
    wfs_pystr_add(s, c);
}

bool wfs_pychar_is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool wfs_pychar_is_alpha(uint32_t c)
{
    return in_ranges(&wfs_char_alpha, c, NULL);
}

bool wfs_pychar_is_word(uint32_t c)
{
    return c == '_' || in_ranges(&wfs_char_alnum, c, NULL);
}

bool wfs_pychar_is_decimal(uint32_t c, unsigned *ret_value)
{
    uint32_t lo;

    if (!in_ranges(&wfs_char_decimal, c, &lo))
        return false;
    if (ret_value)
        *ret_value = (c - lo) % 10; /* every range starts with a zero */
    return true;
}

bool wfs_pychar_is_letter(uint32_t c, char lower)
{
    if (c == (uint32_t)lower || c == (uint32_t)lower - 32)
        return true;
    return (lower == 'k' && c == 0x212a) || (lower == 's' && c == 0x17f) ||
           (lower == 'i' && (c == 0x130 || c == 0x131));
}

bool wfs_pystr_is_lower(const uint32_t *c, size_t len)
{
    bool any = false;

    for (size_t i = 0; i < len; i++) {
        if (in_ranges(&wfs_char_upper, c[i], NULL))
            return false;
        any |= in_ranges(&wfs_char_lower, c[i], NULL);
    }
    return any;
}

/* A capital sigma becomes a final one behind a letter and not before one; what is ignorable does not count. */
static bool sigma_is_final(const uint32_t *c, size_t len, size_t at)
{
    size_t before = at, after = at + 1;

    while (before > 0 && in_ranges(&wfs_char_ignorable, c[before - 1], NULL))
        before--;
    if (before == 0 || !in_ranges(&wfs_char_cased, c[before - 1], NULL))
        return false;
    while (after < len && in_ranges(&wfs_char_ignorable, c[after], NULL))
        after++;
    return after == len || !in_ranges(&wfs_char_cased, c[after], NULL);
}

static void add_lower(struct wfs_pystr *s, const uint32_t *c, size_t len, size_t at)
{
    enum { CAPITAL_SIGMA = 0x3a3, SIGMA = 0x3c3, FINAL_SIGMA = 0x3c2 };

    if (c[at] == CAPITAL_SIGMA)
        wfs_pystr_add(s, sigma_is_final(c, len, at) ? FINAL_SIGMA : SIGMA);
    else
        add_mapped(s, &wfs_char_to_lower, c[at]);
}

void wfs_pystr_add_title(struct wfs_pystr *s, const uint32_t *c, size_t len)
{
    bool inside = false;

    for (size_t i = 0; i < len; i++) {
        if (inside)
            add_lower(s, c, len, i);
        else
            add_mapped(s, &wfs_char_to_title, c[i]);
        inside = in_ranges(&wfs_char_cased, c[i], NULL);
    }
}

void wfs_pystr_add_lower(struct wfs_pystr *s, const uint32_t *c, size_t len)
{
    for (size_t i = 0; i < len; i++)
        add_lower(s, c, len, i);
}

void wfs_pystr_add_upper(struct wfs_pystr *s, const uint32_t *c, size_t len)
{
    for (size_t i = 0; i < len; i++)
        add_mapped(s, &wfs_char_to_upper, c[i]);
}
