#include "bpe.h"
#include "../base/cleanup.h"
#include "../json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void wfs_bpe_init(struct wfs_bpe *bpe)
{
    memset(bpe, 0, sizeof *bpe);
    wfs_vocab_init(&bpe->vocab);
}

void wfs_bpe_done(struct wfs_bpe *bpe)
{
    free(bpe->merges);
    wfs_vocab_done(&bpe->vocab);
    memset(bpe, 0, sizeof *bpe);
}

/* Finds the two halves of a merge: a pair, or a string with exactly one space. */
static bool merge_halves(const cJSON *merge, bool pairs, struct wfs_text half[2])
{
    const char *text = wfs_json_string(merge), *space;

    if (pairs) {
        const cJSON *left = cJSON_IsArray(merge) ? merge->child : NULL;
        const cJSON *right = left ? left->next : NULL;

        half[0].at = wfs_json_string(left);
        half[1].at = wfs_json_string(right);
        if (!half[0].at || !half[1].at || right->next)
            return false;
        half[0].len = strlen(half[0].at);
        half[1].len = strlen(half[1].at);
        return true;
    }
    space = text ? strchr(text, ' ') : NULL;
    if (!space || strchr(space + 1, ' '))
        return false;
    half[0] = (struct wfs_text){ text, (size_t)(space - text) };
    half[1] = (struct wfs_text){ space + 1, strlen(space + 1) };
    return true;
}

/*
 * The id of left and right put together. Vocabularies mostly list their tokens in the order of the merges, so the token
 * found last and the one behind it are tried before the table.
 */
static bool merged_id(const struct wfs_vocab *v, const struct wfs_text half[2], char *room, uint32_t *hint,
                      uint32_t *ret)
{
    size_t len = half[0].len + half[1].len, token_len;

    for (uint32_t id = *hint; id < *hint + 2; id++) {
        const char *token = wfs_vocab_token(v, id, &token_len);

        if (token && token_len == len && memcmp(token, half[0].at, half[0].len) == 0 &&
            memcmp(token + half[0].len, half[1].at, half[1].len) == 0) {
            *hint = *ret = id;
            return true;
        }
    }
    if (len > v->max_len)
        return false;
    memcpy(room, half[0].at, half[0].len);
    memcpy(room + half[0].len, half[1].at, half[1].len);
    if (!wfs_vocab_find(v, room, len, ret))
        return false;
    *hint = *ret;
    return true;
}

enum { BATCH = 64 };

/* Appends n merges (2 n halves). */
static int resolve_merges(struct wfs_bpe *bpe, const struct wfs_text *halves, size_t n, char *room, uint32_t *hint,
                          struct wfs_error *err)
{
    uint32_t ids[2 * BATCH];
    size_t found = wfs_vocab_find_all(&bpe->vocab, halves, 2 * n, ids), i = 0;

    for (; i < found / 2; i++) {
        struct wfs_bpe_merge *merge = &bpe->merges[bpe->n_merges];

        merge->left = ids[2 * i];
        merge->right = ids[2 * i + 1];
        if (!merged_id(&bpe->vocab, halves + 2 * i, room, hint, &merge->result))
            break;
        bpe->n_merges++;
    }
    if (i == n)
        return 0;
    return wfs_error_set(err, EINVAL,
                         "tokenizer.json: model.merges: number %zu ('%.100s'): its tokens or what they make "
                         "are not in the vocabulary",
                         bpe->n_merges, halves[2 * i].at);
}

