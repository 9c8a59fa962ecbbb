#include "added.h"
#include "../base/cleanup.h"
#include "../base/utf8.h"
#include "../json.h"
#include "normalize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct wfs_added_flag wfs_added_flags[WFS_ADDED_N_FLAGS] = {
    { "single_word", WFS_ADDED_SINGLE_WORD }, { "lstrip", WFS_ADDED_LSTRIP },   { "rstrip", WFS_ADDED_RSTRIP },
    { "normalized", WFS_ADDED_NORMALIZED },   { "special", WFS_ADDED_SPECIAL },
};

struct listed {
    uint32_t token;
    bool normalized;
};

enum { SPECIALS, OTHERS };

void wfs_added_init(struct wfs_added *a)
{
    memset(a, 0, sizeof *a);
    wfs_map_init(&a->by_content);
}

void wfs_added_done(struct wfs_added *a)
{
    wfs_buf_done(&a->tokens);
    wfs_map_done(&a->by_content);
    for (int i = 0; i < 2; i++) {
        wfs_buf_done(&a->listed[i]);
        wfs_buf_done(&a->patterns[i]);
    }
    wfs_buf_done(&a->normalized);
    wfs_regex_free(a->word);
    a->word = NULL;
    free(a->by_id);
    a->by_id = NULL;
}

size_t wfs_added_count(const struct wfs_added *a)
{
    return a->tokens.len / sizeof(struct wfs_added_token);
}

static struct wfs_added_token *token_at(const struct wfs_added *a, size_t i)
{
    return (struct wfs_added_token *)(void *)a->tokens.data + i;
}

const struct wfs_added_token *wfs_added_get(const struct wfs_added *a, size_t i)
{
    return token_at(a, i);
}

const struct wfs_added_token *wfs_added_find(const struct wfs_added *a, const char *content, size_t len)
{
    uint32_t i;

    return wfs_map_get(&a->by_content, content, len, &i) ? token_at(a, i) : NULL;
}

const struct wfs_added_token *wfs_added_by_id(const struct wfs_added *a, uint32_t id)
{
    if (!a->by_id || id > a->max_id || a->by_id[id] == 0)
        return NULL;
    return token_at(a, a->by_id[id] - 1);
}

/* The index of the token of this content; a new one has no id and no flags yet. */
static int intern(struct wfs_added *a, const struct wfs_added_token *t, uint32_t *ret, struct wfs_error *err)
{
    struct wfs_added_token fresh = { .content = t->content, .len = t->len };
    uint32_t next = (uint32_t)wfs_added_count(a);
    int r;

    if (next == WFS_ADDED_MAX || t->len > WFS_ADDED_MAX_LEN)
        return wfs_error_set(err, EFBIG, "tokenizer.json: more than %d added tokens, or one of more than %d bytes",
                             WFS_ADDED_MAX, WFS_ADDED_MAX_LEN);
    if (a->n_bytes > WFS_ADDED_MAX_BYTES)
        return wfs_error_set(err, EFBIG, "tokenizer.json: added tokens of more than %d bytes", WFS_ADDED_MAX_BYTES);
    r = wfs_map_add(&a->by_content, t->content, t->len, next, ret);
    if (r == 1) {
        a->n_bytes += t->len;
        wfs_buf_put(&a->tokens, &fresh, sizeof fresh);
        *ret = next;
    }
    return r < 0 || a->tokens.failed ? wfs_error_nomem(err) : 0;
}

static void list(struct wfs_added *a, int which, uint32_t token, unsigned flags)
{
    struct listed l = { token, (flags & WFS_ADDED_NORMALIZED) != 0 };

    wfs_buf_put(&a->listed[which], &l, sizeof l);
}

static int give_id(struct wfs_added *a, const struct wfs_vocab *vocab, struct wfs_added_token *t, uint32_t *next,
                   struct wfs_error *err)
{
    if (!wfs_vocab_find(vocab, t->content, t->len, &t->id)) {
        const char *other = wfs_vocab_token(vocab, *next, NULL);

        if (other)
            return wfs_error_set(err, EINVAL,
                                 "tokenizer.json: the added token '%s' gets the id %u that '%s' has; which of "
                                 "them the converter writes is not defined",
                                 t->content, *next, other);
        t->id = (*next)++;
    }
    a->max_id = t->id > a->max_id ? t->id : a->max_id;
    return 0;
}

