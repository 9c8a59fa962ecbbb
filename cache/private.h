/* Shared by the files of cache/ only. */
#ifndef WFS_CACHE_PRIVATE_H
#define WFS_CACHE_PRIVATE_H

#include "cache.h"

#include <pthread.h>

enum block_state { BLOCK_FILLING, BLOCK_READY, BLOCK_PACKED };

/* Where an idle block stands; blocks in use stand nowhere. Order of eviction: PASSED, PACKED, KEPT, AHEAD. */
enum block_list {
    LIST_PASSED, /* read once: newest first; those read through to their end go to the old end at once */
    LIST_PACKED, /* compressed */
    LIST_KEPT,   /* read again after it had been read */
    LIST_AHEAD,  /* made by read-ahead, nobody has read it yet */
    LIST_COUNT,
    LIST_NONE = LIST_COUNT
};

struct wfs_block {
    struct wfs_key key;
    uint64_t size;
    uint64_t cost_ns;               /* of making it; UINT64_MAX = unknown */
    struct wfs_block *chain;        /* the next in the hash slot */
    struct wfs_block *newer, *older; /* in its list */
    uint8_t *data;                  /* READY: size bytes */
    uint8_t *packed;                /* PACKED, and FILLING while it is unpacked */
    uint32_t packed_size;
    uint32_t pins;
    uint32_t read_to;      /* how far it has been read, to tell going on from coming back; saturates */
    uint64_t read_bytes;   /* how much of it has been read, all readers together */
    uint32_t ahead_second; /* LIST_AHEAD: when it was made */
    uint8_t state, list;
    bool idle;   /* charged as idle */
    bool ahead;  /* filled for read-ahead, no reader has asked yet */
    bool again;  /* a reader came back to it */
    bool through; /* in LIST_PASSED, and read to its end */
    bool doomed; /* not in the table any more: freed when nobody holds it */
    bool packing, shuffled;
    bool unpackable; /* has been tried: does not shrink */
    struct wfs_waiter *waiters, *last_waiter;
};

struct block_ends {
    struct wfs_block *newest, *oldest;
    uint64_t bytes;
};

struct buffers { /* spare memory by size, see buffers.c; own lock, a leaf */
    pthread_mutex_t lock;
    struct spare *spare;
    size_t n_spare, n_mapped;
    uint64_t spare_bytes, spare_max;
    uint64_t allocated, peak_allocated; /* in use, without spares */
};

struct wfs_cache {
    pthread_mutex_t lock; /* taken before buffers.lock; no callback runs under it */
    uint64_t limit;
    bool compress;
    /* protected by lock */
    struct wfs_block **slots;
    size_t n_slots, n_blocks; /* n_slots is a power of two */
    struct block_ends lists[LIST_COUNT];
    uint64_t through_bytes; /* of LIST_PASSED, in blocks read to their end */
    uint64_t reserved, reserved_ahead; /* reserved holds both */
    uint64_t pack_ns_per_kib; /* what packing costs, measured */
    uint64_t idle_bytes, packed_bytes, packed_from_bytes;
    struct wfs_room *rooms, *last_room; /* waiting to be admitted */
    bool admitting;                     /* a thread is calling those who can be */
    struct wfs_cache_stats stats;       /* the counters */
    struct buffers buffers;
};

/* block.c (locked) */
struct wfs_block *wfs_block_unlink(struct wfs_cache *c, struct wfs_block *b); /* out of the table; still to be freed */
void wfs_block_free(struct wfs_cache *c, struct wfs_block *b);

/* evict.c (locked) */
void wfs_evict_insert(struct wfs_cache *c, struct wfs_block *b); /* nobody pins it any more; it may be gone then */
void wfs_evict_remove(struct wfs_cache *c, struct wfs_block *b); /* it gets pinned, or goes away */
/* Until charged + more <= limit. False: not possible. */
bool wfs_evict_until(struct wfs_cache *c, uint64_t more, bool for_ahead);
uint64_t wfs_evict_charged(const struct wfs_cache *c);
void wfs_evict_note_peak(struct wfs_cache *c);

/* room.c */
bool wfs_room_reserve_ahead(struct wfs_cache *c, uint64_t bytes); /* locked */
void wfs_room_admit(struct wfs_cache *c); /* unlocked: lets in whom there is room for */

/* buffers.c */
void wfs_buffers_init(struct buffers *b, uint64_t spare_max);
void wfs_buffers_done(struct buffers *b);
void *wfs_buffers_get(struct buffers *b, size_t size);
void wfs_buffers_put(struct buffers *b, void *buf, size_t size);
size_t wfs_buffers_held(size_t size); /* what a piece takes: large ones are whole pages, so that spares fit */

/* tier_lz4.c: pure functions */
/* Packs size bytes into out, which has room for 3/4 of that. The packed size, or 0 when they do not shrink so far. */
uint32_t wfs_lz4_pack(const uint8_t *data, size_t size, uint8_t *out, bool *ret_shuffled);
/* 0 or -EIO (it is damaged). */
int wfs_lz4_unpack(const uint8_t *packed, uint32_t packed_size, bool shuffled, uint8_t *out, size_t size);

#endif
