/* Blocks: the table, their states, single flight. */
#include "private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

/* Spare buffers are charged in full from the start, so that the two locks need not meet. */
static uint64_t spare_for(uint64_t limit)
{
    uint64_t spare = limit / 32;

    return spare < (16u << 20) ? spare : 16u << 20;
}

int wfs_cache_new(uint64_t limit, bool compress, struct wfs_cache **ret)
{
    struct wfs_cache *c = calloc(1, sizeof *c);

    if (!c)
        return -ENOMEM;
    c->slots = calloc(FIRST_SLOTS, sizeof *c->slots);
    if (!c->slots) {
        free(c);
        return -ENOMEM;
    }
    c->n_slots = FIRST_SLOTS;
    pthread_mutex_init(&c->lock, NULL);
    wfs_buffers_init(&c->buffers, spare_for(limit));
    c->limit = limit - spare_for(limit);
    c->compress = compress;
    c->pack_ns_per_kib = 250;
    c->stats.limit = limit;
    *ret = c;
    return 0;
}

void wfs_cache_set_aside(struct wfs_cache *c, uint64_t bytes)
{
    pthread_mutex_lock(&c->lock);
    assert(bytes < c->limit && c->reserved == 0);
    c->limit -= bytes;
    pthread_mutex_unlock(&c->lock);
}

void wfs_cache_free(struct wfs_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_slots; i++) {
        while (c->slots[i]) {
            struct wfs_block *b = c->slots[i];

            assert(b->state != BLOCK_FILLING && b->pins == 0);
            c->slots[i] = b->chain;
            wfs_evict_remove(c, b);
            wfs_block_free(c, b);
        }
    }
    assert(!c->rooms);
    wfs_buffers_done(&c->buffers);
    pthread_mutex_destroy(&c->lock);
    free(c->slots);
    free(c);
}

uint64_t wfs_cache_charge(uint64_t size)
{
    return wfs_buffers_held(size) + sizeof(struct wfs_block);
}

static size_t slot_of(const struct wfs_cache *c, struct wfs_key key)
{
    uint64_t h = (key.object * 0x9e3779b97f4a7c15u) ^ key.index; /* keys are our own numbers: no enemy chooses them */

    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return (size_t)(h ^ (h >> 31)) & (c->n_slots - 1);
}

static struct wfs_block *find(const struct wfs_cache *c, struct wfs_key key)
{
    struct wfs_block *b = c->slots[slot_of(c, key)];

    while (b && (b->key.object != key.object || b->key.index != key.index))
        b = b->chain;
    return b;
}

/* A table that cannot grow only gets slower. */
static void grow(struct wfs_cache *c)
{
    size_t n_old = c->n_slots;
    struct wfs_block **old = c->slots, **slots = calloc(n_old * 2, sizeof *slots);

    if (!slots)
        return;
    c->slots = slots;
    c->n_slots = n_old * 2;
    for (size_t i = 0; i < n_old; i++) {
        for (struct wfs_block *b = old[i], *next; b; b = next) {
            size_t slot = slot_of(c, b->key);

            next = b->chain;
            b->chain = slots[slot];
            slots[slot] = b;
        }
    }
    free(old);
}

static struct wfs_block *link_new(struct wfs_cache *c, struct wfs_key key, uint64_t size)
{
    struct wfs_block *b = calloc(1, sizeof *b);
    size_t slot;

    if (!b)
        return NULL;
    if (c->n_blocks >= c->n_slots)
        grow(c);
    b->key = key;
    b->size = size;
    b->cost_ns = UINT64_MAX;
    b->state = BLOCK_FILLING;
    b->list = LIST_NONE;
    slot = slot_of(c, key);
    b->chain = c->slots[slot];
    c->slots[slot] = b;
    c->n_blocks++;
    return b;
}

struct wfs_block *wfs_block_unlink(struct wfs_cache *c, struct wfs_block *b)
{
    struct wfs_block **at = &c->slots[slot_of(c, b->key)];

    while (*at != b)
        at = &(*at)->chain;
    *at = b->chain;
    c->n_blocks--;
    return b;
}

void wfs_block_free(struct wfs_cache *c, struct wfs_block *b)
{
    wfs_buffers_put(&c->buffers, b->data, b->size);
    wfs_buffers_put(&c->buffers, b->packed, b->packed_size);
    free(b);
}

/* Tells going on (a sequential reader's next piece) from coming back (worth keeping). */
static void note_read(struct wfs_block *b, uint64_t from, uint64_t to)
{
    if (b->read_to > from)
        b->again = true;
    if (to > b->read_to)
        b->read_to = to < UINT32_MAX ? (uint32_t)to : UINT32_MAX;
    b->read_bytes += to - from;
    b->ahead = false;
}

static void pin(struct wfs_cache *c, struct wfs_block *b)
{
    if (b->pins++ == 0)
        wfs_evict_remove(c, b);
}

