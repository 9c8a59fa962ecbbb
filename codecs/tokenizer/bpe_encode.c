#include "../base/cleanup.h"
#include "../base/utf8.h"
#include "bpe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
    GONE = UINT32_MAX,
    MAX_WORK = 1 << 25, /* parts of words looked up: about a second; a test text needs some thousand */
};

/*
 * The merges that can matter for the words of one call, by their pair. A big model has hundreds of thousands of merges
 * and a test text needs a few hundred, so looking for these beats a table of all.
 */
struct pair_slot {
    uint64_t pair; /* left << 32 | right */
    uint32_t rank; /* and 1; 0 = free */
};

struct encoder {
    const struct wfs_bpe *bpe;
    uint64_t *wanted; /* owned; a bit for each id */
    bool want_all;
    struct pair_slot *slots; /* owned */
    size_t mask;
    struct wfs_buf symbols, heap; /* of the word at work */
};

struct symbol {
    uint32_t id;
    uint32_t len; /* bytes; 0 = merged into the one before */
    uint32_t prev, next; /* GONE = none */
};

/* The next merge is the one of least rank, of those the first in the word. */
struct candidate {
    uint32_t rank, pos, result;
};

static void encoder_done(struct encoder *e)
{
    free(e->wanted);
    free(e->slots);
    wfs_buf_done(&e->symbols);
    wfs_buf_done(&e->heap);
}

static unsigned char_len(const char *text, size_t len)
{
    unsigned n = wfs_utf8_decode(text, len, NULL);

    return n ? n : 1;
}

static void want(struct encoder *e, uint32_t id)
{
    e->wanted[id / 64] |= (uint64_t)1 << id % 64;
}

static bool wanted(const struct encoder *e, uint32_t id)
{
    return e->want_all || (e->wanted[id / 64] >> id % 64 & 1);
}

/*
 * Marks every token that is part of a word. A symbol that is no such part (unk, a byte) can only be met with all
 * merges.
 */
static int want_parts(struct encoder *e, const struct wfs_text *word, size_t *work, struct wfs_error *err)
{
    const struct wfs_vocab *v = &e->bpe->vocab;
    size_t n;

    for (size_t from = 0; from < word->len; from += n) {
        uint32_t id;

        n = char_len(word->at + from, word->len - from);
        for (size_t to = from + n; to - from <= v->max_len;) {
            if (wfs_vocab_find(v, word->at + from, to - from, &id))
                want(e, id);
            else if (to == from + n)
                e->want_all = true;
            if (++*work > MAX_WORK)
                return wfs_error_set(err, EFBIG,
                                     "tokenizer.json: the added tokens and the test text are too long to encode");
            if (to == word->len)
                break;
            to += char_len(word->at + to, word->len - to);
        }
    }
    return 0;
}

static struct pair_slot *find_pair(const struct encoder *e, uint32_t left, uint32_t right)
{
    uint64_t pair = (uint64_t)left << 32 | right;

    for (size_t i = XXH3_64bits_withSeed(&pair, sizeof pair, e->bpe->vocab.seed) & e->mask;; i = (i + 1) & e->mask) {
        if (e->slots[i].rank == 0 || e->slots[i].pair == pair)
            return &e->slots[i];
    }
}

static int collect_merges(struct encoder *e, struct wfs_error *err)
{
    const struct wfs_bpe *bpe = e->bpe;
    size_t count = 0, n_slots = 16;

    for (size_t i = 0; i < bpe->n_merges; i++)
        count += wanted(e, bpe->merges[i].left) && wanted(e, bpe->merges[i].right);
    while (n_slots < count * 2)
        n_slots *= 2;
    e->mask = n_slots - 1;
    e->slots = calloc(n_slots, sizeof *e->slots);
    if (!e->slots)
        return wfs_error_set(err, ENOMEM, "tokenizer.json: out of memory");
    for (size_t i = 0; i < bpe->n_merges; i++) {
        const struct wfs_bpe_merge *m = &bpe->merges[i];
        struct pair_slot *s;

        if (!wanted(e, m->left) || !wanted(e, m->right))
            continue;
        s = find_pair(e, m->left, m->right);
        s->pair = (uint64_t)m->left << 32 | m->right;
        s->rank = (uint32_t)i + 1; /* of equal pairs the last counts */
    }
    return 0;
}

static void add_symbol(struct encoder *e, uint32_t id, size_t len)
{
    struct symbol s = { id, (uint32_t)len, GONE, GONE };

    wfs_buf_put(&e->symbols, &s, sizeof s);
}

static bool add_byte_symbols(struct encoder *e, const char *text, size_t len)
{
    uint32_t ids[4];
    char name[8];

    for (size_t i = 0; i < len; i++) {
        snprintf(name, sizeof name, "<0x%02X>", (unsigned char)text[i]);
        if (!wfs_vocab_find(&e->bpe->vocab, name, 6, &ids[i]))
            return false;
    }
    for (size_t i = 0; i < len; i++)
        add_symbol(e, ids[i], 1);
    return true;
}

/*
 * One symbol for each character; what has no token becomes bytes, or unk (a run of them one unk when fused), or
 * nothing.
 */
