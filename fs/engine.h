/*
 * The engine: the one read loop over layouts. A read is asynchronous: it is answered at once when everything is in
 * memory, else by a worker once the last missing piece is there.
 */
#ifndef WFS_FS_ENGINE_H
#define WFS_FS_ENGINE_H

#include "base/error.h"
#include "layout.h"
#include "pool.h"
#include "source.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct wfs_engine;
struct wfs_disk;  /* disk.h */
struct wfs_store; /* store.h */

struct wfs_engine_options {
    uint64_t cache_size; /* bytes; the one budget: tiles, compressed tiles, buffers in flight */
    unsigned n_workers;  /* 0 = default */
    bool no_io_uring;
    const struct wfs_io_hooks *hooks; /* tests; or NULL */
    bool compress;    /* with the lz4 tier */
    bool drop_pages;  /* what tiles are made from need not stay in the page cache */
    uint64_t disk_queue; /* of cache_size: for tiles that wait to be written to the disk cache */
    /*
     * Called once per object and cause (on a worker) when data cannot be offered: tensor and reason in err. The program
     * logs it.
     */
    void (*on_error)(void *ctx, const struct wfs_error *err);
    void *on_error_ctx;
};

int wfs_engine_new(const struct wfs_engine_options *options, struct wfs_engine **ret, struct wfs_error *err);

/*
 * After every read is done. False when a worker hangs on a source that does not answer: then the engine, and what its
 * jobs use, is left in memory after some seconds.
 */
bool wfs_engine_free(struct wfs_engine *e);
struct wfs_pool *wfs_engine_pool(struct wfs_engine *e);

/* One virtual file that can be read: embedded in whoever owns the layout, outlives every read of it. */
struct wfs_object {
    const struct wfs_layout *layout;
    struct wfs_source *source;
    struct wfs_source_file **files; /* model file index -> source file; n_files of them */
    size_t n_files;
    const char *name;     /* of the view, for messages */
    uint64_t id;          /* unique in the process: the key space of its tiles; set by wfs_object_init */
    atomic_uint failures; /* causes reported already */
    struct wfs_store *store; /* where its tiles are kept on disk, or NULL; the owner's, set after wfs_object_init */
    void *private_;       /* the engine's: tile geometry per segment, read-ahead state */
};

/*
 * 0 or -ENOMEM. Everything passed is kept by pointer and outlives the object, but the source, of which the engine holds
 * a reference while reads of its own (read-ahead) are in flight.
 */
int wfs_object_init(struct wfs_object *o, struct wfs_engine *e, const struct wfs_layout *layout,
                    struct wfs_source *source, struct wfs_source_file **files, size_t n_files, const char *name);

/* After every read of it is done. Drops its tiles and its read-ahead; never waits, may be called from any thread. */
void wfs_object_done(struct wfs_object *o, struct wfs_engine *e);

/*
 * The same, but its tiles stay: for an object that may come back over an equal layout. Give the new one the old id,
 * right after wfs_object_init, and it finds them.
 */
void wfs_object_park(struct wfs_object *o, struct wfs_engine *e);

/* Drops the tiles of parked objects that will not come back: n_ids of their ids, ascending. */
void wfs_engine_drop(struct wfs_engine *e, const uint64_t *ids, size_t n_ids);

struct wfs_read { /* owned by the caller from wfs_engine_read until wfs_engine_read_done */
    struct wfs_object *object;
    uint64_t offset;
    size_t len; /* cut to the file's end by wfs_engine_read */
    bool passing; /* the reader goes through once and nobody follows: what it has read is not kept */
    void (*done)(struct wfs_read *r); /* once, from any thread, possibly before wfs_engine_read returns */
    int result;         /* 0 or a negative errno: -EIO, -ENOMEM, -ESTALE, -ECANCELED */
    struct iovec *iov;  /* the bytes, in order, n_iov pieces that sum to len; pinned until wfs_engine_read_done */
    int n_iov;          /* at most WFS_MAX_IOV */
    void *private_;
};

enum { WFS_MAX_IOV = 1000 };

void wfs_engine_read(struct wfs_engine *e, struct wfs_read *r);
void wfs_engine_read_done(struct wfs_engine *e, struct wfs_read *r); /* unpins; call once after done */

/*
 * The same for a caller that may wait (export, verify): fills buf. 0 or a negative errno (-EINVAL: not within the
 * file). Not for workers.
 */
int wfs_engine_pread(struct wfs_engine *e, struct wfs_object *o, uint64_t offset, void *buf, size_t len);

struct wfs_engine_stats {
    uint64_t cache_limit, cache_bytes, cache_peak_bytes, lz4_bytes, tiles_made, tile_hits, tile_misses, tile_waits,
        tiles_evicted, lz4_hits;
    uint64_t lz4_unpacked_bytes; /* what lz4_bytes unpack to */
    uint64_t source_bytes_read, bytes_served, read_errors, readahead_tiles;
    uint64_t readahead_wasted; /* made ahead, and nobody came */
    uint64_t tiles_loaded; /* from the disk cache */
    unsigned reads_open; /* begun and not answered */
    unsigned workers;
    bool io_uring;
    bool drop_pages, drop_refused; /* asked for; the kernel, or the source's file system, cannot */
    const char *io_reason, *kernels;
};
void wfs_engine_stats(struct wfs_engine *e, struct wfs_engine_stats *ret);

#endif
