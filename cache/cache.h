/*
 * The block cache: keyed blocks, each made once however many ask for it, under one budget in bytes. It knows keys,
 * sizes and waiters; what is in a block and how it is made is the caller's business.
 *
 * A block is absent, filling, ready or packed (ready, kept compressed). Whoever asks first for an absent one is told to
 * fill it; the others wait by callback. No lock is held while a block is filled or a callback runs, and nothing here
 * ever blocks a thread. A failed fill is told to those who wait for it and forgotten, so that a later read tries again.
 *
 * The budget. A reader reserves, before it starts, the most that it will pin and allocate; a reader that finds no room
 * is called back when there is. As a read has all its room from the start, no two reads can wait for each other. What
 * is charged:
 *     reservations + ready blocks that nobody pins + packed blocks + spare buffers <= limit
 * with one exception: a read that alone needs more than the limit is let in when nothing else is reserved. So the peak
 * is the larger of the limit and the need of one read.
 *
 * All functions may be called from any thread.
 */
#ifndef WFS_CACHE_CACHE_H
#define WFS_CACHE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wfs_cache;
struct wfs_block;

struct wfs_key {
    uint64_t object, index;
};

/* Limit in bytes. compress: keep blocks that shrink packed by lz4 when they would be evicted. 0 or -ENOMEM. */
int wfs_cache_new(uint64_t limit, bool compress, struct wfs_cache **ret);
/* Before anything is asked for: makes the limit smaller by bytes, for memory that others hold (wfs_block_hold). */
void wfs_cache_set_aside(struct wfs_cache *c, uint64_t bytes);
void wfs_cache_free(struct wfs_cache *c); /* nothing is pinned, filling or waiting any more */

/* ---- room ---- */

struct wfs_room { /* owned by the caller until admitted is called */
    uint64_t bytes;
    void (*admitted)(struct wfs_room *room); /* the room is reserved now; on the thread that made it, no lock held */
    struct wfs_room *next;                   /* private */
};

/*
 * Reserves room->bytes: true, and admitted is not called; or false, and it is called later. First come, first served.
 */
bool wfs_cache_reserve(struct wfs_cache *c, struct wfs_room *room);

/* Unpins n blocks (NULLs are skipped) and gives bytes back, in one step. */
void wfs_cache_release(struct wfs_cache *c, struct wfs_block *const *blocks, size_t n, uint64_t bytes);

/*
 * The same for a reader after whom nobody comes (export): blocks that were read through once and that nobody else holds
 * are let go at once. Their memory goes round, warm, instead of filling the cache a page fault at a time.
 */
void wfs_cache_release_passed(struct wfs_cache *c, struct wfs_block *const *blocks, size_t n, uint64_t bytes);

/* What a block of size bytes is charged. */
uint64_t wfs_cache_charge(uint64_t size);

/* ---- blocks ---- */

struct wfs_waiter { /* owned by the caller until ready is called */
    /* result 0: block is ready and pinned for this waiter. Else a negative errno and NULL. No lock held. */
    void (*ready)(struct wfs_waiter *w, int result, struct wfs_block *block);
    struct wfs_waiter *next; /* private */
};

enum wfs_cache_answer {
    WFS_CACHE_HIT,    /* *ret_block is pinned */
    WFS_CACHE_WAIT,   /* another makes it; the waiter is called */
    WFS_CACHE_FILL,   /* you make it: have a worker call wfs_block_alloc, then wfs_cache_publish, which calls waiters */
    WFS_CACHE_EXPAND, /* you make it: have a worker call wfs_cache_expand, which calls waiters */
};

/*
 * Asks for bytes [from, to) of the block key of size bytes. Returns an answer or -ENOMEM. *ret_block is the block
 * (pinned only on WFS_CACHE_HIT). *ret_ahead: the block is being made by read-ahead and nobody has waited for it
 * before, so its job should be promoted.
 */
int wfs_cache_get(struct wfs_cache *c, struct wfs_key key, uint64_t size, uint64_t from, uint64_t to,
                  struct wfs_waiter *waiter, struct wfs_block **ret_block, bool *ret_ahead);

