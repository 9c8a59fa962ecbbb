/*
 * The virtual filesystem without FUSE: a source folder as a tree of files, each a view of one generation of it. The
 * mount and the commands (ls, export, verify …) are two skins of this.
 *
 * Threads: everything here may be called from any thread. Functions marked [waits] may block on the source or on the
 * preparation of GGUF views and are for commands, never for request threads; the others answer at once.
 */
#ifndef WFS_FS_FS_H
#define WFS_FS_FS_H

#include "base/buf.h"
#include "base/error.h"
#include "engine.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct wfs_gguf_recipe; /* gguf/recipe.h */

/* Options that change what is shown or how it is made. The command line and -o fill them through mount/options. */
struct wfs_fs_options {
    /* What is listed, NULL = all: names and globs ("model.safetensors:tensors:*.gguf", "none"), by comma or colon. */
    const char *views;
    const char *model_name;   /* the converter's --model-name */
    const char *pretokenizer; /* force tokenizer.ggml.pre */
    const char *imatrix;      /* llama-quantize's --imatrix for quantised views: a file, read once at the start */
    struct wfs_gguf_recipe **recipes; /* GGUF views of the user's own; the filesystem takes references */
    size_t n_recipes;
    uint64_t cache_size;      /* bytes; default 512 MiB */
    const char *disk_cache;   /* folder where converted tiles are kept; NULL = nowhere */
    uint64_t disk_cache_size; /* bytes; 0 = default (disk.h) */
    unsigned workers;         /* 0 = default */
    bool no_io_uring;
    bool compress;   /* the lz4 tier */
    bool drop_pages; /* source_pages=drop */
    /* Once per cause: withheld views, data errors, new generations; may be NULL. */
    void (*on_log)(void *ctx, int level, const char *line);
    void *log_ctx;
    const struct wfs_io_hooks *hooks; /* tests */
};

struct wfs_fs;

/*
 * Opens a source folder (or one .safetensors file: its folder with only that file). The tree is there on return; GGUF
 * views are prepared in the background.
 */
int wfs_fs_open(const char *path, const struct wfs_fs_options *options, struct wfs_fs **ret, struct wfs_error *err);
void wfs_fs_close(struct wfs_fs *fs);
struct wfs_engine *wfs_fs_engine(struct wfs_fs *fs);

/* Once this filesystem is mounted: the mount's st_dev. Links of the source that lead into it are left out. */
void wfs_fs_set_own_dev(struct wfs_fs *fs, dev_t dev);
const char *wfs_fs_source_path(const struct wfs_fs *fs); /* of the folder */
const char *wfs_fs_source_given(const struct wfs_fs *fs); /* that, or of the one file when it was opened by that */

/* A generation: an immutable tree. Nodes live as long as a reference to their generation is held. */
struct wfs_generation;
struct wfs_generation *wfs_fs_generation(struct wfs_fs *fs); /* the current one, with a reference */
struct wfs_generation *wfs_generation_ref(struct wfs_generation *g);
void wfs_generation_unref(struct wfs_generation *g);
uint64_t wfs_generation_number(const struct wfs_generation *g); /* 1, 2, … */

/*
 * Looks (on a worker) whether the source is still what the current generation shows and starts a new one when not; then
 * calls done on a worker. At most one look per 200 ms: a call within that time of the last look is answered at once,
 * from this thread. done's result: 0, or a negative errno when the source cannot be seen at all.
 */
void wfs_fs_refresh(struct wfs_fs *fs, void (*done)(void *ctx, int result), void *ctx);
bool wfs_generation_is_current(struct wfs_fs *fs, const struct wfs_generation *g);

enum wfs_node_kind { WFS_NODE_DIR, WFS_NODE_FILE, WFS_NODE_STATUS };

struct wfs_node; /* a folder or a file of a generation */

const struct wfs_node *wfs_generation_root(const struct wfs_generation *g);

/* path: "tensors/x.npy", "" = root. NULL when there is none. Finds unlisted views too. */
const struct wfs_node *wfs_generation_find(const struct wfs_generation *g, const char *path);
const struct wfs_node *wfs_node_lookup(const struct wfs_node *dir, const char *name); /* the same one level down */

/* Listed children in a fixed order; NULL behind the last. */
const struct wfs_node *wfs_node_child(const struct wfs_node *dir, size_t index);

enum wfs_node_kind wfs_node_kind(const struct wfs_node *n);
const char *wfs_node_name(const struct wfs_node *n);
const char *wfs_node_path(const struct wfs_node *n); /* relative to the root */

/* A stable hash of the path, the same in every mount; never 0 or 1 but for the root (1). */
uint64_t wfs_node_ino(const struct wfs_node *n);

/*
 * Whether the node's size is known yet: 1 yes; 0 not yet (GGUF views are being prepared); a negative errno: withheld
 * (it must look absent). For a folder (whose attributes are always known): whether that is settled for every child.
 */
int wfs_node_ready(const struct wfs_node *n);

/*
 * Calls done once ready is not 0 any more (at once when it is that already; else from another thread). For a folder:
 * when all its children are settled. A file that somebody waits for is prepared before others.
 */
