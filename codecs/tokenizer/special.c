#include "special.h"
#include "../base/cleanup.h"
#include "chat_template.h"
#include "kv_text.h"
#include "pyjson.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The types of special tokens, and under which keys they are written (some under none). */
enum type { BOS, EOS, UNK, SEP, PAD, CLS, MASK, PREFIX, SUFFIX, MIDDLE, EOT, EOM, N_TYPES };

static const struct {
    const char *name, *id_key, *add_key;
} types[N_TYPES] = {
    [BOS] = { "bos", "tokenizer.ggml.bos_token_id", "tokenizer.ggml.add_bos_token" },
    [EOS] = { "eos", "tokenizer.ggml.eos_token_id", "tokenizer.ggml.add_eos_token" },
    [UNK] = { "unk", "tokenizer.ggml.unknown_token_id", NULL },
    [SEP] = { "sep", "tokenizer.ggml.seperator_token_id", "tokenizer.ggml.add_sep_token" },
    [PAD] = { "pad", "tokenizer.ggml.padding_token_id", NULL },
    [CLS] = { "cls", NULL, NULL },
    [MASK] = { "mask", "tokenizer.ggml.mask_token_id", NULL },
    [PREFIX] = { "prefix", NULL, NULL },
    [SUFFIX] = { "suffix", NULL, NULL },
    [MIDDLE] = { "middle", NULL, NULL },
    [EOT] = { "eot", "tokenizer.ggml.eot_token_id", NULL },
    [EOM] = { "eom", "tokenizer.ggml.eom_token_id", NULL },
};

enum { NORMALIZER_UNSET = -1, MAX_NESTING = 16 };

struct special {
    const struct wfs_special_request *request;
    const cJSON *tokenizer, *config; /* NULL = no such file */
    bool has_config;                 /* config is there and not empty */
    enum type order[N_TYPES];        /* the types looked at */
    size_t n_types;
    const cJSON *token[N_TYPES]; /* what stands for X_token of the config, as the template heuristics change it */
    enum type ids_order[N_TYPES], add_order[N_TYPES]; /* in order of discovery */
    size_t n_ids, n_add;
    int64_t ids[N_TYPES]; /* -1 = not set */
    bool add[N_TYPES];
    const cJSON *lowercase, *strip_accents; /* of the normalizer: a boolean; NULL = unset */
};

static void set_add(struct special *s, enum type type, bool value)
{
    size_t i = 0;

    while (i < s->n_add && s->add_order[i] != type)
        i++;
    if (i == s->n_add)
        s->add_order[s->n_add++] = type;
    s->add[type] = value;
}

static bool has_type(const struct special *s, enum type type)
{
    for (size_t i = 0; i < s->n_types; i++) {
        if (s->order[i] == type)
            return true;
    }
    return false;
}

/* Ids that are no integers are passed over, but booleans are integers in Python; the first id of a type counts. */
static int set_id(struct special *s, enum type type, const cJSON *value, const char *file, struct wfs_error *err)
{
    int64_t id = cJSON_IsTrue(value);

    if (!wfs_json_is_int(value) && !cJSON_IsBool(value))
        return 0;
    if (!cJSON_IsBool(value) && !wfs_json_i64(value, &id)) {
        uint64_t big;

        if (wfs_json_u64(value, &big) && s->request->n_vocab >= 0)
            return 0;
        id = -1;
    }
    if (id < 0)
        return wfs_error_set(err, EINVAL, "%s: the id of the %s token is negative or too large", file,
                             types[type].name);
    if ((s->request->n_vocab >= 0 && id >= s->request->n_vocab) || s->ids[type] >= 0)
        return 0;
    if (id > UINT32_MAX && types[type].id_key)
        return wfs_error_set(err, EINVAL, "%s: the id of the %s token, %lld, does not fit 32 bits", file,
                             types[type].name, (long long)id);
    s->ids[type] = id;
    s->ids_order[s->n_ids++] = type;
    return 0;
}

/* Source: _parse_normalizer */
static void read_normalizer(struct special *s, const cJSON *normalizer, unsigned nesting)
{
    static const cJSON yes = { .type = cJSON_True };
    const char *type = wfs_json_string(wfs_json_get(normalizer, "type"));
    const cJSON *v;

    if (!type || nesting == MAX_NESTING)
        return;
    if (strcmp(type, "Lowercase") == 0)
        s->lowercase = &yes;
    else if (strcmp(type, "StripAccents") == 0)
        s->strip_accents = &yes;
    if (strcmp(type, "BertNormalizer") == 0) {
        s->lowercase = (v = wfs_json_get(normalizer, "lowercase")) ? v : s->lowercase;
        s->strip_accents = (v = wfs_json_get(normalizer, "strip_accents")) ? v : s->strip_accents;
    }
    if (strcmp(type, "Sequence") == 0) {
        v = wfs_json_get(normalizer, "normalizers");
        for (v = v ? v->child : NULL; v; v = v->next)
            read_normalizer(s, v, nesting + 1);
    }
}

