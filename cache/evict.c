/* Which blocks stay: four lists of idle blocks and the order in which they are given up. */
#include "private.h"
#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STALE_SECONDS = 2, /* read-ahead that nobody has come for in that time: its reader went elsewhere */
    LOOK = 16,         /* how many of the oldest blocks are looked at for one to pack */
};

static uint32_t seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
    return (uint32_t)ts.tv_sec;
}

uint64_t wfs_evict_charged(const struct wfs_cache *c)
{
    return c->reserved + c->idle_bytes + c->packed_bytes;
}

void wfs_evict_note_peak(struct wfs_cache *c)
{
    uint64_t charged = wfs_evict_charged(c);

    if (charged > c->stats.peak_bytes)
        c->stats.peak_bytes = charged;
}

static void list_add(struct wfs_cache *c, struct wfs_block *b, enum block_list which, bool as_oldest)
{
    struct block_ends *l = &c->lists[which];

    b->list = (uint8_t)which;
    b->newer = as_oldest ? l->oldest : NULL;
    b->older = as_oldest ? NULL : l->newest;
    if (b->newer)
        b->newer->older = b;
    else
        l->newest = b;
    if (b->older)
        b->older->newer = b;
    else
        l->oldest = b;
    l->bytes += wfs_cache_charge(b->size);
}

static void list_remove(struct wfs_cache *c, struct wfs_block *b)
{
    struct block_ends *l;

    if (b->list == LIST_NONE)
        return;
    l = &c->lists[b->list];
    if (b->newer)
        b->newer->older = b->older;
    else
        l->newest = b->older;
    if (b->older)
        b->older->newer = b->newer;
    else
        l->oldest = b->newer;
    l->bytes -= wfs_cache_charge(b->size);
    if (b->through)
        c->through_bytes -= wfs_cache_charge(b->size);
    b->through = false;
    b->list = LIST_NONE;
}

/* Finds its list. What is read again may hold three quarters; the rest is for what passes by. */
static void list_place(struct wfs_cache *c, struct wfs_block *b)
{
    if (b->ahead) {
        b->ahead_second = seconds();
        list_add(c, b, LIST_AHEAD, false);
        return;
    }
    if (!b->again) {
        b->through = b->read_bytes >= b->size;
        list_add(c, b, LIST_PASSED, b->through);
        if (b->through)
            c->through_bytes += wfs_cache_charge(b->size);
        return;
    }
    list_add(c, b, LIST_KEPT, false);
    while (c->lists[LIST_KEPT].bytes > c->limit / 4 * 3) {
        struct wfs_block *oldest = c->lists[LIST_KEPT].oldest;

        list_remove(c, oldest);
        oldest->again = false;
        list_add(c, oldest, LIST_PASSED, false);
    }
}

void wfs_evict_remove(struct wfs_cache *c, struct wfs_block *b)
{
    list_remove(c, b);
    if (b->idle)
        c->idle_bytes -= wfs_cache_charge(b->size);
    b->idle = false;
}

static void evict(struct wfs_cache *c, struct wfs_block *b)
{
    wfs_evict_remove(c, b);
    wfs_block_unlink(c, b);
    if (b->state == BLOCK_PACKED) {
        c->packed_bytes -= b->packed_size;
        c->packed_from_bytes -= b->size;
        c->stats.packed_evicted++;
    } else {
        c->stats.evicted++;
    }
    wfs_block_free(c, b);
}

/*
 * What was read through once is in the kernel's page cache now. Only a quarter of the memory may hold such blocks, also
 * when there is room: memory that goes round costs no page faults, and is still in the CPU's cache.
 */
void wfs_evict_insert(struct wfs_cache *c, struct wfs_block *b)
{
    assert(!b->idle && b->pins == 0 && b->state == BLOCK_READY);
    b->idle = true;
    c->idle_bytes += wfs_cache_charge(b->size);
    if (!b->packing) /* else wfs_cache_tend places it when it is through */
        list_place(c, b);
    wfs_evict_note_peak(c);
    if (b->through && c->through_bytes > c->limit / 4)
        evict(c, b);
}

/* Read-ahead whose reader went elsewhere is the first to go. */
static void retire_stale(struct wfs_cache *c)
{
    struct wfs_block *b;

    while ((b = c->lists[LIST_AHEAD].oldest) && seconds() - b->ahead_second > STALE_SECONDS) {
        list_remove(c, b);
        list_add(c, b, LIST_PASSED, true);
        c->stats.ahead_wasted++;
    }
}

bool wfs_evict_until(struct wfs_cache *c, uint64_t more, bool for_ahead)
{
    uint64_t evictable = c->idle_bytes + c->packed_bytes;

    if (c->lists[LIST_AHEAD].oldest)
        retire_stale(c);
    if (for_ahead)
        evictable -= c->lists[LIST_AHEAD].bytes + c->lists[LIST_KEPT].bytes;
    if (wfs_evict_charged(c) - evictable + more > c->limit && (for_ahead || c->reserved > 0))
        return false; /* do not empty the cache for nothing */
    while (wfs_evict_charged(c) + more > c->limit) {
        struct wfs_block *b = c->lists[LIST_PASSED].oldest;

        b = b ? b : c->lists[LIST_PACKED].oldest;
        if (!for_ahead) {
            b = b ? b : c->lists[LIST_KEPT].oldest;
            b = b ? b : c->lists[LIST_AHEAD].oldest;
        }
        if (!b)
            return false;
        evict(c, b);
    }
    return true;
}