int wfs_added_add(struct wfs_added *a, const struct wfs_vocab *vocab, const struct wfs_added_token *tokens, size_t n,
                  struct wfs_error *err)
{
    uint32_t next = vocab->n_tokens, i;
    int r;

    if (wfs_added_count(a) && a->max_id >= next)
        next = a->max_id + 1;
    for (size_t k = 0; k < wfs_added_count(a); k++)
        token_at(a, k)->seen = 1u << token_at(a, k)->flags;
    /* What is special in any of its forms counts as special from the start of the call. */
    for (size_t k = 0; k < n; k++) {
        if (tokens[k].len == 0 || !(tokens[k].flags & WFS_ADDED_SPECIAL))
            continue;
        r = intern(a, &tokens[k], &i, err);
        if (r < 0)
            return r;
        if (!token_at(a, i)->special)
            list(a, SPECIALS, i, tokens[k].flags);
        token_at(a, i)->special = true;
    }
    for (size_t k = 0; k < n; k++) {
        struct wfs_added_token *t;
        bool fresh;

        if (tokens[k].len == 0)
            continue;
        r = intern(a, &tokens[k], &i, err);
        if (r < 0)
            return r;
        t = token_at(a, i);
        fresh = t->seen == 0;
        if (t->seen & 1u << tokens[k].flags)
            continue;
        r = fresh ? give_id(a, vocab, t, &next, err) : 0;
        if (r < 0)
            return r;
        t->flags = tokens[k].flags;
        t->seen |= 1u << t->flags;
        if (!t->special)
            list(a, OTHERS, i, t->flags);
    }
    return a->listed[0].failed || a->listed[1].failed ? wfs_error_nomem(err) : 0;
}

static int compare_patterns(const void *va, const void *vb)
{
    const struct wfs_added_pattern *a = va, *b = vb;
    int c = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);

    if (c)
        return c;
    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* A normalized pattern gets its text when all are there: the buffer may still move. */
static int add_pattern(struct wfs_added *a, const struct listed *l, uint32_t order, const cJSON *normalizer,
                       struct wfs_error *err)
{
    const struct wfs_added_token *t = token_at(a, l->token);
    struct wfs_added_pattern p = { t->content, a->normalized.len, t->len, l->token, order };

    if (l->normalized) {
        int r = wfs_normalize(normalizer, t->content, t->len, &a->normalized, err);

        if (r < 0)
            return r;
        p.len = a->normalized.len - p.at;
        if (p.len == 0)
            return wfs_error_set(err, ENOTSUP, "tokenizer.json: the added token '%s' is empty when normalized",
                                 t->content);
    }
    wfs_buf_put(&a->patterns[l->normalized], &p, sizeof p);
    return 0;
}

int wfs_added_build(struct wfs_added *a, const cJSON *normalizer, struct wfs_error *err)
{
    uint32_t order = 0;
    bool words = false;

    for (int which = 0; which < 2; which++) {
        const struct listed *l = (const void *)a->listed[which].data;

        for (size_t i = 0; i < a->listed[which].len / sizeof *l; i++) {
            int r = add_pattern(a, &l[i], order++, normalizer, err);

            if (r < 0)
                return r;
        }
    }
    if (a->patterns[0].failed || a->patterns[1].failed)
        return wfs_error_nomem(err);
    for (int which = 0; which < 2; which++) {
        struct wfs_added_pattern *p = (void *)a->patterns[which].data;
        size_t n = a->patterns[which].len / sizeof *p;

        for (size_t i = 0; which == 1 && i < n; i++)
            p[i].text = (const char *)a->normalized.data + p[i].at;
        if (n)
            qsort(p, n, sizeof *p, compare_patterns);
    }
    a->by_id = calloc((size_t)a->max_id + 1, sizeof *a->by_id);
    if (!a->by_id)
        return wfs_error_nomem(err);
    for (size_t i = 0; i < wfs_added_count(a); i++) {
        a->by_id[token_at(a, i)->id] = (uint32_t)i + 1;
        words |= (token_at(a, i)->flags & WFS_ADDED_SINGLE_WORD) != 0;
    }
    return words ? wfs_regex_new("[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]", WFS_REGEX_PATTERN, &a->word,
                                 err)
                 : 0;
}