/* Whether the block is there or on its way, at this moment. */
bool wfs_cache_has(struct wfs_cache *c, struct wfs_key key);

/*
 * For read-ahead: WFS_CACHE_FILL when the block is absent and there is room for it: then need bytes are reserved, to be
 * given back by wfs_cache_publish. WFS_CACHE_HIT when it is there or on its way. -ENOSPC when there is no room:
 * read-ahead takes nothing from anybody. It evicts only what has been read once, and all of it (being made, or made and
 * not read yet) stays within a quarter of the limit. -ENOMEM.
 */
int wfs_cache_get_ahead(struct wfs_cache *c, struct wfs_key key, uint64_t size, uint64_t need,
                        struct wfs_block **ret_block);

/*
 * The memory of a block that is to be filled, 64-byte aligned, the same when asked again; NULL when out of memory (then
 * publish -ENOMEM).
 */
void *wfs_block_alloc(struct wfs_cache *c, struct wfs_block *b);

/*
 * What making the block cost, in nanoseconds, waiting for the source included. The filler may say so before it
 * publishes: a block that is made faster than it would be packed and unpacked is not packed. Unknown counts as dear.
 */
void wfs_block_set_cost(struct wfs_block *b, uint64_t ns);

/*
 * Before it is published. hold: one pin more, on the budget of who holds it, given back by wfs_cache_release at any
 * time (of 0 bytes). forget: its memory is left alone for ever, as somebody may yet write into it; then publish an
 * error.
 */
void wfs_block_hold(struct wfs_cache *c, struct wfs_block *b);
void wfs_block_forget(struct wfs_block *b);

/*
 * For a fill that has failed, before it is published: nobody joins its waiters any more. Returns whether there are any,
 * so that the reason can be told before they are woken.
 */
bool wfs_cache_seal(struct wfs_cache *c, struct wfs_block *b);

/*
 * Ends a fill: calls the waiters. On failure the block is forgotten. The filler does not touch b afterwards.
 * ahead_bytes: what wfs_cache_get_ahead reserved for this fill and is given back now; 0 for a reader's.
 */
void wfs_cache_publish(struct wfs_cache *c, struct wfs_block *b, int result, uint64_t ahead_bytes);

/* Unpacks a block and publishes it. */
void wfs_cache_expand(struct wfs_cache *c, struct wfs_block *b);

const void *wfs_block_data(const struct wfs_block *b); /* of a pinned block */

/* Forgets all blocks of an object: at once, or when they are unpinned or filled (waiters still get theirs). */
void wfs_cache_drop(struct wfs_cache *c, const uint64_t *objects, size_t n); /* n of them, ascending */

/*
 * Packs what is about to be evicted, when memory gets short; cheap when there is nothing to do. For workers: between
 * two fills (idle false: some blocks, of those that were dearer to make than they are to pack), and when they have
 * nothing else to do (idle true: one block, whatever it cost). Returns whether an idle call would find work.
 */
bool wfs_cache_tend(struct wfs_cache *c, bool idle);

/* ---- other memory under the budget (its owner has reserved it) ---- */

void *wfs_cache_buffer_get(struct wfs_cache *c, size_t size); /* 64-byte aligned; NULL when out of memory */
void wfs_cache_buffer_put(struct wfs_cache *c, void *buf, size_t size);

struct wfs_cache_stats {
    uint64_t limit;
    uint64_t bytes, peak_bytes;           /* charged, now and at most */
    uint64_t allocated, peak_allocated;   /* memory really held in blocks and buffers */
    uint64_t ready_bytes, packed_bytes, packed_from_bytes; /* idle ready blocks; packed ones; what those unpack to */
    uint64_t hits, misses, waits; /* asked for and there; not there; being made, ahead or for another reader */
    uint64_t filled, failed, evicted, packed, packed_hits, packed_evicted, ahead_filled, ahead_wasted;
    uint64_t waited_for_room;
};
void wfs_cache_stats(struct wfs_cache *c, struct wfs_cache_stats *ret);

#endif