static const cJSON *first(const cJSON *list)
{
    return list ? list->child : NULL;
}

static const cJSON *last(const cJSON *list)
{
    const cJSON *v = first(list);

    while (v && v->next)
        v = v->next;
    return v;
}

static size_t length(const cJSON *list)
{
    size_t n = 0;

    for (const cJSON *v = first(list); v; v = v->next)
        n++;
    return n;
}

static const cJSON *piece_id(const cJSON *piece, const char *kind)
{
    const cJSON *id = wfs_json_get(wfs_json_get(piece, kind), "id");

    return wfs_py_truthy(id) ? id : NULL;
}

static bool is_one_of(const cJSON *v, const cJSON *a, const cJSON *b)
{
    return wfs_py_equal(v, a) || wfs_py_equal(v, b);
}

/* The current values of the four tokens that the heuristics know (they may differ from what the config then says). */
struct known {
    const cJSON *bos, *cls, *eos, *sep;
};

static void read_roberta(struct special *s, const cJSON *processor, struct known *k)
{
    const cJSON *cls = wfs_json_get(processor, "cls"), *sep = wfs_json_get(processor, "sep");

    set_add(s, BOS, true);
    set_add(s, EOS, true);
    set_add(s, SEP, true);
    if (!wfs_py_truthy(k->cls) && s->has_config)
        s->token[CLS] = k->cls = cls ? first(cls) : k->bos;
    if (!wfs_py_truthy(k->sep) && s->has_config)
        s->token[SEP] = k->sep = sep ? first(sep) : k->eos;
}

/* A leading special token makes add_bos. Returns it, NULL when there is none. */
static const cJSON *read_leading(struct special *s, const cJSON *single, struct known *k)
{
    const cJSON *token = piece_id(first(single), "SpecialToken");

    if (!token)
        return NULL;
    if (!s->has_config) {
        k->bos = token;
    } else if (!is_one_of(token, k->bos, k->cls)) {
        if (!wfs_py_truthy(k->bos))
            s->token[BOS] = k->bos = token;
        if (!wfs_py_truthy(k->cls))
            s->token[CLS] = k->cls = token;
    }
    set_add(s, BOS, is_one_of(token, k->bos, k->cls));
    return token;
}

/* A trailing special token becomes eos, and the eos of the config eot (or eom). */
static const cJSON *read_trailing(struct special *s, const cJSON *single, struct known *k)
{
    const cJSON *token = piece_id(last(single), "SpecialToken");

    if (!token)
        return NULL;
    if (!s->has_config) {
        k->eos = token;
    } else if (!wfs_py_equal(token, k->eos)) {
        enum type type = !has_type(s, EOT) ? EOT : EOM;

        if (!has_type(s, type)) {
            s->order[s->n_types++] = type;
            s->token[type] = k->eos;
        }
        s->token[EOS] = k->eos = token;
    }
    set_add(s, EOS, wfs_py_equal(token, k->eos));
    return token;
}

/* "A [sep] [eos] B" in the pair template decides add_sep. */
static void read_pair(struct special *s, const cJSON *pair, const cJSON *leading, const cJSON *trailing,
                      struct known *k)
{
    const cJSON *parts[4] = { NULL };
    size_t n = length(pair), from = 0, count = 0, i = 0;
    const char *a, *b;
    bool add = false;

    if (n == 0)
        return;
    if (leading && wfs_py_equal(wfs_json_get(wfs_json_get(first(pair), "SpecialToken"), "id"), leading))
        from = 1;
    if (trailing && wfs_py_equal(wfs_json_get(wfs_json_get(last(pair), "SpecialToken"), "id"), trailing))
        n--;
    if (n <= from)
        return;
    /* parts: the first, the two behind it, and the last */
    for (const cJSON *v = first(pair); v; v = v->next, i++) {
        if (i < from || i >= n)
            continue;
        if (count < 3)
            parts[count] = v;
        parts[3] = v;
        count++;
    }
    a = wfs_json_string(wfs_json_get(wfs_json_get(parts[0], "Sequence"), "id"));
    b = wfs_json_string(wfs_json_get(wfs_json_get(parts[3], "Sequence"), "id"));
    if (!a || !b || strcmp(a, "A") != 0 || strcmp(b, "B") != 0 || count < 3)
        return;
    for (i = 1; i < (count == 4 ? 3 : 2); i++) {
        const cJSON *token = piece_id(parts[i], "SpecialToken");

        if (token && is_one_of(token, k->sep, k->eos) && (i == 2 || !trailing))
            add = true;
    }
    set_add(s, SEP, add);
    if (add && !wfs_py_truthy(k->sep) && s->has_config)
        s->token[SEP] = k->eos;
}

