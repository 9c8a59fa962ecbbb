#include "hf.h"
#include "../base/cleanup.h"
#include "../base/utf8.h"
#include "byte_level.h"
#include "normalize.h"
#include "pyjson.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void wfs_hf_init(struct wfs_hf *hf)
{
    memset(hf, 0, sizeof *hf);
    wfs_bpe_init(&hf->bpe);
    wfs_added_init(&hf->added);
}

void wfs_hf_done(struct wfs_hf *hf)
{
    wfs_bpe_done(&hf->bpe);
    wfs_added_done(&hf->added);
    wfs_splitter_free(hf->splitter);
    hf->splitter = NULL;
    wfs_buf_done(&hf->specials);
}

bool wfs_hf_id(const struct wfs_hf *hf, const char *token, uint32_t *ret)
{
    const struct wfs_added_token *t = wfs_added_find(&hf->added, token, strlen(token));

    if (t)
        *ret = t->id;
    return t || wfs_vocab_find(&hf->bpe.vocab, token, strlen(token), ret);
}

/* The library wants every member of an added token. */
static int load_added_tokens(struct wfs_hf *hf, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf tokens = WFS_BUF_INIT;
    const cJSON *list = wfs_json_get(hf->json, "added_tokens");
    size_t n = 0;

    if (!list)
        return 0;
    if (!cJSON_IsArray(list))
        return wfs_error_set(err, EINVAL, "tokenizer.json: added_tokens is not a list");
    for (const cJSON *o = list->child; o; o = o->next, n++) {
        struct wfs_added_token t = { .content = wfs_json_string(wfs_json_get(o, "content")) };
        uint64_t id;

        if (!t.content || !wfs_json_u64(wfs_json_get(o, "id"), &id) || id > UINT32_MAX)
            return wfs_error_set(err, EINVAL,
                                 "tokenizer.json: added_tokens: number %zu has no content, or no 32-bit id", n);
        if (strstr(t.content, "\xc0\x80"))
            return wfs_error_set(err, ENOTSUP, "tokenizer.json: added_tokens: a NUL in number %zu", n);
        for (size_t i = 0; i < WFS_ADDED_N_FLAGS; i++) {
            const cJSON *v = wfs_json_get(o, wfs_added_flags[i].key);

            if (!cJSON_IsBool(v))
                return wfs_error_set(err, EINVAL, "tokenizer.json: added_tokens: '%s' has no boolean %s", t.content,
                                     wfs_added_flags[i].key);
            t.flags |= cJSON_IsTrue(v) ? wfs_added_flags[i].flag : 0;
        }
        if (strlen(t.content) > WFS_ADDED_MAX_LEN || n > WFS_ADDED_MAX)
            return wfs_error_set(err, EFBIG, "tokenizer.json: added_tokens: more than %d, or one of more than %d bytes",
                                 WFS_ADDED_MAX, WFS_ADDED_MAX_LEN);
        t.len = (uint32_t)strlen(t.content);
        wfs_buf_put(&tokens, &t, sizeof t);
    }
    if (tokens.failed)
        return wfs_error_nomem(err);
    return wfs_added_add(&hf->added, &hf->bpe.vocab, (const void *)tokens.data, n, err);
}

int wfs_hf_load(struct wfs_hf *hf, struct wfs_tokenizer_files *files, struct wfs_error *err)
{
    int r = wfs_tokenizer_files_get(files, WFS_FILE_TOKENIZER, &hf->json, err);

    if (r < 0)
        return r;
    if (!hf->json)
        return wfs_error_set(err, ENOENT, "no tokenizer.json");
    r = wfs_bpe_load(&hf->bpe, wfs_json_get(hf->json, "model"), err);
    if (r == 0)
        r = load_added_tokens(hf, err);
    if (r == 0)
        r = wfs_hf_apply_class(hf, files, err);
    if (r == 0)
        r = wfs_hf_check_parts(hf->json, err);
    if (r == 0)
        r = wfs_added_build(&hf->added, wfs_json_get(hf->json, "normalizer"), err);
    return r;
}

