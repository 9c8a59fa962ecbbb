#include "vocab.h"
#include "../json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <xxhash.h>

struct wfs_vocab_place {
    uint32_t at, len; /* in bytes; at = NOWHERE when no token has the id */
};

struct wfs_vocab_slot {
    uint32_t hash; /* the upper half, to skip most comparisons */
    uint32_t id;   /* and 1; 0 = free */
};

enum { NOWHERE = UINT32_MAX };

void wfs_vocab_init(struct wfs_vocab *v)
{
    memset(v, 0, sizeof *v);
    if (getrandom(&v->seed, sizeof v->seed, GRND_NONBLOCK) != (ssize_t)sizeof v->seed)
        v->seed = (uint64_t)time(NULL) * 0x9e3779b97f4a7c15u ^ (uintptr_t)v;
}

void wfs_vocab_done(struct wfs_vocab *v)
{
    free(v->bytes);
    free(v->places);
    free(v->slots);
    memset(v, 0, sizeof *v);
}

const char *wfs_vocab_token(const struct wfs_vocab *v, uint32_t id, size_t *ret_len)
{
    if (id >= v->n_ids || v->places[id].at == NOWHERE)
        return NULL;
    if (ret_len)
        *ret_len = v->places[id].len;
    return v->bytes + v->places[id].at;
}

static struct wfs_vocab_slot *probe(const struct wfs_vocab *v, const char *token, size_t len, uint64_t hash)
{
    for (size_t i = hash & v->mask;; i = (i + 1) & v->mask) {
        struct wfs_vocab_slot *s = &v->slots[i];

        if (s->id == 0)
            return s;
        if (s->hash == hash >> 32) {
            const struct wfs_vocab_place *p = &v->places[s->id - 1];

            if (p->len == len && memcmp(v->bytes + p->at, token, len) == 0)
                return s;
        }
    }
}

bool wfs_vocab_find(const struct wfs_vocab *v, const char *token, size_t len, uint32_t *ret_id)
{
    const struct wfs_vocab_slot *s;

    if (len > v->max_len || v->n_tokens == 0)
        return false;
    s = probe(v, token, len, XXH3_64bits_withSeed(token, len, v->seed));
    if (s->id == 0)
        return false;
    *ret_id = s->id - 1;
    return true;
}

enum { BATCH = 64 };

size_t wfs_vocab_find_all(const struct wfs_vocab *v, const struct wfs_text *tokens, size_t n, uint32_t *ret_ids)
{
    uint64_t hashes[BATCH];

    if (v->n_tokens == 0)
        return 0;
    for (size_t done = 0; done < n; done += BATCH) {
        size_t m = n - done < BATCH ? n - done : BATCH;

        for (size_t i = 0; i < m; i++) {
            hashes[i] = XXH3_64bits_withSeed(tokens[done + i].at, tokens[done + i].len, v->seed);
            __builtin_prefetch(&v->slots[hashes[i] & v->mask]);
        }
        for (size_t i = 0; i < m; i++) {
            uint32_t id = v->slots[hashes[i] & v->mask].id;

            if (id)
                __builtin_prefetch(&v->places[id - 1]);
        }
        for (size_t i = 0; i < m; i++) {
            uint32_t id = v->slots[hashes[i] & v->mask].id;

            if (id)
                __builtin_prefetch(v->bytes + v->places[id - 1].at);
        }
        for (size_t i = 0; i < m; i++) {
            const struct wfs_vocab_slot *s = probe(v, tokens[done + i].at, tokens[done + i].len, hashes[i]);

            if (s->id == 0)
                return done + i;
            ret_ids[done + i] = s->id - 1;
        }
    }
    return n;
}

static int measure(const cJSON *object, uint64_t *ret_max, size_t *ret_count, uint64_t *ret_bytes,
                   struct wfs_error *err)
{
    uint64_t id;

    if (!cJSON_IsObject(object) || !object->child)
        return wfs_error_set(err, EINVAL, "tokenizer.json: model.vocab is not an object with tokens");
    *ret_max = *ret_bytes = *ret_count = 0;
    for (const cJSON *t = object->child; t; t = t->next) {
        if (!wfs_json_u64(t, &id) || id > UINT32_MAX)
            return wfs_error_set(err, EINVAL, "tokenizer.json: model.vocab: the id of '%s' is not a 32-bit number",
                                 t->string);
        *ret_max = id > *ret_max ? id : *ret_max;
        *ret_bytes += strlen(t->string) + 1;
        ++*ret_count;
    }
    if (*ret_count > WFS_VOCAB_MAX || *ret_max >= WFS_VOCAB_MAX)
        return wfs_error_set(err, EFBIG, "tokenizer.json: model.vocab: the greatest id, %llu, is over the limit of %d",
                             (unsigned long long)*ret_max, WFS_VOCAB_MAX);
    if (*ret_bytes >= NOWHERE)
        return wfs_error_set(err, EFBIG, "tokenizer.json: model.vocab: tokens of more than 4 GiB");
    return 0;
}

static int fill(struct wfs_vocab *v, const cJSON *object, struct wfs_error *err)
{
    uint32_t at = 0;

    for (const cJSON *t = object->child; t; t = t->next) {
        size_t len = strlen(t->string);
        uint64_t id = 0, hash = XXH3_64bits_withSeed(t->string, len, v->seed);
        struct wfs_vocab_slot *s = probe(v, t->string, len, hash);
        const char *other;

        wfs_json_u64(t, &id);
        other = wfs_vocab_token(v, (uint32_t)id, NULL);
        if (other)
            return wfs_error_set(err, EINVAL,
                                 "tokenizer.json: model.vocab: '%s' and '%s' have the same id, %u; which of "
                                 "them the converter writes is not defined",
                                 other, t->string, (unsigned)id);
        /* The parser keeps one of duplicate keys, so the slot is free. */
        s->hash = (uint32_t)(hash >> 32);
        s->id = (uint32_t)id + 1;
        memcpy(v->bytes + at, t->string, len + 1);
        v->places[id] = (struct wfs_vocab_place){ at, (uint32_t)len };
        at += (uint32_t)len + 1;
        v->max_len = len > v->max_len ? (uint32_t)len : v->max_len;
        v->n_tokens++;
    }
    return 0;
}

int wfs_vocab_load(struct wfs_vocab *v, const cJSON *object, struct wfs_error *err)
{
    uint64_t max = 0, bytes = 0;
    size_t count = 0, n_slots = 16;
    int r = measure(object, &max, &count, &bytes, err);

    if (r < 0)
        return r;
    while (n_slots < count * 2)
        n_slots *= 2;
    v->mask = n_slots - 1;
    v->n_ids = (uint32_t)max + 1;
    v->bytes = malloc(bytes);
    v->places = malloc(v->n_ids * sizeof *v->places);
    v->slots = calloc(n_slots, sizeof *v->slots);
    if (!v->bytes || !v->places || !v->slots)
        return wfs_error_set(err, ENOMEM, "tokenizer.json: out of memory");
    memset(v->places, 0xff, v->n_ids * sizeof *v->places);
    return fill(v, object, err);
}
