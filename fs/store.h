/*
 * The tiles of one object in the disk cache: which view of the cache's they make, and where each of them is in it. The
 * view's key is a hash of the layout: literal bytes, plans, weights, tile sizes, and the content of every source file
 * used. So whatever decides a byte decides the key, and nothing else does.
 */
#ifndef WFS_FS_STORE_H
#define WFS_FS_STORE_H

#include "cache.h"
#include "digests.h"
#include "disk.h"
#include "layout.h"
#include "pool.h"

struct wfs_store;
struct wfs_node;

struct wfs_store_about {
    const struct wfs_layout *layout;
    const struct wfs_digest *digests; /* by the object's file index */
    const uint64_t *sizes;            /* of the files, too */
    size_t n_files;
    const char *model, *name;    /* for listings */
    const struct wfs_node *node; /* whose rest can be read until wfs_store_detach */
    bool waits;                  /* as in struct wfs_io: where the disk cache lies even beginning a read may wait */
};

/* *ret is NULL when the view has no tiles. 0 or -ENOMEM. */
int wfs_store_new(struct wfs_disk *d, const struct wfs_store_about *about, struct wfs_store **ret);
struct wfs_store *wfs_store_ref(struct wfs_store *s); /* NULL stays NULL */
void wfs_store_unref(struct wfs_store *s);
void wfs_store_detach(struct wfs_store *s); /* the node's object goes away; NULL is fine */
struct wfs_disk_view *wfs_store_view(struct wfs_store *s);

/*
 * A descriptor (O_RDONLY; the caller closes) of a file whose whole content is exactly the view's, verified in the life
 * of this process; -EAGAIN when there is none (then one that is there gets verified, for later). [waits]
 */
int wfs_store_whole(struct wfs_store *s);

uint64_t wfs_store_index(const struct wfs_store *s, size_t segment, uint64_t tile);

/* The key alone (a view without tiles has one, too). 0 or -ENOMEM. */
int wfs_store_key(const struct wfs_store_about *about, struct wfs_disk_key *ret);

/* ---- loading a tile: the first part of making it ---- */

enum wfs_load_stage { WFS_LOAD_ASK, WFS_LOAD_RECORD, WFS_LOAD_TILE, WFS_LOAD_OVER };

struct wfs_load { /* a part of the job that makes the tile */
    struct wfs_store *store; /* a reference, or NULL: there is nothing to load */
    uint64_t index;
    enum wfs_load_stage stage;
    struct wfs_disk_files *files;
    uint8_t record[WFS_DISK_RECORD];
    struct wfs_io io;
};

void wfs_load_init(struct wfs_load *l, struct wfs_store *store, size_t segment, uint64_t tile);

/* In the job's prepare: true when its request is now the load's, false when the tile is to be made. */
bool wfs_load_prepare(struct wfs_load *l, struct wfs_job *job, struct wfs_cache *c, struct wfs_block *b, size_t len);

enum wfs_load_answer {
    WFS_LOAD_NONE,  /* no load was under way: the tile's source has been read */
    WFS_LOAD_AGAIN, /* submit the job again */
    WFS_LOAD_FOUND, /* the block has its bytes */
};

/* In its run. */
enum wfs_load_answer wfs_load_run(struct wfs_load *l, struct wfs_job *job, struct wfs_block *b, size_t len);

/* The tile has been made, and is not published yet: has it written. */
void wfs_load_keep(struct wfs_load *l, struct wfs_cache *c, struct wfs_block *b, size_t len);

/*
 * Before the block is published (b NULL: without one). While l->io.abandoned is set the kernel may yet write into l: it
 * must be left in memory.
 */
void wfs_load_done(struct wfs_load *l, struct wfs_block *b);

#endif
