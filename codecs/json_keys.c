#include "json_keys.h"
#include "base/cleanup.h"
#include "base/map.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

cJSON *wfs_json_next(cJSON *node, cJSON **stack, unsigned *depth)
{
    if (node->child) {
        stack[(*depth)++] = node;
        return node->child;
    }
    while (!node->next) {
        if (*depth == 0)
            return NULL;
        node = stack[--*depth];
    }
    return *depth ? node->next : NULL;
}

struct settling {
    bool refuse;
    const char *name;
    struct wfs_error *err;
};

/* Gives the value of `later` to `first` and takes later (the one behind `before`) out of its object. */
static int merge(const struct settling *s, cJSON *first, cJSON *before, cJSON *later)
{
    if (s->refuse)
        return wfs_error_set(s->err, EINVAL, "%s: the key \"%s\" appears twice", s->name, later->string);
    first->type = later->type;
    first->child = later->child;
    first->valuestring = later->valuestring;
    first->valueint = later->valueint;
    first->valuedouble = later->valuedouble;
    before->next = later->next;
    return 0;
}

enum { SMALL = 8 };

/* Small objects, of which a header has one per tensor, are compared directly. */
static int settle_small(const struct settling *s, cJSON *object)
{
    cJSON *members[SMALL], *before = NULL;
    size_t n = 0;

    for (cJSON *m = object->child; m; m = m->next) {
        size_t i = 0;

        while (i < n && strcmp(members[i]->string, m->string) != 0)
            i++;
        if (i < n) {
            int r = merge(s, members[i], before, m);

            if (r < 0)
                return r;
            continue;
        }
        members[n++] = before = m;
    }
    return 0;
}

/*
 * Whether two of the keys have the same hash; 1 when memory is short, too. A table of hashes alone is a third of a map,
 * and almost no object has a key twice.
 */
static bool may_repeat(const cJSON *object, size_t count)
{
    uint64_t *hashes WFS_CLEANUP(wfs_free) = NULL;
    uint64_t seed = 0;
    size_t n_slots = 16;

    while (n_slots < 2 * count)
        n_slots *= 2;
    hashes = calloc(n_slots, sizeof *hashes);
    if (!hashes || getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        return true;
    for (const cJSON *m = object->child; m; m = m->next) {
        uint64_t hash = XXH3_64bits_withSeed(m->string, strlen(m->string), seed);
        size_t i = hash & (n_slots - 1);

        hash += hash == 0;
        while (hashes[i] && hashes[i] != hash)
            i = (i + 1) & (n_slots - 1);
        if (hashes[i])
            return true;
        hashes[i] = hash;
    }
    return false;
}

static int settle_large(const struct settling *s, cJSON *object, size_t count)
{
    struct wfs_map WFS_CLEANUP(wfs_map_done) keys = { 0 };
    cJSON **members WFS_CLEANUP(wfs_free) = reallocarray(NULL, count, sizeof(cJSON *));
    cJSON *before = NULL;
    uint32_t n = 0;

    wfs_map_init(&keys);
    if (!members || count > UINT32_MAX || !wfs_map_reserve(&keys, count))
        return wfs_error_set(s->err, ENOMEM, "%s: out of memory", s->name);
    for (cJSON *m = object->child; m; m = m->next) {
        uint32_t first = 0;
        int r = wfs_map_add(&keys, m->string, strlen(m->string), n, &first);

        if (r == 0)
            r = merge(s, members[first], before, m);
        else if (r == 1)
            members[n++] = before = m;
        if (r < 0)
            return r == -ENOMEM ? wfs_error_set(s->err, ENOMEM, "%s: out of memory", s->name) : r;
    }
    return 0;
}

int wfs_json_settle_keys(cJSON *root, bool refuse, const char *name, struct wfs_error *err)
{
    const struct settling s = { refuse, name, err };
    cJSON *stack[WFS_JSON_MAX_DEPTH + 1];
    unsigned depth = 0;

    for (cJSON *node = root; node; node = wfs_json_next(node, stack, &depth)) {
        size_t count = 0;
        int r;

        if (!cJSON_IsObject(node))
            continue;
        for (const cJSON *m = node->child; m; m = m->next)
            count++;
        if (count <= SMALL)
            r = settle_small(&s, node);
        else
            r = may_repeat(node, count) ? settle_large(&s, node, count) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}