static void add_waiter(struct wfs_block *b, struct wfs_waiter *waiter)
{
    waiter->next = NULL;
    if (b->last_waiter)
        b->last_waiter->next = waiter;
    else
        b->waiters = waiter;
    b->last_waiter = waiter;
}

/* Locked. The answer for a block that is in the table. */
static int get_known(struct wfs_cache *c, struct wfs_block *b, struct wfs_waiter *waiter)
{
    if (b->state == BLOCK_READY) {
        c->stats.hits++;
        pin(c, b);
        return WFS_CACHE_HIT;
    }
    add_waiter(b, waiter);
    if (b->state == BLOCK_FILLING) {
        c->stats.waits++;
        return WFS_CACHE_WAIT;
    }
    c->stats.packed_hits++;
    wfs_evict_remove(c, b); /* its packed bytes stay charged until it is unpacked */
    b->state = BLOCK_FILLING;
    return WFS_CACHE_EXPAND;
}

bool wfs_cache_has(struct wfs_cache *c, struct wfs_key key)
{
    bool has;

    pthread_mutex_lock(&c->lock);
    has = find(c, key) != NULL;
    pthread_mutex_unlock(&c->lock);
    return has;
}

int wfs_cache_get(struct wfs_cache *c, struct wfs_key key, uint64_t size, uint64_t from, uint64_t to,
                  struct wfs_waiter *waiter, struct wfs_block **ret_block, bool *ret_ahead)
{
    struct wfs_block *b;
    int answer;

    pthread_mutex_lock(&c->lock);
    b = find(c, key);
    if (b) {
        answer = get_known(c, b, waiter);
    } else {
        b = link_new(c, key, size);
        if (!b) {
            pthread_mutex_unlock(&c->lock);
            return -ENOMEM;
        }
        answer = WFS_CACHE_FILL;
        c->stats.misses++;
        add_waiter(b, waiter);
    }
    *ret_ahead = answer == WFS_CACHE_WAIT && b->ahead;
    *ret_block = b;
    note_read(b, from, to);
    pthread_mutex_unlock(&c->lock);
    return answer;
}

int wfs_cache_get_ahead(struct wfs_cache *c, struct wfs_key key, uint64_t size, uint64_t need,
                        struct wfs_block **ret_block)
{
    int answer = WFS_CACHE_HIT;
    struct wfs_block *b;