static void read_processor(struct special *s, const cJSON *processor, struct known *k)
{
    const char *type = wfs_json_string(wfs_json_get(processor, "type"));
    const cJSON *single, *leading = NULL, *trailing = NULL;

    if (type && strcmp(type, "RobertaProcessing") == 0)
        read_roberta(s, processor, k);
    if (!type || strcmp(type, "TemplateProcessing") != 0)
        return;
    single = wfs_json_get(processor, "single");
    if (length(single) > 1) {
        leading = read_leading(s, single, k);
        trailing = read_trailing(s, single, k);
    }
    read_pair(s, wfs_json_get(processor, "pair"), leading, trailing, k);
}

static void read_post_processor(struct special *s)
{
    const cJSON *post = wfs_json_get(s->tokenizer, "post_processor");
    const cJSON *list = wfs_json_get(post, "processors");
    struct known k = { s->token[BOS], s->token[CLS], s->token[EOS], s->token[SEP] };

    if (!wfs_py_truthy(k.bos) && wfs_py_truthy(k.cls) && s->has_config)
        s->token[BOS] = k.bos = k.cls;
    if (!wfs_py_truthy(k.eos) && wfs_py_truthy(k.sep) && s->has_config)
        s->token[EOS] = k.eos = k.sep;
    if (!wfs_py_truthy(post))
        return;
    if (!list)
        read_processor(s, post, &k);
    for (const cJSON *p = first(list); p; p = p->next)
        read_processor(s, p, &k);
}

