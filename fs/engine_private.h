/* Shared by the files of the engine only. */
#ifndef WFS_FS_ENGINE_PRIVATE_H
#define WFS_FS_ENGINE_PRIVATE_H

#include "cache.h"
#include "engine.h"
#include "pipeline.h"

#include <pthread.h>

struct wfs_engine {
    struct wfs_engine_options options;
    struct wfs_pool *pool;
    struct wfs_cache *cache;
    const struct wfs_kernels *kernels;
    struct wfs_job tend; /* one at a time: */
    atomic_bool tending;
    atomic_bool drop_refused; /* no reads that leave no pages behind here */
    atomic_uint_fast64_t next_id, bytes_served, read_errors, tiles_loaded;
    atomic_uint reads_open; /* begun and not answered */
};

/* Where a sequential reader is. */
struct stream {
    uint64_t next;      /* where it will go on */
    uint64_t ahead;     /* up to where tiles have been asked for */
    uint64_t window;    /* how far in front of next to ask */
    uint64_t born, last_used; /* in reads of the object; 0 = unused */
    uint64_t reads;     /* that went on */
    bool asking;        /* one thread at a time asks for its tiles */
};

enum { N_STREAMS = 32, MAX_TOLD = 256 };

/* An object's part of the engine. Outlives the object while fills of its own are in flight. */
struct object_state {
    atomic_uint refs;
    pthread_mutex_t lock; /* a leaf */
    /* protected by lock */
    struct wfs_object *object; /* NULL once it is done */
    uint64_t told[MAX_TOLD];   /* causes reported already, see enum cause */
    size_t n_told;
    struct stream streams[N_STREAMS];
    uint64_t n_reads;
};

/* A cause is a segment, or one of these for the object as a whole. */
enum { CAUSE_CHANGED = -1, CAUSE_MEMORY = -2, CAUSE_EXTENT = -3 };

/* engine.c */
struct object_state *wfs_object_state_ref(struct object_state *s);
void wfs_object_state_unref(struct object_state *s);

/* Reports err once per cause: a segment's index or an enum. With context: "view 'NAME': ". */
void wfs_engine_tell(struct wfs_engine *e, struct object_state *s, int64_t cause, struct wfs_error *err);

/* engine_tile.c */
/* What is a block of the cache: a tile, or a part of one (wfs_pipeline_part_elems). */
struct tile_place {
    size_t segment;
    uint64_t tile;
    unsigned part; /* counted from 1; 0: the whole tile */
};

/* What it needs while it is made: it and its source bytes, as charged. */
uint64_t wfs_tile_need(const struct wfs_plan *p, const struct wfs_tiling *t, const struct tile_place *at);
struct wfs_key wfs_tile_key(const struct wfs_object *o, const struct tile_place *at);

/*
 * Has a block that the cache told us to fill (or to expand) made; in every case it gets published. ahead_bytes > 0: as
 * read-ahead.
 */
void wfs_tile_fill(struct wfs_engine *e, struct wfs_object *o, const struct tile_place *at, struct wfs_block *b,
                   enum wfs_priority priority, uint64_t ahead_bytes);
void wfs_tile_expand(struct wfs_engine *e, struct wfs_object *o, const struct tile_place *at, struct wfs_block *b,
                     enum wfs_priority priority);

/*
 * readahead.c: a read of [offset, offset + len) is being made. wfs_readahead_meet, before its tiles are asked for:
 * whether it goes on with a stream that is read ahead. wfs_readahead, after that: asks for what comes next. Only while
 * that read is not done.
 */
struct ahead {
    struct stream *stream;
    uint64_t born; /* the stream's, to tell when it has been given to another reader */
};

bool wfs_readahead_meet(struct wfs_object *o, uint64_t offset, uint64_t len, struct ahead *ret);
void wfs_readahead(struct wfs_engine *e, struct wfs_object *o, const struct ahead *a);

#endif