    pthread_mutex_lock(&c->lock);
    if (!find(c, key)) {
        b = link_new(c, key, size);
        if (!b) {
            answer = -ENOMEM;
        } else if (!wfs_room_reserve_ahead(c, need)) {
            free(wfs_block_unlink(c, b));
            answer = -ENOSPC;
        } else {
            b->ahead = true;
            *ret_block = b;
            answer = WFS_CACHE_FILL;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return answer;
}

void *wfs_block_alloc(struct wfs_cache *c, struct wfs_block *b)
{
    if (!b->data)
        b->data = wfs_buffers_get(&c->buffers, b->size); /* the filler alone touches it until it is published */
    return b->data;
}

void wfs_block_hold(struct wfs_cache *c, struct wfs_block *b)
{
    pthread_mutex_lock(&c->lock);
    assert(b->state == BLOCK_FILLING);
    b->pins++;
    pthread_mutex_unlock(&c->lock);
}

void wfs_block_forget(struct wfs_block *b)
{
    b->data = NULL;
}

void wfs_block_set_cost(struct wfs_block *b, uint64_t ns)
{
    b->cost_ns = ns;
}

const void *wfs_block_data(const struct wfs_block *b)
{
    return b->data;
}

/* Locked. Takes the waiters off, gives each its pin. */
static struct wfs_waiter *settle(struct wfs_cache *c, struct wfs_block *b, int result)
{
    struct wfs_waiter *waiters = b->waiters;

    b->waiters = b->last_waiter = NULL;
    if (result < 0) {
        c->stats.failed++;
        return waiters;
    }
    c->stats.filled++;
    b->state = BLOCK_READY;
    for (struct wfs_waiter *w = waiters; w; w = w->next)
        b->pins++;
    return waiters;
}

bool wfs_cache_seal(struct wfs_cache *c, struct wfs_block *b)
{
    bool wanted;

    pthread_mutex_lock(&c->lock);
    assert(b->state == BLOCK_FILLING);
    if (!b->doomed)
        wfs_block_unlink(c, b);
    b->doomed = true;
    wanted = b->waiters != NULL;
    pthread_mutex_unlock(&c->lock);
    return wanted;
}

void wfs_cache_publish(struct wfs_cache *c, struct wfs_block *b, int result, uint64_t ahead_bytes)
{
    struct wfs_block *gone = NULL;
    struct wfs_waiter *waiters;
    uint8_t *packed;

    pthread_mutex_lock(&c->lock);
    assert(b->state == BLOCK_FILLING);
    packed = b->packed;
    if (packed) {
        b->packed = NULL;
        c->packed_bytes -= b->packed_size;
        c->packed_from_bytes -= b->size;
    }
    waiters = settle(c, b, result);
    c->stats.ahead_filled += ahead_bytes > 0 && result == 0;
    c->reserved -= ahead_bytes;
    c->reserved_ahead -= ahead_bytes;
    if (result < 0) {
        if (!b->doomed)
            wfs_block_unlink(c, b);
        gone = b;
    } else if (b->pins == 0) {
        if (b->doomed)
            gone = b;
        else
            wfs_evict_insert(c, b);
    }
    pthread_mutex_unlock(&c->lock);
    wfs_buffers_put(&c->buffers, packed, packed ? b->packed_size : 0);
    while (waiters) {
        struct wfs_waiter *w = waiters;

        waiters = w->next;
        w->ready(w, result, result < 0 ? NULL : b);
    }
    if (gone)
        wfs_block_free(c, gone);
    if (ahead_bytes > 0)
        wfs_room_admit(c);
}

/* The reader that waits has reserved the room for it. */
void wfs_cache_expand(struct wfs_cache *c, struct wfs_block *b)
{
    int r = -ENOMEM;

    if (wfs_block_alloc(c, b))
        r = wfs_lz4_unpack(b->packed, b->packed_size, b->shuffled, b->data, b->size);
    wfs_cache_publish(c, b, r, 0);
}

/* Locked. Whether nobody will come back to a block that a passing reader lets go of. */
static bool is_passed(const struct wfs_block *b)
{
    return !b->again && !b->packing && b->read_bytes >= b->size;
}

static void release(struct wfs_cache *c, struct wfs_block *const *blocks, size_t n, uint64_t bytes, bool passed)
{
    struct wfs_block *gone = NULL;

    pthread_mutex_lock(&c->lock);
    assert(bytes <= c->reserved);
    c->reserved -= bytes;
    for (size_t i = 0; i < n; i++) {
        struct wfs_block *b = blocks[i];

        if (!b || --b->pins > 0 || b->state == BLOCK_FILLING) /* held, and let go before it is published */
            continue;
        if (!b->doomed && passed && is_passed(b))
            wfs_block_unlink(c, b)->doomed = true;
        if (!b->doomed) {
            wfs_evict_insert(c, b);
        } else if (!b->packing) {
            b->chain = gone;
            gone = b;
        }
    }
    wfs_evict_until(c, 0, false); /* a read that was let in over the limit leaves more than may stay */
    pthread_mutex_unlock(&c->lock);
    while (gone) {
        struct wfs_block *b = gone;

        gone = b->chain;
        wfs_block_free(c, b);
    }
    wfs_room_admit(c);
}

void wfs_cache_release(struct wfs_cache *c, struct wfs_block *const *blocks, size_t n, uint64_t bytes)
{
    release(c, blocks, n, bytes, false);
}

void wfs_cache_release_passed(struct wfs_cache *c, struct wfs_block *const *blocks, size_t n, uint64_t bytes)
{
    release(c, blocks, n, bytes, true);
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

void wfs_cache_drop(struct wfs_cache *c, const uint64_t *objects, size_t n)
{
    struct wfs_block *gone = NULL;

    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_slots; i++) {
        for (struct wfs_block *b = c->slots[i], *next; b; b = next) {
            next = b->chain;
            if (!bsearch(&b->key.object, objects, n, sizeof *objects, compare_ids))
                continue;
            wfs_block_unlink(c, b);
            b->doomed = true;
            if (b->state == BLOCK_FILLING || b->pins > 0)
                continue;
            wfs_evict_remove(c, b);
            if (b->packing)
                continue; /* freed by who packs it */
            if (b->state == BLOCK_PACKED) {
                c->packed_bytes -= b->packed_size;
                c->packed_from_bytes -= b->size;
            }
            b->chain = gone;
            gone = b;
        }
    }
    pthread_mutex_unlock(&c->lock);
    while (gone) {
        struct wfs_block *b = gone;

        gone = b->chain;
        wfs_block_free(c, b);
    }
    wfs_room_admit(c);
}

void *wfs_cache_buffer_get(struct wfs_cache *c, size_t size)
{
    return wfs_buffers_get(&c->buffers, size);
}

void wfs_cache_buffer_put(struct wfs_cache *c, void *buf, size_t size)
{
    wfs_buffers_put(&c->buffers, buf, size);
}

void wfs_cache_stats(struct wfs_cache *c, struct wfs_cache_stats *ret)
{
    pthread_mutex_lock(&c->lock);
    *ret = c->stats;
    ret->bytes = wfs_evict_charged(c);
    ret->ready_bytes = c->idle_bytes;
    ret->packed_bytes = c->packed_bytes;
    ret->packed_from_bytes = c->packed_from_bytes;
    pthread_mutex_lock(&c->buffers.lock);
    ret->allocated = c->buffers.allocated;
    ret->peak_allocated = c->buffers.peak_allocated;
    pthread_mutex_unlock(&c->buffers.lock);
    pthread_mutex_unlock(&c->lock);
}