static int first_symbols(struct encoder *e, const struct wfs_text *word, struct wfs_error *err)
{
    const struct wfs_bpe *bpe = e->bpe;
    size_t unk_len = 0, n;
    uint32_t id, unk = 0;

    e->symbols.len = 0;
    for (size_t at = 0; at < word->len; at += n) {
        n = char_len(word->at + at, word->len - at);
        if (wfs_vocab_find(&bpe->vocab, word->at + at, n, &id)) {
            if (unk_len)
                add_symbol(e, unk, unk_len);
            unk_len = 0;
            add_symbol(e, id, n);
            continue;
        }
        if (bpe->byte_fallback && add_byte_symbols(e, word->at + at, n))
            continue;
        if (!bpe->unk)
            continue;
        if (!wfs_vocab_find(&bpe->vocab, bpe->unk, strlen(bpe->unk), &unk))
            return wfs_error_set(err, EINVAL, "tokenizer.json: model.unk_token '%s' is not in the vocabulary",
                                 bpe->unk);
        if (unk_len && !bpe->fuse_unk) {
            add_symbol(e, unk, unk_len);
            unk_len = 0;
        }
        unk_len += n;
    }
    if (unk_len)
        add_symbol(e, unk, unk_len);
    return e->symbols.failed ? wfs_error_set(err, ENOMEM, "tokenizer.json: out of memory") : 0;
}

static bool before(const struct candidate *a, const struct candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->pos < b->pos;
}

static void push_pair(struct encoder *e, uint32_t pos)
{
    const struct symbol *symbols = (const void *)e->symbols.data;
    const struct pair_slot *s;
    struct candidate *heap, c;
    size_t i;

    if (symbols[pos].next == GONE)
        return;
    s = find_pair(e, symbols[pos].id, symbols[symbols[pos].next].id);
    if (s->rank == 0)
        return;
    c = (struct candidate){ s->rank, pos, e->bpe->merges[s->rank - 1].result };
    wfs_buf_put(&e->heap, &c, sizeof c);
    if (e->heap.failed)
        return;
    heap = (void *)e->heap.data;
    for (i = e->heap.len / sizeof c - 1; i > 0 && before(&c, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = c;
}

static bool pop_pair(struct encoder *e, struct candidate *ret)
{
    struct candidate *heap = (void *)e->heap.data, last;
    size_t n = e->heap.len / sizeof *heap, i = 0, child;

    if (n == 0)
        return false;
    *ret = heap[0];
    last = heap[--n];
    e->heap.len = n * sizeof *heap;
    while ((child = 2 * i + 1) < n) {
        if (child + 1 < n && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &last))
            break;
        heap[i] = heap[child];
        i = child;
    }
    if (n)
        heap[i] = last;
    return true;
}

/*
 * An entry of the heap may be out of date. The library then only asks whether the pair that stands there now makes the
 * same token, and merges at the rank of the old pair: so do we.
 */
static void merge_symbols(struct encoder *e)
{
    struct symbol *s = (void *)e->symbols.data;
    size_t n = e->symbols.len / sizeof *s;
    struct candidate top;

    for (size_t i = 0; i < n; i++) {
        s[i].prev = i ? (uint32_t)i - 1 : GONE;
        s[i].next = i + 1 < n ? (uint32_t)i + 1 : GONE;
    }
    e->heap.len = 0;
    for (size_t i = 0; i < n; i++)
        push_pair(e, (uint32_t)i);
    while (pop_pair(e, &top)) {
        struct symbol *left = &s[top.pos], *right;
        const struct pair_slot *now;

        if (left->len == 0 || left->next == GONE)
            continue;
        right = &s[left->next];
        now = find_pair(e, left->id, right->id);
        if (now->rank == 0 || e->bpe->merges[now->rank - 1].result != top.result)
            continue;
        left->id = top.result;
        left->len += right->len;
        left->next = right->next;
        right->len = 0;
        if (left->next != GONE)
            s[left->next].prev = top.pos;
        if (left->prev != GONE)
            push_pair(e, left->prev);
        push_pair(e, top.pos);
    }
}

static int encode_word(struct encoder *e, const struct wfs_text *word, struct wfs_buf *ids, struct wfs_error *err)
{
    const struct symbol *s;
    uint32_t id;
    int r;

    if (e->bpe->ignore_merges && wfs_vocab_find(&e->bpe->vocab, word->at, word->len, &id)) {
        wfs_buf_put(ids, &id, sizeof id);
        return 0;
    }
    r = first_symbols(e, word, err);
    if (r < 0)
        return r;
    merge_symbols(e);
    s = (const void *)e->symbols.data;
    for (size_t i = 0; i < e->symbols.len / sizeof *s; i++) {
        if (s[i].len)
            wfs_buf_put(ids, &s[i].id, sizeof s[i].id);
    }
    return ids->failed || e->heap.failed ? wfs_error_set(err, ENOMEM, "tokenizer.json: out of memory") : 0;
}

int wfs_bpe_encode(const struct wfs_bpe *bpe, const struct wfs_text *words, size_t n_words, struct wfs_buf *ids,
                   size_t *ends, size_t *work, struct wfs_error *err)
{
    WFS_CLEANUP(encoder_done) struct encoder e = { .bpe = bpe, .symbols = WFS_BUF_INIT, .heap = WFS_BUF_INIT };
    int r;

    e.wanted = calloc(bpe->vocab.n_ids / 64 + 1, sizeof *e.wanted);
    if (!e.wanted)
        return wfs_error_set(err, ENOMEM, "tokenizer.json: out of memory");
    for (size_t i = 0; i < n_words; i++) {
        r = want_parts(&e, &words[i], work, err);
        if (r < 0)
            return r;
    }
    r = collect_merges(&e, err);
    for (size_t i = 0; r == 0 && i < n_words; i++) {
        if (words[i].len)
            r = encode_word(&e, &words[i], ids, err);
        ends[i] = ids->len / sizeof(uint32_t);
    }
    return r;
}
