#include "token_list.h"
#include "../base/cleanup.h"
#include "fingerprint.h"
#include "hf.h"
#include "kv_text.h"
#include "pyjson.h"
#include "special.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static bool starts(const char *text, size_t len, const char *with)
{
    return len >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, size_t len, const char *with)
{
    return len >= strlen(with) && memcmp(text + len - strlen(with), with, strlen(with)) == 0;
}

bool wfs_token_looks_special(const char *text, size_t len)
{
    static const char *const exact[] = { "<pad>", "<mask>", "<2mass>", "[@BOS@]" };
    /* The bars of the second pair are U+FF5C. */
    static const char *const around[][2] = { { "<|", "|>" },
                                             { "<\xef\xbd\x9c", "\xef\xbd\x9c>" },
                                             { "<unused", ">" } };

    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        if (len == strlen(exact[i]) && memcmp(text, exact[i], len) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        if (starts(text, len, around[i][0]) && ends(text, len, around[i][1]))
            return true;
    }
    return false;
}

void wfs_token_put_plain(struct wfs_buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        if (starts(text + i, len - i, "\xe2\x96\x81")) {
            wfs_buf_u8(out, ' ');
            i += 3;
        } else {
            wfs_buf_u8(out, (uint8_t)text[i++]);
        }
    }
}

static void put_padding(struct wfs_buf *tokens, struct wfs_buf *types, uint32_t id)
{
    char text[24];

    snprintf(text, sizeof text, "[PAD%u]", id);
    wfs_kv_array_string(tokens, text, strlen(text));
    wfs_buf_u32le(types, WFS_TOKEN_UNUSED);
}

/* An added token as get_vocab_base has it: what is not normalized is encoded and decoded once. */
static int put_added(struct wfs_hf *hf, const struct wfs_added_token *t, struct wfs_buf *tokens, struct wfs_buf *types,
                     struct wfs_error *err)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf ids = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf text = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf plain = WFS_BUF_INIT;
    int r = 0;

    if (t->flags & WFS_ADDED_NORMALIZED)
        wfs_buf_put(&text, t->content, t->len);
    else
        r = wfs_hf_encode(hf, t->content, t->len, false, &ids, err);
    if (r == 0 && !(t->flags & WFS_ADDED_NORMALIZED))
        r = wfs_hf_decode(hf, (const void *)ids.data, ids.len / sizeof(uint32_t), &text, err);
    if (r < 0)
        return wfs_error_wrap(err, "the added token '%s'", t->content);
    if (t->flags & WFS_ADDED_SPECIAL || wfs_token_looks_special((const char *)text.data, text.len)) {
        wfs_kv_array_string(tokens, (const char *)text.data, text.len);
        wfs_buf_u32le(types, WFS_TOKEN_CONTROL);
    } else {
        wfs_token_put_plain(&plain, (const char *)text.data, text.len);
        wfs_kv_array_string(tokens, (const char *)plain.data, plain.len);
        wfs_buf_u32le(types, WFS_TOKEN_USER_DEFINED);
    }
    return text.failed || plain.failed ? wfs_error_nomem(err) : 0;
}

static int find_pre(struct wfs_hf *hf, const char **ret, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf ids = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf patterns = WFS_BUF_INIT;
    char hash[WFS_FINGERPRINT_HASH_SIZE];
    int r = wfs_hf_encode(hf, WFS_FINGERPRINT_TEXT, WFS_FINGERPRINT_TEXT_LEN, true, &ids, err);

    if (r < 0)
        return wfs_error_wrap(err, "the pre-tokenizer cannot be told (option pretokenizer=NAME names one)");
    if (!wfs_fingerprint_hash((const void *)ids.data, ids.len / sizeof(uint32_t), hash))
        return wfs_error_nomem(err);
    *ret = wfs_fingerprint_name(hash);
    if (*ret)
        return 0;
    wfs_splitter_describe(wfs_json_get(hf->json, "pre_tokenizer"), &patterns);
    wfs_buf_u8(&patterns, 0);
    return patterns.failed ? wfs_error_nomem(err)
                           : wfs_error_set(err, ENOTSUP,
                                           "tokenizer.json: the converter knows no pre-tokenizer with the hash "
                                           "%s; option pretokenizer=NAME forces one; it splits by %s",
                                           hash, (const char *)patterns.data);
}