static int normalize_pieces(const struct wfs_hf *hf, struct wfs_pieces *pieces, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_pieces_done) struct wfs_pieces next = WFS_PIECES_INIT;
    const cJSON *normalizer = wfs_json_get(hf->json, "normalizer");

    for (size_t i = 0; i < wfs_pieces_count(pieces); i++) {
        const struct wfs_piece *p = wfs_pieces_get(pieces, i);
        const char *text = wfs_pieces_text(pieces, p);
        struct wfs_piece n = { next.text.len, 0, WFS_PIECE_TEXT };
        int r;

        if (p->id != WFS_PIECE_TEXT) {
            wfs_pieces_add(&next, text, p->len, p->id);
            continue;
        }
        r = wfs_normalize(normalizer, text, p->len, &next.text, err);
        if (r < 0)
            return r;
        n.len = next.text.len - n.at;
        if (n.len)
            wfs_buf_put(&next.list, &n, sizeof n);
    }
    if (wfs_pieces_failed(&next))
        return wfs_error_nomem(err);
    wfs_pieces_replace(pieces, &next);
    return 0;
}

/* From the pieces to ids: the words among them in one call, then everything in order. */
static int encode_pieces(struct wfs_hf *hf, const struct wfs_pieces *pieces, struct wfs_buf *ids,
                         struct wfs_error *err)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf word_ids = WFS_BUF_INIT;
    size_t n = wfs_pieces_count(pieces), n_words = 0, from = 0;
    WFS_CLEANUP(wfs_free) struct wfs_text *words = malloc((n + 1) * sizeof *words);
    WFS_CLEANUP(wfs_free) size_t *ends = malloc((n + 1) * sizeof *ends);
    int r = 0;

    if (!words || !ends)
        return wfs_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const struct wfs_piece *p = wfs_pieces_get(pieces, i);

        if (p->id == WFS_PIECE_TEXT)
            words[n_words++] = (struct wfs_text){ wfs_pieces_text(pieces, p), p->len };
    }
    if (n_words)
        r = wfs_bpe_encode(&hf->bpe, words, n_words, &word_ids, ends, &hf->work, err);
    if (r < 0)
        return r;
    n_words = 0;
    for (size_t i = 0; i < n; i++) {
        const struct wfs_piece *p = wfs_pieces_get(pieces, i);
        uint32_t id = (uint32_t)p->id;

        if (p->id == WFS_PIECE_TEXT) {
            wfs_buf_put(ids, word_ids.data + from * sizeof id, (ends[n_words] - from) * sizeof id);
            from = ends[n_words++];
        } else {
            wfs_buf_put(ids, &id, sizeof id);
        }
    }
    return ids->failed ? wfs_error_nomem(err) : 0;
}

static bool put_ids(const cJSON *list, struct wfs_buf *out)
{
    if (!cJSON_IsArray(list))
        return false;
    for (const cJSON *v = list->child; v; v = v->next) {
        uint64_t id;
        uint32_t id32;

        if (!wfs_json_u64(v, &id) || id > UINT32_MAX)
            return false;
        id32 = (uint32_t)id;
        wfs_buf_put(out, &id32, sizeof id32);
    }
    return true;
}

static int apply_template(const cJSON *o, const struct wfs_buf *ids, struct wfs_buf *out, struct wfs_error *err)
{
    const cJSON *single = wfs_json_get(o, "single"), *specials = wfs_json_get(o, "special_tokens");

    if (!cJSON_IsArray(single))
        return wfs_error_set(err, EINVAL, "tokenizer.json: post_processor: a template without 'single'");
    for (const cJSON *piece = single->child; piece; piece = piece->next) {
        const char *sequence = wfs_json_string(wfs_json_get(wfs_json_get(piece, "Sequence"), "id"));
        const char *special = wfs_json_string(wfs_json_get(wfs_json_get(piece, "SpecialToken"), "id"));

        if (sequence && strcmp(sequence, "A") == 0)
            wfs_buf_put(out, ids->data, ids->len);
        else if (!special || !put_ids(wfs_json_get(wfs_json_get(specials, special), "ids"), out))
            return wfs_error_set(err, EINVAL,
                                 "tokenizer.json: post_processor: a template that names '%s', which has no ids",
                                 special ? special : "a sequence");
    }
    return 0;
}