/* The end of the patterns from lo on, below hi, whose byte at depth is at most c. */
static size_t upper_bound(const struct wfs_added_pattern *p, size_t lo, size_t hi, size_t depth, unsigned char c)
{
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (p[mid].len > depth && (unsigned char)p[mid].text[depth] > c)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* The longest pattern that the text starts with, the first listed of equal ones; NULL when there is none. */
static const struct wfs_added_pattern *longest(const struct wfs_buf *patterns, const char *text, size_t len)
{
    const struct wfs_added_pattern *p = (const void *)patterns->data, *best = NULL;
    size_t lo = 0, hi = patterns->len / sizeof *p;

    for (size_t depth = 0; depth < len && lo < hi; depth++) {
        unsigned char c = (unsigned char)text[depth];

        /* Those that end here come first, and are too short from now on. */
        hi = upper_bound(p, lo, hi, depth, c);
        lo = c ? upper_bound(p, lo, hi, depth, (unsigned char)(c - 1)) : lo;
        while (lo < hi && p[lo].len <= depth)
            lo++;
        if (lo < hi && p[lo].len == depth + 1)
            best = &p[lo];
    }
    return best;
}

static bool is_space(const char *text, size_t len, unsigned *ret_len)
{
    uint32_t c;

    *ret_len = wfs_utf8_decode(text, len, &c);
    return *ret_len && ((c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
                        (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
                        c == 0x3000);
}

static size_t previous_character(const char *text, size_t at)
{
    do
        at--;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

static bool is_word(const struct wfs_added *a, const char *text, size_t len)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf matches = WFS_BUF_INIT;
    unsigned n = wfs_utf8_decode(text, len, NULL);

    return n && wfs_regex_find(a->word, text, n, &matches, NULL) == 0 && matches.len &&
           ((const struct wfs_match *)(const void *)matches.data)->matched;
}

static bool stands_alone(const struct wfs_added *a, const char *text, size_t len, size_t start, size_t stop)
{
    size_t before = start ? previous_character(text, start) : 0;

    return (start == 0 || !is_word(a, text + before, start - before)) &&
           (stop == len || !is_word(a, text + stop, len - stop));
}

static void extract(const struct wfs_added *a, bool normalized, bool split_special, const char *text, size_t len,
                    struct wfs_pieces *out)
{
    size_t done = 0;

    for (size_t at = 0; at < len;) {
        const struct wfs_added_pattern *p = longest(&a->patterns[normalized], text + at, len - at);
        const struct wfs_added_token *t;
        size_t start = at, stop;
        unsigned n;

        if (!p) {
            at++;
            continue;
        }
        at = stop = start + p->len;
        t = token_at(a, p->token);
        if ((split_special && t->special) ||
            (t->flags & WFS_ADDED_SINGLE_WORD && !stands_alone(a, text, len, start, stop)))
            continue;
        if (t->flags & WFS_ADDED_LSTRIP) {
            while (start > done && is_space(text + previous_character(text, start), len, &n))
                start = previous_character(text, start);
            /* White space that the token before has taken. */
            start = start < done ? (done < stop ? done : stop) : start;
        }
        if (t->flags & WFS_ADDED_RSTRIP) {
            while (stop < len && is_space(text + stop, len - stop, &n))
                stop += n;
        }
        if (done < start)
            wfs_pieces_add(out, text + done, start - done, WFS_PIECE_TEXT);
        wfs_pieces_add(out, text + start, stop - start, t->id);
        done = stop;
    }
    if (done < len)
        wfs_pieces_add(out, text + done, len - done, WFS_PIECE_TEXT);
}

int wfs_added_extract(const struct wfs_added *a, bool normalized, bool split_special, struct wfs_pieces *pieces,
                      struct wfs_error *err)
{
    WFS_CLEANUP(wfs_pieces_done) struct wfs_pieces next = WFS_PIECES_INIT;

    for (size_t i = 0; i < wfs_pieces_count(pieces); i++) {
        const struct wfs_piece *p = wfs_pieces_get(pieces, i);
        const char *text = wfs_pieces_text(pieces, p);

        if (p->id == WFS_PIECE_TEXT)
            extract(a, normalized, split_special, text, p->len, &next);
        else
            wfs_pieces_add(&next, text, p->len, p->id);
    }
    if (wfs_pieces_failed(&next))
        return wfs_error_nomem(err);
    wfs_pieces_replace(pieces, &next);
    return 0;
}