static int load_merges(struct wfs_bpe *bpe, const cJSON *merges, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *room = malloc((size_t)bpe->vocab.max_len + 1);
    bool pairs = cJSON_IsArray(merges) && cJSON_IsArray(merges->child);
    uint32_t hint = 0;
    size_t count = 0;
    int r;

    if (!cJSON_IsArray(merges))
        return wfs_error_set(err, EINVAL, "tokenizer.json: model.merges is not a list");
    for (const cJSON *m = merges->child; m; m = m->next)
        count++;
    bpe->merges = malloc((count + 1) * sizeof *bpe->merges);
    if (!bpe->merges || !room)
        return wfs_error_nomem(err);
    for (const cJSON *m = merges->child; m;) {
        struct wfs_text halves[2 * BATCH];
        size_t n = 0;

        for (; m && n < BATCH; m = m->next) {
            /* A version line of a merges.txt may have come along. */
            if (!pairs && cJSON_IsString(m) && *m->valuestring == '#' &&
                strncmp(m->valuestring, "#version", 8) == 0)
                continue;
            if (!merge_halves(m, pairs, halves + 2 * n))
                return wfs_error_set(err, EINVAL, "tokenizer.json: model.merges: number %zu is not two tokens",
                                     bpe->n_merges + n);
            n++;
        }
        r = resolve_merges(bpe, halves, n, room, &hint, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int load_flag(const cJSON *model, const char *key, bool *ret, struct wfs_error *err)
{
    const cJSON *v = wfs_json_get(model, key);

    if (v && !cJSON_IsNull(v) && !cJSON_IsBool(v))
        return wfs_error_set(err, EINVAL, "tokenizer.json: model.%s is not a boolean", key);
    *ret = cJSON_IsTrue(v);
    return 0;
}

static int load_options(struct wfs_bpe *bpe, const cJSON *model, struct wfs_error *err)
{
    static const char *const affixes[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    const cJSON *unk = wfs_json_get(model, "unk_token");
    const cJSON *dropout = wfs_json_get(model, "dropout");
    double p = 0;

    if (load_flag(model, "fuse_unk", &bpe->fuse_unk, err) < 0 ||
        load_flag(model, "byte_fallback", &bpe->byte_fallback, err) < 0 ||
        load_flag(model, "ignore_merges", &bpe->ignore_merges, err) < 0)
        return -EINVAL;
    if (unk && !cJSON_IsNull(unk) && !cJSON_IsString(unk))
        return wfs_error_set(err, EINVAL, "tokenizer.json: model.unk_token is not a string");
    bpe->unk = wfs_json_string(unk);
    if (dropout && !cJSON_IsNull(dropout) && (!wfs_json_double(dropout, &p) || p != 0))
        return wfs_error_set(err, ENOTSUP, "tokenizer.json: model.dropout is set: the encoding is random");
    for (size_t i = 0; i < 2; i++) {
        const cJSON *value = wfs_json_get(model, affixes[i]);
        const char *affix = wfs_json_string(value);

        if (value && !affix && !cJSON_IsNull(value))
            return wfs_error_set(err, EINVAL, "tokenizer.json: model.%s is not a string", affixes[i]);
        if (affix && *affix)
            return wfs_error_set(err, ENOTSUP, "tokenizer.json: model.%s '%s' is not supported", affixes[i], affix);
    }
    return 0;
}

int wfs_bpe_load(struct wfs_bpe *bpe, const cJSON *model, struct wfs_error *err)
{
    const char *type = wfs_json_string(wfs_json_get(model, "type"));
    int r;

    if (wfs_json_get(model, "type") && !type)
        return wfs_error_set(err, EINVAL, "tokenizer.json: model.type is not a string");
    /* Old files have no type. */
    if (type ? strcmp(type, "BPE") != 0 : !wfs_json_get(model, "merges"))
        return wfs_error_set(err, ENOTSUP, "tokenizer.json: a model of type '%s' is not supported (BPE is)",
                             type ? type : "(none)");
    r = load_options(bpe, model, err);
    if (r == 0)
        r = wfs_vocab_load(&bpe->vocab, wfs_json_get(model, "vocab"), err);
    if (r == 0)
        r = load_merges(bpe, wfs_json_get(model, "merges"), err);
    return r;
}
