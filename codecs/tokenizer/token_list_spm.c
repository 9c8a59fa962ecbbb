#include "../base/cleanup.h"
#include "kv_text.h"
#include "pyjson.h"
#include "sentencepiece.h"
#include "special.h"
#include "token_list.h"
#include "vocab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* One token; text is in the model, in a JSON document or in the list's own room. */
struct token {
    const char *text; /* NULL = "[PADi]" */
    uint32_t len;
    float score;
    uint32_t type; /* of enum wfs_token_type; the numbers of SentencePiece are the same */
    bool plain;    /* U+2581 is written as a space */
};

struct list {
    struct token *tokens; /* owned */
    int64_t n;
};

/*
 * The token of an id, counted from the end when negative, as Python does; NULL beyond the end (left out by the
 * converter).
 */
static int find_token(struct list *list, int64_t id, const char *file, struct token **ret, struct wfs_error *err)
{
    *ret = NULL;
    if (id >= list->n)
        return 0;
    if (id < -list->n)
        return wfs_error_set(err, EINVAL, "%s: the id %lld is out of range", file, (long long)id);
    *ret = &list->tokens[id < 0 ? id + list->n : id];
    return 0;
}

static void set_text(struct token *t, const char *text)
{
    t->text = text;
    t->len = (uint32_t)strlen(text);
    t->score = -1000.0f;
    t->plain = false;
}

static int apply_added_tokens(struct list *list, const cJSON *added, struct wfs_error *err)
{
    for (const cJSON *o = added ? added->child : NULL; o; o = o->next) {
        struct token *t;
        int64_t id;
        int r;

        if (!wfs_json_i64(o, &id))
            return wfs_error_set(err, EINVAL, "added_tokens.json: the id of '%s' is not an integer", o->string);
        r = find_token(list, id, "added_tokens.json", &t, err);
        if (r < 0)
            return r;
        if (!t)
            continue;
        set_text(t, o->string);
        t->type = WFS_TOKEN_USER_DEFINED;
    }
    return 0;
}

static int apply_decoder(struct list *list, const cJSON *decoder, struct wfs_error *err)
{
    const char *file = "tokenizer_config.json: added_tokens_decoder";

    if (decoder && !cJSON_IsObject(decoder))
        return wfs_error_set(err, EINVAL, "%s is not an object", file);
    for (const cJSON *o = decoder ? decoder->child : NULL; o; o = o->next) {
        const char *text = wfs_json_string(wfs_json_get(o, "content"));
        struct token *t;
        int64_t id;
        int r;

        if (!wfs_py_int(o->string, &id) || !text)
            return wfs_error_set(err, EINVAL, "%s: '%s' is no id, or has no content", file, o->string);
        r = find_token(list, id, file, &t, err);
        if (r < 0)
            return r;
        if (!t)
            continue;
        set_text(t, text);
        t->plain = !wfs_py_truthy(wfs_json_get(o, "special")) && !wfs_token_looks_special(text, strlen(text));
        t->type = t->plain ? WFS_TOKEN_USER_DEFINED : WFS_TOKEN_CONTROL;
    }
    return 0;
}

static void write_list(const struct list *list, struct wfs_kv_list *kv)
{
    struct wfs_buf tokens = WFS_BUF_INIT, scores = WFS_BUF_INIT, types = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf plain = WFS_BUF_INIT;
    char padding[32];

    for (int64_t i = 0; i < list->n; i++) {
        const struct token *t = &list->tokens[i];

        if (!t->text) {
            snprintf(padding, sizeof padding, "[PAD%lld]", (long long)i);
            wfs_kv_array_string(&tokens, padding, strlen(padding));
        } else if (t->plain) {
            plain.len = 0;
            wfs_token_put_plain(&plain, t->text, t->len);
            tokens.failed |= plain.failed;
            wfs_kv_put_text(&tokens, (const char *)plain.data, plain.len);
        } else {
            wfs_kv_put_text(&tokens, t->text, t->len);
        }
        wfs_buf_f32le(&scores, t->score);
        wfs_buf_u32le(&types, t->type);
    }
    wfs_kv_string(kv, "tokenizer.ggml.model", "llama", 5);
    wfs_kv_string(kv, "tokenizer.ggml.pre", "default", 7);
    wfs_kv_array(kv, "tokenizer.ggml.tokens", WFS_GGUF_STRING, (uint64_t)list->n, &tokens);
    wfs_kv_array(kv, "tokenizer.ggml.scores", WFS_GGUF_F32, (uint64_t)list->n, &scores);
    wfs_kv_array(kv, "tokenizer.ggml.token_type", WFS_GGUF_I32, (uint64_t)list->n, &types);
}

static void list_done(struct list *list)
{
    free(list->tokens);
}

static int make_list(struct list *list, int64_t vocab_size, const struct wfs_buf *pieces, struct wfs_error *err)
{
    const struct wfs_sentencepiece *p = (const void *)pieces->data;
    int64_t n_pieces = (int64_t)(pieces->len / sizeof *p);

    list->n = vocab_size > 0 ? vocab_size : n_pieces;
    if (list->n > WFS_VOCAB_MAX)
        return wfs_error_set(err, EFBIG, "config.json: vocab_size %lld is over the limit of %d", (long long)list->n,
                             WFS_VOCAB_MAX);
    list->tokens = calloc((size_t)list->n + 1, sizeof *list->tokens);
    if (!list->tokens)
        return wfs_error_nomem(err);
    for (int64_t i = 0; i < list->n; i++) {
        struct token *t = &list->tokens[i];

        if (i >= n_pieces) {
            t->score = -10000.0f;
            t->type = WFS_TOKEN_UNUSED;
            continue;
        }
        t->text = p[i].text;
        t->len = p[i].len;
        t->score = p[i].score;
        t->type = p[i].type == WFS_PIECE_USER_DEFINED ? WFS_TOKEN_NORMAL : (uint32_t)p[i].type;
    }
    return 0;
}

int wfs_token_list_sentencepiece(struct wfs_tokenizer_files *files, int64_t vocab_size, struct wfs_kv_list *kv,
                                 bool *ret_absent, uint64_t *ret_n_tokens, struct wfs_error *err)
{
    struct wfs_special_request special = { .eot_id = -1 };
    WFS_CLEANUP(wfs_blob_done) struct wfs_blob model = { NULL, 0 };
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf pieces = WFS_BUF_INIT;
    WFS_CLEANUP(list_done) struct list list = { NULL, 0 };
    const cJSON *added, *config;
    int r = files->folder->read(files->folder->ctx, "tokenizer.model", &model, err);

    *ret_absent = r == 0;
    if (r != 1)
        return r;
    r = wfs_sentencepiece_parse(model.data, model.len, &pieces, err);
    if (r == 0)
        r = make_list(&list, vocab_size, &pieces, err);
    if (r == 0)
        r = wfs_tokenizer_files_get(files, WFS_FILE_ADDED_TOKENS, &added, err);
    if (r == 0)
        r = apply_added_tokens(&list, added, err);
    if (r == 0)
        r = wfs_tokenizer_files_get(files, WFS_FILE_TOKENIZER_CONFIG, &config, err);
    if (r == 0)
        r = apply_decoder(&list, wfs_json_get(config, "added_tokens_decoder"), err);
    if (r < 0)
        return r;
    write_list(&list, kv);
    *ret_n_tokens = (uint64_t)list.n;
    special.n_vocab = list.n;
    return wfs_special_write(files, &special, kv, err);
}