/* [cls] text [sep], from pairs of a token and its id. */
static int apply_pair(const cJSON *o, const struct wfs_buf *ids, struct wfs_buf *out, struct wfs_error *err)
{
    static const char *const keys[] = { "cls", "sep" };

    for (int i = 0; i < 2; i++) {
        const cJSON *pair = wfs_json_get(o, keys[i]);
        const cJSON *number = cJSON_IsArray(pair) && pair->child ? pair->child->next : NULL;
        uint64_t id;
        uint32_t id32;

        if (!wfs_json_u64(number, &id) || id > UINT32_MAX)
            return wfs_error_set(err, EINVAL, "tokenizer.json: post_processor: no id for %s", keys[i]);
        id32 = (uint32_t)id;
        if (i == 1)
            wfs_buf_put(out, ids->data, ids->len);
        wfs_buf_put(out, &id32, sizeof id32);
    }
    return 0;
}

/* One step; *adds counts those that put something around the text: the library cannot stack them. */
static int post_process(const cJSON *o, unsigned *adds, struct wfs_buf *ids, struct wfs_error *err)
{
    const char *type = wfs_json_string(wfs_json_get(o, "type"));
    const cJSON *parts = wfs_json_get(o, "processors");
    struct wfs_buf out = WFS_BUF_INIT;
    int r = 0;

    if (!type)
        return wfs_error_set(err, EINVAL, "tokenizer.json: post_processor: an object without a type");
    if (strcmp(type, "ByteLevel") == 0)
        return 0;
    if (strcmp(type, "Sequence") == 0) {
        if (!cJSON_IsArray(parts) || *adds >= 100)
            return wfs_error_set(err, EINVAL, "tokenizer.json: post_processor: a Sequence without a list");
        *adds += 100; /* no Sequence within a Sequence */
        for (const cJSON *part = parts->child; part && r == 0; part = part->next)
            r = post_process(part, adds, ids, err);
        return r;
    }
    if (++*adds % 100 > 1)
        return wfs_error_set(err, ENOTSUP, "tokenizer.json: post_processor: two that put tokens around the text");
    if (strcmp(type, "TemplateProcessing") == 0)
        r = apply_template(o, ids, &out, err);
    else if (strcmp(type, "RobertaProcessing") == 0 || strcmp(type, "BertProcessing") == 0)
        r = apply_pair(o, ids, &out, err);
    else
        r = wfs_error_set(err, ENOTSUP, "tokenizer.json: a post_processor of type '%s' is not supported", type);
    out.failed |= ids->failed;
    wfs_buf_done(ids);
    *ids = out;
    return r;
}

static int add_specials(const struct wfs_hf *hf, struct wfs_buf *ids, struct wfs_error *err)
{
    const cJSON *post = wfs_json_get(hf->json, "post_processor");
    struct wfs_buf out = WFS_BUF_INIT;
    unsigned adds = 0;

    if (!hf->own_template)
        return wfs_py_is_none(post) ? 0 : post_process(post, &adds, ids, err);
    if (hf->add_bos)
        wfs_buf_put(&out, &hf->bos_id, sizeof hf->bos_id);
    wfs_buf_put(&out, ids->data, ids->len);
    if (hf->add_eos)
        wfs_buf_put(&out, &hf->eos_id, sizeof hf->eos_id);
    wfs_buf_done(ids);
    *ids = out;
    return 0;
}

int wfs_hf_encode(struct wfs_hf *hf, const char *text, size_t len, bool add_special, struct wfs_buf *ids,
                  struct wfs_error *err)
{
    WFS_CLEANUP(wfs_pieces_done) struct wfs_pieces pieces = WFS_PIECES_INIT;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf mine = WFS_BUF_INIT;
    bool settled = true;
    int r;

    wfs_pieces_add(&pieces, text, len, WFS_PIECE_TEXT);
    if (wfs_pieces_failed(&pieces))
        return wfs_error_nomem(err);
    r = wfs_added_extract(&hf->added, false, hf->split_special, &pieces, err);
    for (size_t i = 0; r == 0 && i < wfs_pieces_count(&pieces); i++)
        settled &= wfs_pieces_get(&pieces, i)->id != WFS_PIECE_TEXT;
    if (r == 0 && !settled) {
        r = normalize_pieces(hf, &pieces, err);
        if (r == 0)
            r = wfs_added_extract(&hf->added, true, hf->split_special, &pieces, err);
        if (r == 0 && !hf->splitter)
            r = wfs_splitter_new(wfs_json_get(hf->json, "pre_tokenizer"), hf->prefix_space, &hf->splitter, err);
        if (r == 0)
            r = wfs_splitter_run(hf->splitter, &pieces, err);
    }
    if (r == 0)
        r = encode_pieces(hf, &pieces, &mine, err);
    if (r == 0 && add_special)
        r = add_specials(hf, &mine, err);
    if (r < 0)
        return r;
    wfs_buf_put(ids, mine.data, mine.len);
    return mine.failed || ids->failed ? wfs_error_nomem(err) : 0;
}

