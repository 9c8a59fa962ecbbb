#include "nodeids.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

enum { NONE = -1, FIRST_CAP = 64, MAX_PATH = 4096 };

/* An id is its slot's number + 1 in the low half and, in the high half, how often the slot was used before. */
struct slot {
    uint64_t lookups; /* 0 = the slot is free */
    uint32_t round;
    int32_t next; /* in the hash chain, or in the list of free slots */
    struct wfs_generation *generation; /* file: a reference; folder: NULL */
    const struct wfs_node *node;       /* file */
    char *path; /* folder, owned */
};

struct wfs_nodeids {
    pthread_mutex_t lock; /* protects everything below; nothing but the allocator is called under it */
    struct slot *slots;
    int32_t *buckets; /* cap of them, a power of two */
    size_t cap, n_used, count;
    int32_t free_list;
    uint64_t seed;
};

static size_t hash(const struct wfs_nodeids *t, const struct wfs_node *node, const char *path)
{
    uint64_t h = path ? XXH3_64bits_withSeed(path, strlen(path), t->seed)
                      : XXH3_64bits_withSeed(&node, sizeof node, t->seed);

    return (size_t)h & (t->cap - 1);
}

static void link_slot(struct wfs_nodeids *t, int32_t index)
{
    struct slot *s = &t->slots[index];
    size_t bucket = hash(t, s->node, s->path);

    s->next = t->buckets[bucket];
    t->buckets[bucket] = index;
}

static void unlink_slot(struct wfs_nodeids *t, int32_t index)
{
    struct slot *s = &t->slots[index];
    int32_t *at = &t->buckets[hash(t, s->node, s->path)];

    while (*at != index)
        at = &t->slots[*at].next;
    *at = s->next;
}

static bool grow(struct wfs_nodeids *t)
{
    size_t cap = t->cap ? 2 * t->cap : FIRST_CAP;
    struct slot *slots;
    int32_t *buckets;

    if (cap > INT32_MAX / 2)
        return false;
    slots = realloc(t->slots, cap * sizeof *slots);
    if (!slots)
        return false;
    t->slots = slots;
    buckets = malloc(cap * sizeof *buckets);
    if (!buckets)
        return false;
    free(t->buckets);
    t->buckets = buckets;
    t->cap = cap;
    for (size_t i = 0; i < cap; i++)
        buckets[i] = NONE;
    for (size_t i = 0; i < t->n_used; i++) {
        if (t->slots[i].lookups)
            link_slot(t, (int32_t)i);
    }
    return true;
}

/* A free slot, not linked yet; NONE when out of memory. */
static int32_t take_slot(struct wfs_nodeids *t)
{
    int32_t index = t->free_list;

    if (index != NONE) {
        t->free_list = t->slots[index].next;
        return index;
    }
    if (t->n_used == t->cap && !grow(t))
        return NONE;
    index = (int32_t)t->n_used++;
    memset(&t->slots[index], 0, sizeof t->slots[index]);
    return index;
}

/* Empties a slot. The generation whose reference is to be given back, outside the lock, is returned. */
static struct wfs_generation *release_slot(struct wfs_nodeids *t, int32_t index)
{
    struct slot *s = &t->slots[index];
    struct wfs_generation *g = s->generation;
    uint32_t round = s->round;

    unlink_slot(t, index);
    free(s->path);
    memset(s, 0, sizeof *s);
    s->round = round + 1;
    /* A slot whose rounds are used up is left alone: its ids would come again. */
    if (s->round != 0) {
        s->next = t->free_list;
        t->free_list = index;
    }
    t->count--;
    return g;
}

static struct slot *find_id(struct wfs_nodeids *t, uint64_t id)
{
    uint64_t index = (id & UINT32_MAX) - 1;
    struct slot *s;

    if ((id & UINT32_MAX) == 0 || index >= t->n_used)
        return NULL;
    s = &t->slots[index];
    return s->lookups && s->round == id >> 32 ? s : NULL;
}

int wfs_nodeids_new(struct wfs_nodeids **ret)
{
    struct wfs_nodeids *t = calloc(1, sizeof *t);
    int32_t root;

    if (!t)
        return -ENOMEM;
    pthread_mutex_init(&t->lock, NULL);
    t->free_list = NONE;
    if (getrandom(&t->seed, sizeof t->seed, GRND_NONBLOCK) != (ssize_t)sizeof t->seed)
        t->seed = (uintptr_t)t;
    root = take_slot(t);
    if (root != NONE)
        t->slots[root].path = strdup("");
    if (root == NONE || !t->slots[root].path) {
        wfs_nodeids_free(t);
        return -ENOMEM;
    }
    t->slots[root].lookups = 1;
    link_slot(t, root);
    t->count = 1;
    *ret = t;
    return 0;
}