/* The size of the list, and that it holds every id. */
static int list_size(const struct wfs_hf *hf, int64_t vocab_size, uint32_t *ret, struct wfs_error *err)
{
    uint32_t max = hf->bpe.vocab.n_ids - 1, count = hf->bpe.vocab.n_tokens, id;

    for (size_t i = 0; i < wfs_added_count(&hf->added); i++) {
        const struct wfs_added_token *t = wfs_added_get(&hf->added, i);

        max = t->id > max ? t->id : max;
        count += !wfs_vocab_find(&hf->bpe.vocab, t->content, t->len, &id);
    }
    if (vocab_size < 0)
        vocab_size = count;
    if (max >= vocab_size)
        return wfs_error_set(err, EINVAL,
                             "tokenizer.json has a token with the id %u, but vocab_size of config.json is %lld "
                             "(the converter refuses that)",
                             max, (long long)vocab_size);
    if (vocab_size > WFS_VOCAB_MAX)
        return wfs_error_set(err, EFBIG, "config.json: vocab_size %lld is over the limit of %d", (long long)vocab_size,
                             WFS_VOCAB_MAX);
    *ret = (uint32_t)vocab_size;
    return 0;
}

static int fill_gpt2(struct wfs_hf *hf, uint32_t n, struct wfs_buf *tokens, struct wfs_buf *types,
                     struct wfs_error *err)
{
    for (uint32_t id = 0; id < n; id++) {
        const struct wfs_added_token *added = wfs_added_by_id(&hf->added, id);
        size_t len;
        const char *token = wfs_vocab_token(&hf->bpe.vocab, id, &len);
        int r;

        if (added) {
            r = put_added(hf, added, tokens, types, err);
            if (r < 0)
                return r;
        } else if (token) {
            wfs_kv_put_text(tokens, token, len);
            wfs_buf_u32le(types, WFS_TOKEN_NORMAL);
        } else {
            put_padding(tokens, types, id);
        }
    }
    return 0;
}

static void hf_done(struct wfs_hf *hf)
{
    wfs_hf_done(hf);
}

int wfs_token_list_gpt2(struct wfs_tokenizer_files *files, int64_t vocab_size, const char *force_pre,
                        struct wfs_kv_list *kv, uint64_t *ret_n_tokens, struct wfs_error *err)
{
    struct wfs_special_request special = { .load_merges = true, .n_vocab = -1, .eot_id = -1 };
    WFS_CLEANUP(hf_done) struct wfs_hf hf;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf tokens = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf types = WFS_BUF_INIT;
    const char *pre = force_pre;
    uint32_t n = 0;
    int r;

    wfs_hf_init(&hf);
    r = wfs_hf_load(&hf, files, err);
    if (r == 0)
        r = list_size(&hf, vocab_size, &n, err);
    if (r == 0 && !pre)
        r = find_pre(&hf, &pre, err);
    if (r < 0)
        return r;
    wfs_buf_reserve(&tokens, (size_t)n * 16);
    wfs_buf_reserve(&types, (size_t)n * 4);
    r = fill_gpt2(&hf, n, &tokens, &types, err);
    if (r < 0)
        return r;
    wfs_kv_string(kv, "tokenizer.ggml.model", "gpt2", 4);
    wfs_kv_string(kv, "tokenizer.ggml.pre", pre, strlen(pre));
    wfs_kv_array(kv, "tokenizer.ggml.tokens", WFS_GGUF_STRING, n, &tokens);
    wfs_kv_array(kv, "tokenizer.ggml.token_type", WFS_GGUF_I32, n, &types);
    *ret_n_tokens = n;
    return wfs_special_write(files, &special, kv, err);
}

/* Whether LlamaHfVocab takes the tokenizer.json. Missing members stop the converter; other kinds send it on. */
static int takes_llama_hf(const cJSON *json, bool *ret, struct wfs_error *err)
{
    const cJSON *model = wfs_json_get(json, "model"), *decoder = wfs_json_get(json, "decoder");
    const char *type = wfs_json_string(wfs_json_get(model, "type"));
    const char *decoder_type = wfs_json_string(wfs_json_get(decoder, "type"));

    *ret = false;
    if (!type)
        return wfs_error_set(err, EINVAL, "tokenizer.json: no model, or one without a type");
    if (strcmp(type, "BPE") != 0 || !wfs_py_truthy(wfs_json_get(model, "byte_fallback")))
        return 0;
    if (!decoder || (!cJSON_IsNull(decoder) && !decoder_type))
        return wfs_error_set(err, EINVAL, "tokenizer.json: no decoder, or one without a type");
    *ret = decoder_type && strcmp(decoder_type, "Sequence") == 0;
    return 0;
}

static bool is_byte_token(const char *text, size_t len)
{
    return len == 6 && memcmp(text, "<0x", 3) == 0 && isxdigit((unsigned char)text[3]) &&
           isxdigit((unsigned char)text[4]) && text[5] == '>';
}

