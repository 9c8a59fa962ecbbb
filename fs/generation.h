/*
 * Private to fs: what one generation is made of. Immutable once settled, but for the objects that are made on first
 * use.
 */
#ifndef WFS_FS_GENERATION_H
#define WFS_FS_GENERATION_H

#include "containers/select.h"
#include "digests.h"
#include "folder.h"
#include "fs.h"
#include "folder_source.h"
#include "gguf/gguf.h"
#include "listing.h"
#include "matrices.h"
#include "model.h"
#include "tree.h"
#include "writers/npy_names.h"

#include <pthread.h>
#include <stdatomic.h>

#define WFS_STATUS_DIR ".weightfs"
#define WFS_STATUS_PATH WFS_STATUS_DIR "/status.json"

/* Something that is not offered and has no node of its own. */
struct wfs_withheld {
    char *path;
    const char *kind;
    char *reason;
    bool is_shadowed; /* the source has a file or folder at path, which is there instead */
};

/* Who is told when a node (of a folder: its whole generation) is settled. */
struct wfs_settle_waiter {
    struct wfs_settle_waiter *next;
    const struct wfs_node *node;
    void (*done)(void *ctx);
    void *ctx;
};

/* What a view reads: made on first use. */
struct wfs_view_object {
    struct wfs_object object;
    struct wfs_layout layout;
    struct wfs_source_file *file; /* of a plain file: what object.files points to */
    struct wfs_node *node;
    /* protected by the generation's lock */
    unsigned pins;
    struct wfs_view_object *prev, *next; /* among the idle ones, while pins is 0 and it is small */
};

/* Small objects that nobody uses, the one unused for longest first. */
struct wfs_idle_objects {
    struct wfs_view_object *first, *last;
    size_t count;
};

struct wfs_store; /* store.h */

struct wfs_generation {
    atomic_uint refs;
    struct wfs_fs *fs;
    uint64_t number;
    struct wfs_source *source;
    struct wfs_selection selection;
    struct wfs_model *model;              /* always there; without files when the folder has no weights */
    struct wfs_source_file **model_files; /* by model file; NULL for those that are absent */
    char *own_single_problem;             /* selection.own_single: NULL = it is sound */
    struct wfs_npy_names npy_names;
    struct wfs_tree tree;
    struct wfs_withheld *withheld;
    size_t n_withheld;
    struct timespec mtime_weights, mtime_all; /* the newest of the model's files / of all files */
    uint64_t n_parameters;
    pthread_mutex_t digests_lock; /* outermost; held while the source is asked: workers only */
    struct wfs_digest *digests;   /* of the source's files, once asked for; NULL = not yet. Protected by digests_lock */
    bool has_digests;             /* for each file of the model: others can use what is kept; set before settled */

    pthread_mutex_t lock; /* innermost but for the engine's; protects what follows, and nodes' objects */
    pthread_cond_t settled_cond; /* something below has changed */
    bool settled;              /* every node's state is final; written once */
    bool takes_long;           /* the tokenizer, which is large, is being read */
    struct wfs_settle_waiter *waiters;
    struct wfs_idle_objects idle;
    size_t n_pins;             /* of all objects */
    bool superseded;           /* another generation is current */
    bool let_go;               /* superseded, and nobody has an object in use: no object is given out any more */
    struct wfs_job let_go_job;
    struct wfs_gguf *gguf;     /* set before settled, then immutable */
    char *gguf_reason;         /* why no GGUF view is offered; set before settled */
    struct wfs_gguf_measure *gguf_measures; /* by a GGUF node's arg; size 0 = not offered; set before settled */
    char **gguf_notes;         /* by a GGUF node's arg; NULL = none; set before settled */
    char *architecture;        /* set before settled */
};

/* Builds a generation over a source (taken, also on failure): tree and model, not yet settled. [waits] */
int wfs_generation_new(struct wfs_fs *fs, struct wfs_source *source, uint64_t number, struct wfs_generation **ret,
                       struct wfs_error *err);

/* Prepares the GGUF views and settles the generation (settle.c). [waits; once, on the thread that wfs_fs starts] */
void wfs_generation_prepare(struct wfs_generation *g);

/* A reference, unless the last one is being given up: then false. The generation is still there. */
bool wfs_generation_try_ref(struct wfs_generation *g);

/* Reads the model: selection, shards, model. The first part of wfs_generation_new. */
int wfs_generation_load_model(struct wfs_generation *g, struct wfs_error *err);

/*
 * Frees every object of the generation's nodes and drops their tiles, those of objects let go before too (objects.c).
 * Nobody has one in use.
 */
void wfs_generation_free_objects(struct wfs_generation *g);

/*
 * Another generation has become current. As soon as nobody has an object of this one in use, its objects, their tiles
 * and the source's descriptors are given back, however long somebody (the kernel) still knows its nodes: a deleted file
 * of the source takes up disk space for as long as it is open. [waits]
 */
void wfs_generation_supersede(struct wfs_generation *g);

/* Notes something withheld that has no node. 0 or -ENOMEM. */
int wfs_generation_withhold(struct wfs_generation *g, const char *path, const char *kind, const char *reason);

/*
 * What a node's object keeps on disk (store.h), or NULL: there is no disk cache, the view has no tiles, or stamps do
 * not tell yet whether the source has changed. [waits]
 */
struct wfs_store *wfs_generation_store(const struct wfs_node *n, const struct wfs_layout *layout,
                                       struct wfs_source_file **files, size_t n_files);

/* Looks up what the content of the model's files is known by. [waits] */
void wfs_generation_find_digests(struct wfs_generation *g);

/* The text of status.json for this generation (and the engine's counters). 0 or -ENOMEM. */
int wfs_status_render(struct wfs_generation *g, struct wfs_buf *out);

/* The parts of struct wfs_fs that generations need. */
const struct wfs_fs_options *wfs_fs_options_of(const struct wfs_fs *fs);
const struct wfs_listing *wfs_fs_listing(const struct wfs_fs *fs);
struct wfs_disk *wfs_fs_disk(struct wfs_fs *fs); /* NULL: there is no disk cache */
bool wfs_fs_disk_is_local(const struct wfs_fs *fs); /* there is one, on a filesystem that waits for nobody */
const struct wfs_digest_memory *wfs_fs_digest_memory(const struct wfs_fs *fs);
/* The importance matrix of a path that the options name; path NULL: the one of option imatrix, or NULL. */
const struct wfs_matrix *wfs_fs_matrix(const struct wfs_fs *fs, const char *path);
void wfs_fs_run(struct wfs_fs *fs, struct wfs_job *job); /* on a worker; wfs_fs_close waits until wfs_fs_run_done */
void wfs_fs_run_done(struct wfs_fs *fs);
void wfs_fs_log(struct wfs_fs *fs, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The later of two times. */
static inline struct timespec wfs_newer(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec) ? a : b;
}

#endif