void wfs_nodeids_free(struct wfs_nodeids *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_used; i++) {
        if (t->slots[i].lookups && t->slots[i].generation)
            wfs_generation_unref(t->slots[i].generation);
        free(t->slots[i].path);
    }
    free(t->slots);
    free(t->buckets);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static int32_t find_key(const struct wfs_nodeids *t, const struct wfs_node *node, const char *path)
{
    for (int32_t i = t->buckets[hash(t, node, path)]; i != NONE; i = t->slots[i].next) {
        const struct slot *s = &t->slots[i];

        if (path ? s->path && strcmp(s->path, path) == 0 : s->node == node)
            return i;
    }
    return NONE;
}

int wfs_nodeids_lookup(struct wfs_nodeids *t, struct wfs_generation *g, const struct wfs_node *node, uint64_t *ret_id)
{
    const char *path = wfs_node_kind(node) == WFS_NODE_DIR ? wfs_node_path(node) : NULL;
    bool added = false;
    int32_t index;

    pthread_mutex_lock(&t->lock);
    /* A node's address is its generation's as long as a slot holds a reference to it, so it is a key of its own. */
    index = find_key(t, node, path);
    if (index == NONE) {
        char *copy = path ? strdup(path) : NULL;

        index = path && !copy ? NONE : take_slot(t);
        if (index == NONE) {
            free(copy);
            pthread_mutex_unlock(&t->lock);
            return -ENOMEM;
        }
        t->slots[index].path = copy;
        t->slots[index].node = path ? NULL : node;
        t->slots[index].generation = path ? NULL : g;
        t->slots[index].lookups = 1;
        link_slot(t, index);
        t->count++;
        added = !path;
    } else {
        t->slots[index].lookups++;
    }
    *ret_id = (uint64_t)t->slots[index].round << 32 | ((uint64_t)index + 1);
    /* The caller holds a reference to g meanwhile; taking ours under the lock keeps a forget from coming first. */
    if (added)
        wfs_generation_ref(g);
    pthread_mutex_unlock(&t->lock);
    return 0;
}

void wfs_nodeids_forget(struct wfs_nodeids *t, uint64_t id, uint64_t n_lookups)
{
    struct wfs_generation *g = NULL;
    struct slot *s;

    if (id == WFS_NODEID_ROOT)
        return;
    pthread_mutex_lock(&t->lock);
    s = find_id(t, id);
    if (s && s->lookups > n_lookups)
        s->lookups -= n_lookups;
    else if (s)
        g = release_slot(t, (int32_t)(s - t->slots));
    pthread_mutex_unlock(&t->lock);
    if (g)
        wfs_generation_unref(g);
}

int wfs_nodeids_get(struct wfs_nodeids *t, struct wfs_fs *fs, uint64_t id, struct wfs_nodeid *ret)
{
    struct wfs_nodeid found = { 0 };
    char path[MAX_PATH];
    struct slot *s;

    path[0] = 0;
    pthread_mutex_lock(&t->lock);
    s = find_id(t, id);
    if (s && s->generation) {
        found.generation = wfs_generation_ref(s->generation);
        found.node = s->node;
    } else if (s && strlen(s->path) < sizeof path) {
        strcpy(path, s->path);
    } else {
        s = NULL;
    }
    pthread_mutex_unlock(&t->lock);
    if (!s)
        return -ESTALE;
    if (!found.generation) {
        found.generation = wfs_fs_generation(fs);
        found.node = wfs_generation_find(found.generation, path);
        if (!found.node || wfs_node_kind(found.node) != WFS_NODE_DIR) {
            wfs_generation_unref(found.generation);
            return -ESTALE;
        }
    }
    *ret = found;
    return 0;
}

/* A file's place as the kernel knows it. False when the kernel has forgotten the folder, and so the name in it. */
static bool describe(const struct wfs_nodeids *t, const struct slot *s, struct wfs_stale *ret)
{
    const char *path = wfs_node_path(s->node), *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char folder[MAX_PATH];
    size_t len = slash ? (size_t)(slash - path) : 0;
    int32_t parent;

    if (len >= sizeof folder || strlen(name) >= sizeof ret->name)
        return false;
    memcpy(folder, path, len);
    folder[len] = 0;
    parent = find_key(t, NULL, folder);
    if (parent == NONE)
        return false;
    ret->parent = (uint64_t)t->slots[parent].round << 32 | ((uint64_t)parent + 1);
    strcpy(ret->name, name);
    return true;
}

size_t wfs_nodeids_stale(struct wfs_nodeids *t, const struct wfs_generation *current, size_t *cursor,
                         struct wfs_stale *ret, size_t max)
{
    size_t n = 0;

    pthread_mutex_lock(&t->lock);
    for (; *cursor < t->n_used && n < max; ++*cursor) {
        const struct slot *s = &t->slots[*cursor];

        if (s->lookups && s->generation && s->generation != current && describe(t, s, &ret[n]))
            n++;
    }
    pthread_mutex_unlock(&t->lock);
    return n;
}

size_t wfs_nodeids_count(struct wfs_nodeids *t)
{
    size_t n;

    pthread_mutex_lock(&t->lock);
    n = t->count;
    pthread_mutex_unlock(&t->lock);
    return n;
}