/* Marks the ids of the special tokens, a bit for each id. */
static int special_ids(const struct wfs_hf *hf, uint64_t *bits, struct wfs_error *err)
{
    const char *const *specials = (const void *)hf->specials.data;

    for (size_t i = 0; i < hf->specials.len / sizeof *specials; i++) {
        uint32_t id;

        if (!wfs_hf_id(hf, specials[i], &id))
            return wfs_error_set(err, EINVAL, "the special token '%s' has no id", specials[i]);
        bits[id / 64] |= (uint64_t)1 << id % 64;
    }
    return 0;
}

static int compare_added(const void *va, const void *vb)
{
    const struct wfs_added_token *const *a = va, *const *b = vb;

    return (*a)->id < (*b)->id ? -1 : (*a)->id > (*b)->id;
}

static bool is_special(const uint64_t *bits, uint32_t id)
{
    return bits[id / 64] >> id % 64 & 1;
}

/* Tokens of the model by id, then the added ones beyond them: of these the special are control tokens. */
static int fill_llama_hf(const struct wfs_hf *hf, struct wfs_buf *tokens, struct wfs_buf *types, uint64_t *ret_n,
                         struct wfs_error *err)
{
    const struct wfs_vocab *v = &hf->bpe.vocab;
    size_t n_added = wfs_added_count(&hf->added), n = 0;
    uint32_t n_ids = v->n_ids > hf->added.max_id ? v->n_ids : hf->added.max_id + 1;
    WFS_CLEANUP(wfs_free) uint64_t *bits = calloc(n_ids / 64 + 1, sizeof *bits);
    WFS_CLEANUP(wfs_free) const struct wfs_added_token **order = malloc((n_added + 1) * sizeof *order);
    int r = bits && order ? special_ids(hf, bits, err) : wfs_error_nomem(err);

    for (uint32_t id = 0; r == 0 && id < v->n_tokens; id++) {
        size_t len;
        const char *text = wfs_vocab_token(v, id, &len);

        if (!text)
            return wfs_error_set(err, EINVAL, "tokenizer.json: model.vocab has no token with the id %u", id);
        wfs_kv_put_text(tokens, text, len);
        wfs_buf_u32le(types, is_byte_token(text, len) ? WFS_TOKEN_BYTE
                             : is_special(bits, id)   ? WFS_TOKEN_CONTROL
                                                      : WFS_TOKEN_NORMAL);
    }
    for (size_t i = 0; r == 0 && i < n_added; i++) {
        if (wfs_added_get(&hf->added, i)->id >= v->n_tokens)
            order[n++] = wfs_added_get(&hf->added, i);
    }
    if (r == 0 && n)
        qsort(order, n, sizeof *order, compare_added);
    for (size_t i = 0; r == 0 && i < n; i++) {
        wfs_kv_array_string(tokens, order[i]->content, order[i]->len);
        wfs_buf_u32le(types, is_special(bits, order[i]->id) ? WFS_TOKEN_CONTROL : WFS_TOKEN_USER_DEFINED);
    }
    *ret_n = v->n_tokens + n;
    return r;
}

int wfs_token_list_llama_hf(struct wfs_tokenizer_files *files, struct wfs_kv_list *kv, bool *ret_absent,
                            uint64_t *ret_n_tokens, struct wfs_error *err)
{
    struct wfs_special_request special = { .eot_id = -1 };
    WFS_CLEANUP(hf_done) struct wfs_hf hf;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf tokens = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf types = WFS_BUF_INIT;
    struct wfs_buf scores = WFS_BUF_INIT;
    const cJSON *json;
    bool takes = false;
    uint64_t n = 0;
    int r;

    wfs_hf_init(&hf);
    r = wfs_tokenizer_files_get(files, WFS_FILE_TOKENIZER, &json, err);
    if (r == 0 && json)
        r = takes_llama_hf(json, &takes, err);
    *ret_absent = !takes;
    if (r < 0 || !takes)
        return r;
    r = wfs_hf_load(&hf, files, err);
    if (r == 0)
        r = fill_llama_hf(&hf, &tokens, &types, &n, err);
    if (r < 0)
        return r;
    for (uint64_t i = 0; i < n; i++)
        wfs_buf_f32le(&scores, -1000.0f);
    wfs_kv_string(kv, "tokenizer.ggml.model", "llama", 5);
    wfs_kv_string(kv, "tokenizer.ggml.pre", "default", 7);
    wfs_kv_array(kv, "tokenizer.ggml.tokens", WFS_GGUF_STRING, n, &tokens);
    wfs_kv_array(kv, "tokenizer.ggml.scores", WFS_GGUF_F32, n, &scores);
    wfs_kv_array(kv, "tokenizer.ggml.token_type", WFS_GGUF_I32, n, &types);
    *ret_n_tokens = n;
    special.n_vocab = (int64_t)n;
    return wfs_special_write(files, &special, kv, err);
}