void wfs_node_when_ready(const struct wfs_node *n, void (*done)(void *ctx), void *ctx);
void wfs_node_wait(const struct wfs_node *n);       /* [waits] until it is ready */
void wfs_generation_wait(struct wfs_generation *g); /* [waits] until everything is settled */

/*
 * [waits] until everything is settled, for ms milliseconds at most, and no longer once it is plain that this will take
 * more than that: the model has a large tokenizer, and all that is read before it is in order. True when all is
 * settled.
 */
bool wfs_generation_settles(struct wfs_generation *g, int ms);

/* A file that is withheld and was asked for: logs why, once per name. */
void wfs_node_tell_withheld(const struct wfs_node *n);

/*
 * Why the file or folder at path is not the view of that name which the options ask for: the source has one of its
 * own. NULL when there is no such view.
 */
const char *wfs_generation_shadowed(const struct wfs_generation *g, const char *path);

/*
 * Attributes of a settled node: st_ino, st_mode (0444/0555), st_nlink, st_size (exact), st_blocks (ceil(size/512)),
 * st_mtim (newest of its sources). uid and gid are the skin's.
 */
void wfs_node_stat(const struct wfs_node *n, struct stat *ret);

/*
 * A file's object for the engine, pinned until wfs_node_object_put: made when it is not there (the layout is laid out
 * then). WFS_NODE_STATUS has none. [waits] for the making of a large layout only: call on a worker from FUSE.
 */
int wfs_node_object(const struct wfs_node *n, struct wfs_object **ret, struct wfs_error *err);

/* The same when it is there already, pinned; NULL when wfs_node_object would have to make it. Never waits. */
struct wfs_object *wfs_node_object_get(const struct wfs_node *n);

/*
 * Unpins, once per successful call of the above and after every read of it is done. Small objects that nobody uses are
 * let go, all but the last few; an object that is never unpinned goes with its generation.
 */
void wfs_node_object_put(const struct wfs_node *n);

/* A file on disk whose whole content is a view's: what the kernel can read by itself. */
struct wfs_whole {
    int fd; /* open for reading, as long as this is held */
    struct wfs_source *source; /* fs's own: whose descriptor it is, or NULL */
    struct wfs_source_file *file;
};

/*
 * Whether a file's view may be such a file: one of the source, or a complete one of the disk cache, and on a filesystem
 * that waits for nobody. Never waits.
 */
bool wfs_node_may_be_whole(const struct wfs_node *n);

/*
 * Gets it, for a node whose object is pinned. 0; -ENOENT or -EAGAIN when there is none (yet); -ESTALE when it is not
 * what was listed any more; another negative errno. What the kernel has been given of it outlives the put. [waits: it
 * may have to be opened]
 */
int wfs_node_whole_get(const struct wfs_node *n, struct wfs_whole *ret);
void wfs_whole_put(struct wfs_whole *w);

/*
 * Whether the source's folder is on a filesystem that waits for nobody; *ret_stacked: one that lies on another
 * (overlay). [waits]
 */
bool wfs_fs_source_is_local(struct wfs_fs *fs, bool *ret_stacked);

/*
 * What status.json says of the kernel's reading whole files by itself ("passthrough"): whether it does, and why not (or
 * of which file not), a static text.
 */
void wfs_fs_set_passthrough(struct wfs_fs *fs, bool on, const char *reason);
void wfs_fs_count_passthrough(struct wfs_fs *fs); /* a file was opened that way */

/*
 * For WFS_NODE_STATUS: a snapshot of status.json, padded with spaces to the size that wfs_node_stat says. The caller
 * frees.
 */
int wfs_fs_status_file(struct wfs_fs *fs, const struct wfs_node *n, uint8_t **ret, size_t *ret_len);

/* status.json's text (schema: docs/operations.md), what `ls --json` and `stats --json` print. [waits] */
int wfs_fs_status(struct wfs_fs *fs, struct wfs_buf *out);

struct wfs_gguf_measure; /* gguf/gguf.h */

/* For ls and info. */
struct wfs_view_info {
    const char *path;   /* in the mount */
    const char *kind;   /* "file", "safetensors", "npy", "gguf" */
    uint64_t size;      /* when offered */
    bool listed;        /* by readdir (option views) */
    bool unusual;       /* a file type that few use: it opens by name */
    const char *reason; /* why it is withheld, NULL when it is offered */
    const struct wfs_gguf_measure *quantised; /* of a GGUF view that llama-quantize would write; else NULL */
    const char *notes;  /* lines about words of its recipe that do nothing; NULL when there are none */
};
/* Calls fn for each view in the tree's order, withheld ones too, until it returns non-zero. [waits] */
int wfs_generation_each_view(struct wfs_generation *g, int (*fn)(void *ctx, const struct wfs_view_info *info),
                             void *ctx);

struct wfs_model_info {
    const char *architecture; /* as config.json says, "" when it does not */
    const char *gguf_reason;  /* why no GGUF view is offered, NULL when they are */
    const struct wfs_model *model; /* NULL when there are no weights */
    uint64_t n_parameters;
};
int wfs_generation_model_info(struct wfs_generation *g, struct wfs_model_info *ret); /* [waits] */

#endif