/*
 * How many bytes of an invalid sequence one replacement character stands for: those that a valid one could start with.
 */
static size_t invalid_len(const uint8_t *p, size_t len)
{
    uint8_t lo = 0x80, hi = 0xbf;
    size_t want = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2, n = 1;

    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 1;
    lo = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : lo;
    hi = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : hi;
    for (; n < want && n < len && p[n] >= lo && p[n] <= hi; n++) {
        lo = 0x80;
        hi = 0xbf;
    }
    return n;
}

/* Appends bytes as text: invalid UTF-8 becomes U+FFFD, as Rust's from_utf8_lossy has it. */
static void put_lossy(struct wfs_buf *out, const uint8_t *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t valid = wfs_utf8_check(bytes + at, len - at);

        wfs_buf_put(out, bytes + at, valid);
        at += valid;
        if (at < len) {
            wfs_buf_str(out, "\xef\xbf\xbd");
            at += invalid_len(bytes + at, len - at);
        }
    }
}

/* A token of which every character stands for a byte is these bytes; any other is its own text. */
static void put_token_bytes(struct wfs_buf *out, const char *token, size_t len)
{
    size_t start = out->len;
    uint32_t c;

    for (size_t at = 0; at < len;) {
        unsigned n = wfs_utf8_decode(token + at, len - at, &c);
        int byte = n ? wfs_byte_level_byte(c) : -1;

        if (byte < 0) {
            out->len = start;
            wfs_buf_put(out, token, len);
            return;
        }
        wfs_buf_u8(out, (uint8_t)byte);
        at += n;
    }
}

static void replace_all(struct wfs_buf *text, const char *from, const char *to)
{
    struct wfs_buf out = WFS_BUF_INIT;
    size_t n = strlen(from);

    for (size_t at = 0; at < text->len;) {
        if (text->len - at >= n && memcmp(text->data + at, from, n) == 0) {
            wfs_buf_str(&out, to);
            at += n;
        } else {
            wfs_buf_u8(&out, text->data[at++]);
        }
    }
    out.failed |= text->failed;
    wfs_buf_done(text);
    *text = out;
}

/* Source: clean_up_tokenization of transformers 4.57.6. */
static void clean_up(struct wfs_buf *text)
{
    static const char *const pairs[][2] = {
        { " .", "." },     { " ?", "?" },   { " !", "!" },   { " ,", "," },     { " ' ", "'" },
        { " n't", "n't" }, { " 'm", "'m" }, { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };

    if (!text->data || !memchr(text->data, ' ', text->len))
        return;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        replace_all(text, pairs[i][0], pairs[i][1]);
}

int wfs_hf_decode(const struct wfs_hf *hf, const uint32_t *ids, size_t n, struct wfs_buf *out, struct wfs_error *err)
{
    const cJSON *decoder = wfs_json_get(hf->json, "decoder");
    const char *type = wfs_json_string(wfs_json_get(decoder, "type"));
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf bytes = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf text = WFS_BUF_INIT;
    bool byte_level = type && strcmp(type, "ByteLevel") == 0;

    if (!wfs_py_is_none(decoder) && !byte_level)
        return wfs_error_set(err, ENOTSUP, "tokenizer.json: a decoder of type '%s' is not supported", type ? type : "");
    for (size_t i = 0; i < n; i++) {
        const struct wfs_added_token *added = wfs_added_by_id(&hf->added, ids[i]);
        size_t len = added ? added->len : 0;
        const char *token = added ? added->content : wfs_vocab_token(&hf->bpe.vocab, ids[i], &len);

        if (!token)
            continue;
        if (byte_level) {
            put_token_bytes(&bytes, token, len);
            continue;
        }
        if (i)
            wfs_buf_str(&bytes, " ");
        wfs_buf_put(&bytes, token, len);
    }
    put_lossy(&text, bytes.data, bytes.len);
    if (hf->clean_up)
        clean_up(&text);
    wfs_buf_put(out, text.data, text.len);
    return bytes.failed || text.failed || out->failed ? wfs_error_nomem(err) : 0;
}
