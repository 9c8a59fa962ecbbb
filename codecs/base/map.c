#include "map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <xxhash.h>

struct wfs_map_slot {
    const void *key; /* NULL = free */
    uint32_t len, value;
    uint64_t hash;
};

void wfs_map_init(struct wfs_map *m)
{
    memset(m, 0, sizeof *m);
    if (getrandom(&m->seed, sizeof m->seed, GRND_NONBLOCK) != (ssize_t)sizeof m->seed)
        m->seed = (uint64_t)time(NULL) * 0x9e3779b97f4a7c15u ^ (uintptr_t)m;
}

void wfs_map_done(struct wfs_map *m)
{
    free(m->slots);
    m->slots = NULL;
    m->n_slots = m->count = 0;
}

static struct wfs_map_slot *find(const struct wfs_map *m, const void *key, size_t len, uint64_t hash)
{
    size_t mask = m->n_slots - 1;

    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct wfs_map_slot *s = &m->slots[i];

        if (!s->key || (s->hash == hash && s->len == len && memcmp(s->key, key, len) == 0))
            return s;
    }
}

static bool resize(struct wfs_map *m, size_t n_slots)
{
    struct wfs_map old = *m;

    m->slots = calloc(n_slots, sizeof *m->slots);
    if (!m->slots) {
        m->slots = old.slots;
        return false;
    }
    m->n_slots = n_slots;
    for (size_t i = 0; i < old.n_slots; i++) {
        if (old.slots[i].key)
            *find(m, old.slots[i].key, old.slots[i].len, old.slots[i].hash) = old.slots[i];
    }
    free(old.slots);
    return true;
}

bool wfs_map_reserve(struct wfs_map *m, size_t count)
{
    size_t n = m->n_slots ? m->n_slots : 16;

    if (count > SIZE_MAX / 64)
        return false;
    while (n / 4 * 3 < count)
        n *= 2;
    return n == m->n_slots || resize(m, n);
}

static int add(struct wfs_map *m, const void *key, size_t len, uint32_t value, bool overwrite, uint32_t *ret_old)
{
    uint64_t hash = XXH3_64bits_withSeed(key, len, m->seed);
    struct wfs_map_slot *s;

    if (len > UINT32_MAX || !wfs_map_reserve(m, m->count + 1))
        return -ENOMEM;
    s = find(m, key, len, hash);
    if (s->key) {
        if (ret_old)
            *ret_old = s->value;
        if (overwrite)
            s->value = value;
        return 0;
    }
    s->key = len ? key : "";
    s->len = (uint32_t)len;
    s->value = value;
    s->hash = hash;
    m->count++;
    return 1;
}

int wfs_map_add(struct wfs_map *m, const void *key, size_t len, uint32_t value, uint32_t *ret_old)
{
    return add(m, key, len, value, false, ret_old);
}

int wfs_map_set(struct wfs_map *m, const void *key, size_t len, uint32_t value)
{
    int r = add(m, key, len, value, true, NULL);

    return r < 0 ? r : 0;
}

bool wfs_map_get(const struct wfs_map *m, const void *key, size_t len, uint32_t *ret)
{
    struct wfs_map_slot *s;

    if (m->n_slots == 0)
        return false;
    s = find(m, key, len, XXH3_64bits_withSeed(key, len, m->seed));
    if (!s->key)
        return false;
    *ret = s->value;
    return true;
}