/* add_X_token and the ids of the tokens that the config names and tokenizer.json has among its added ones. */
static int read_config_tokens(struct special *s, struct wfs_error *err)
{
    const cJSON *added = wfs_json_get(s->tokenizer, "added_tokens");
    char key[32];

    for (size_t i = 0; i < s->n_types; i++) {
        enum type type = s->order[i];
        const cJSON *entry = s->token[type], *flag;
        const char *text;
        int r = 0;

        snprintf(key, sizeof key, "add_%s_token", types[type].name);
        flag = wfs_json_get(s->config, key);
        if (cJSON_IsBool(flag))
            set_add(s, type, cJSON_IsTrue(flag));
        text = wfs_json_string(cJSON_IsObject(entry) ? wfs_json_get(entry, "content") : entry);
        if (!text)
            continue;
        for (const cJSON *t = first(added); t; t = t->next) {
            const char *content = wfs_json_string(wfs_json_get(t, "content"));

            if (content && strcmp(content, text) == 0) {
                r = set_id(s, type, wfs_json_get(t, "id"), "tokenizer.json", err);
                break;
            }
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_model_config(struct special *s, const cJSON *config, struct wfs_error *err)
{
    const cJSON *text = wfs_json_get(config, "text_config");
    char key[32];

    for (size_t i = 0; i < s->n_types && config; i++) {
        const cJSON *id;
        int r;

        snprintf(key, sizeof key, "%s_token_id", types[s->order[i]].name);
        id = wfs_json_get(config, key);
        if (wfs_py_is_none(id) && text)
            id = wfs_json_get(text, key);
        r = set_id(s, s->order[i], id, "config.json", err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A half of a merge with U+0120 for each space, so that the space between the halves is the only one. */
static void put_half(struct wfs_buf *out, const char *half)
{
    for (; *half; half++) {
        if (*half == ' ')
            wfs_buf_str(out, "\xc4\xa0");
        else
            wfs_buf_u8(out, (uint8_t)*half);
    }
}

/* Merges are strings "a b" or pairs; which, the first tells. Source: _try_load_from_tokenizer_json */
static int write_merges(const struct special *s, struct wfs_tokenizer_files *files, struct wfs_kv_list *kv,
                        struct wfs_error *err)
{
    const cJSON *merges = wfs_json_get(wfs_json_get(s->tokenizer, "model"), "merges");
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf items = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf joined = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_blob_done) struct wfs_blob blob = { NULL, 0 };
    bool pairs = cJSON_IsArray(first(merges));
    uint64_t n = 0;

    if (!cJSON_IsArray(merges) || !merges->child) {
        int r = files->folder->read(files->folder->ctx, "merges.txt", &blob, err);

        return r == 1 ? wfs_error_set(err, ENOTSUP, "merges.txt beside a tokenizer.json without merges") : r;
    }
    wfs_buf_reserve(&items, 6u << 20);
    for (const cJSON *m = merges->child; m; m = m->next, n++) {
        const char *left = wfs_json_string(pairs ? first(m) : m);
        const char *right = pairs ? wfs_json_string(first(m) ? first(m)->next : NULL) : "";

        if (!left || !right || (pairs && length(m) != 2))
            return wfs_error_set(err, EINVAL, "tokenizer.json: model.merges: number %llu is not like the first",
                                 (unsigned long long)n);
        if (!pairs) {
            wfs_kv_put_text(&items, left, strlen(left));
            continue;
        }
        joined.len = 0;
        put_half(&joined, left);
        wfs_buf_u8(&joined, ' ');
        put_half(&joined, right);
        if (joined.failed)
            return wfs_error_set(err, ENOMEM, "out of memory");
        wfs_kv_put_text(&items, (const char *)joined.data, joined.len);
    }
    wfs_kv_array(kv, "tokenizer.ggml.merges", WFS_GGUF_STRING, n, &items);
    return 0;
}

static int write_normalizer(struct wfs_kv_list *kv, const char *key, const cJSON *value, struct wfs_error *err)
{
    if (wfs_py_is_none(value))
        return 0;
    if (!cJSON_IsBool(value))
        return wfs_error_set(err, EINVAL, "tokenizer.json: normalizer: a flag that is no boolean");
    wfs_kv_bool(kv, key, cJSON_IsTrue(value));
    return 0;
}

static void choose_types(struct special *s)
{
    static const enum type usual[] = { BOS, EOS, UNK, SEP, PAD, CLS, MASK };
    static const enum type infill[] = { PREFIX, SUFFIX, MIDDLE, EOT };

    s->n_types = s->request->infill ? 4 : 7;
    memcpy(s->order, s->request->infill ? infill : usual, s->n_types * sizeof *s->order);
    for (int t = 0; t < N_TYPES; t++) {
        char key[32];

        snprintf(key, sizeof key, "%s_token", types[t].name);
        s->token[t] = wfs_json_get(s->config, key);
        s->ids[t] = -1;
    }
}

int wfs_special_write(struct wfs_tokenizer_files *files, const struct wfs_special_request *request,
                      struct wfs_kv_list *kv, struct wfs_error *err)
{
    struct special s = { .request = request };
    const cJSON *config = NULL;
    int r = wfs_tokenizer_files_get(files, WFS_FILE_TOKENIZER, &s.tokenizer, err);

    if (r == 0)
        r = wfs_tokenizer_files_get(files, WFS_FILE_TOKENIZER_CONFIG, &s.config, err);
    if (r == 0)
        r = wfs_tokenizer_files_get(files, WFS_FILE_CONFIG, &config, err);
    if (r < 0)
        return r;
    s.has_config = s.config && s.config->child;
    choose_types(&s);
    if (s.tokenizer && s.tokenizer->child) {
        read_normalizer(&s, wfs_json_get(s.tokenizer, "normalizer"), 0);
        read_post_processor(&s);
    }
    if (s.has_config)
        r = read_config_tokens(&s, err);
    if (r == 0)
        r = read_model_config(&s, config, err);
    if (r == 0 && request->load_merges)
        r = write_merges(&s, files, kv, err);
    if (r < 0)
        return r;
    if (request->eot_id >= 0 && s.ids[EOT] < 0) {
        s.ids[EOT] = request->eot_id;
        s.ids_order[s.n_ids++] = EOT;
    }
    for (size_t i = 0; i < s.n_ids; i++) {
        if (types[s.ids_order[i]].id_key)
            wfs_kv_u32(kv, types[s.ids_order[i]].id_key, (uint32_t)s.ids[s.ids_order[i]]);
    }
    for (size_t i = 0; i < s.n_add; i++) {
        if (types[s.add_order[i]].add_key)
            wfs_kv_bool(kv, types[s.add_order[i]].add_key, s.add[s.add_order[i]]);
    }
    if (s.has_config)
        r = wfs_chat_template_write(files, s.config, kv, err);
    if (r == 0)
        r = write_normalizer(kv, "tokenizer.ggml.normalizer.lowercase", s.lowercase, err);
    if (r == 0)
        r = write_normalizer(kv, "tokenizer.ggml.normalizer.strip_accents", s.strip_accents, err);
    return r;
}