/* Whether memory is short, so that something would be evicted soon. */
static bool is_short(const struct wfs_cache *c)
{
    return wfs_evict_charged(c) > c->limit / 8 * 7;
}

/*
 * Whether packing a block pays even while there is other work: it costs now, and saves the making (less the quick
 * unpacking) if somebody comes back.
 */
static bool is_dear(const struct wfs_cache *c, const struct wfs_block *b)
{
    return b->cost_ns > b->size / 1024 * c->pack_ns_per_kib;
}

/* Locked. The oldest block that is worth packing: not one of a single pass, which nobody will want again. */
static struct wfs_block *choose_to_pack(struct wfs_cache *c, bool idle)
{
    static const enum block_list lists[] = { LIST_PASSED, LIST_KEPT };

    for (int i = 0; i < 2; i++) {
        struct wfs_block *b = c->lists[lists[i]].oldest;

        for (int looked = 0; b && looked < LOOK; looked++, b = b->newer) {
            if (!b->unpackable && (b->again || b->read_bytes < b->size) && (idle || is_dear(c, b)))
                return b;
        }
    }
    return NULL;
}

/*
 * Locked. The end of packing: what may have happened meanwhile is that a reader came, or that the object went away.
 * Returns what to free.
 */
static struct wfs_block *end_packing(struct wfs_cache *c, struct wfs_block *b, uint8_t *packed, uint8_t **ret_data)
{
    b->packing = false;
    b->unpackable = packed == NULL;
    if (b->pins > 0) {
        wfs_buffers_put(&c->buffers, packed, b->packed_size);
        return NULL;
    }
    wfs_evict_remove(c, b);
    if (b->doomed) {
        wfs_buffers_put(&c->buffers, packed, b->packed_size);
        return b;
    }
    if (!packed) {
        wfs_evict_insert(c, b);
        return NULL;
    }
    *ret_data = b->data;
    b->data = NULL;
    b->packed = packed;
    b->state = BLOCK_PACKED;
    c->packed_bytes += b->packed_size;
    c->packed_from_bytes += b->size;
    c->stats.packed++;
    list_add(c, b, LIST_PACKED, false);
    return NULL;
}

/* The packed bytes in memory of their own size, or NULL. The room to pack in is one of the spare buffers, mostly. */
static uint8_t *pack(struct wfs_cache *c, const uint8_t *data, uint64_t size, uint32_t *ret_size, bool *ret_shuffled)
{
    size_t room_size = size / 4 * 3;
    uint8_t *room = wfs_buffers_get(&c->buffers, room_size), *packed = NULL;

    *ret_size = room ? wfs_lz4_pack(data, size, room, ret_shuffled) : 0;
    if (*ret_size > 0)
        packed = wfs_buffers_get(&c->buffers, *ret_size);
    if (packed)
        memcpy(packed, room, *ret_size);
    wfs_buffers_put(&c->buffers, room, room_size);
    return packed;
}

/* Packs one block. False: there is no need, or nothing to pack. */
static bool pack_one(struct wfs_cache *c, bool idle)
{
    struct wfs_block *b, *gone;
    uint8_t *packed, *data = NULL;
    uint32_t packed_size;
    uint64_t size, began;
    bool shuffled = false;

    pthread_mutex_lock(&c->lock);
    b = is_short(c) ? choose_to_pack(c, idle) : NULL;
    if (!b) {
        pthread_mutex_unlock(&c->lock);
        return false;
    }
    list_remove(c, b); /* it stays charged as idle, and readable */
    b->packing = true;
    size = b->size;
    pthread_mutex_unlock(&c->lock);

    began = wfs_now_ns();
    packed = pack(c, b->data, size, &packed_size, &shuffled);

    pthread_mutex_lock(&c->lock);
    if (packed)
        c->pack_ns_per_kib = (c->pack_ns_per_kib * 7 + (wfs_now_ns() - began) / (size / 1024 + 1)) / 8;
    b->packed_size = packed_size;
    b->shuffled = shuffled;
    gone = end_packing(c, b, packed, &data);
    pthread_mutex_unlock(&c->lock);
    wfs_buffers_put(&c->buffers, data, size);
    if (gone)
        wfs_block_free(c, gone);
    return true;
}

static bool has_work(struct wfs_cache *c)
{
    bool work;

    pthread_mutex_lock(&c->lock);
    work = is_short(c) && choose_to_pack(c, true);
    pthread_mutex_unlock(&c->lock);
    return work;
}

bool wfs_cache_tend(struct wfs_cache *c, bool idle)
{
    int n = 0, most = idle ? 1 : 4; /* two that shrink to half make room for one that is filled; some to catch up */

    while (c->compress && n < most && pack_one(c, idle))
        n++;
    if (n > 0)
        wfs_room_admit(c);
    return c->compress && has_work(c);
}
