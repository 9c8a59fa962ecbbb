/*
 * The tier on disk: tiles that outlive the process, in a folder that may be shared with other processes and, over a
 * network filesystem, with other hosts, all without locks. It knows keys, places and bytes; what a tile is and how it
 * is made is the caller's business.
 *
 * Below DIR there is one folder, weightfs-<format>, and in it for each view (a file, named by a key that stands for its
 * content):
 *     KEY.part    sparse, exactly as large as the view; tiles at their places in the view
 *     KEY.whole   the same once every byte of the view is there
 *     KEY.sums    4 KiB that say what this is, then 16 bytes for each tile, and 16 for all bytes that are in no tile
 *
 * A tile counts as present when what its record says is the XXH3-128 of its bytes, seeded with the key and its index.
 * Every reader checks that. So what is torn, half written back after a crash, written at the same time by others, left
 * by somebody else or damaged is a miss and nothing else; and whoever makes a tile writes the same bytes to the same
 * place as anybody else who does. The bytes come first, then the record. The time of last use is the mtime of KEY.sums.
 *
 * Files in the folder are hostile input: they are opened without following links and must be regular files of an owner
 * who is trusted (who runs this, root, or the folder's). Who can write there decides what is read: the checksums guard
 * against accidents, not against forgery.
 *
 * Threads: everything may be called from any thread. [waits]: it may wait for the disk; workers and commands only.
 */
#ifndef WFS_CACHE_DISK_H
#define WFS_CACHE_DISK_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct wfs_disk;
struct wfs_disk_view;
struct wfs_disk_files;

/* Raised when the files' form changes, or any view's bytes for the same source and recipe (a kernel's mended bug). */
#define WFS_DISK_FORMAT 1

struct wfs_disk_key {
    uint8_t bytes[16];
};

struct wfs_disk_options {
    const char *path;       /* DIR: made (mode 0700) when its parent is there */
    uint64_t limit;         /* bytes on disk, about; 0: 64 GiB, or half of what DIR could take up if that is less */
    uint64_t queue_bytes;   /* of tiles that wait to be written, at most: what is more is not written */
    void (*on_log)(void *ctx, const char *line); /* one line, when the state changes; any thread; may be NULL */
    void *log_ctx;
};

/*
 * Opens (makes) the folder and starts the thread that writes. A DIR that can only be read is used as it is; one that
 * cannot be used just now (no space, an I/O error, read-only without a folder in it) is a disk that is off: 0 and a
 * line for the log. A negative errno with err set when DIR is wrong: it is no folder, its parent is absent, others may
 * write to it. [waits]
 */
int wfs_disk_open(const struct wfs_disk_options *options, struct wfs_disk **ret, struct wfs_error *err);

/*
 * No tile is taken any more; those that wait are written as far as a second suffices, the others are let go. False when
 * the thread hangs with the disk: then the disk, and what its views and tiles need, is left alone until the process
 * ends. Once. [waits]
 */
bool wfs_disk_stop(struct wfs_disk *d);
void wfs_disk_free(struct wfs_disk *d); /* stopped, and no view is left */

enum wfs_disk_state { WFS_DISK_ON, WFS_DISK_READ_ONLY, WFS_DISK_OFF };
const char *wfs_disk_state_name(enum wfs_disk_state state); /* "on", "read-only", "off" */

struct wfs_disk_stats {
    enum wfs_disk_state state;
    char reason[300]; /* why it is not on; "" */
    uint64_t limit, used; /* used: when it was last looked at, plus what has been written since */
    uint64_t hits, misses, damaged; /* damaged: misses where something was there that is not the tile */
    uint64_t bytes_read, tiles_written, bytes_written, dropped; /* dropped: not written, for want of time or room */
    uint64_t views_completed, views_evicted;
};
void wfs_disk_stats(struct wfs_disk *d, struct wfs_disk_stats *ret);

/* ---- views ---- */

/* What a view is made of, told by its owner. All but place and free only between a hold that said yes and let_go. */
struct wfs_disk_content {
    /* Where tile index lies in the view. Tiles do not overlap, and lie in the order of their index. Never waits. */
    void (*place)(void *ctx, uint64_t index, uint64_t *ret_offset, uint64_t *ret_len);
    bool (*hold)(void *ctx); /* before rest: whether it can answer now */
    int (*rest)(void *ctx, uint64_t offset, void *buf, size_t len); /* what is in no tile; 0 or an errno [waits] */
    void (*let_go)(void *ctx);
    void (*free)(void *ctx); /* with the view's last reference */
};

struct wfs_disk_shape {
    struct wfs_disk_key key;
    uint64_t size, n_tiles;
    const char *model, *name; /* for listings; copied, cut at 1,000 bytes */
    bool host_only;           /* the key is worth nothing on another host: for listings */
    bool completes;           /* whether it may become a whole file */
    const struct wfs_disk_content *content;
    void *ctx;
};

/* Takes shape->ctx on success. Opens nothing yet. 0, -ENOMEM, or -EFBIG (more tiles than there can be). */
int wfs_disk_view_new(struct wfs_disk *d, const struct wfs_disk_shape *shape, struct wfs_disk_view **ret);
struct wfs_disk_view *wfs_disk_view_ref(struct wfs_disk_view *v);
void wfs_disk_view_unref(struct wfs_disk_view *v);

/*
 * The view's files, opened when they are not: NULL when the disk is off, there are none and none can be made, or
 * opening takes longer than is worth waiting for (200 ms; it goes on, for later). [waits: no longer than that]
 */
struct wfs_disk_files *wfs_disk_files_get(struct wfs_disk_view *v);
void wfs_disk_files_put(struct wfs_disk_files *f);
int wfs_disk_files_data(const struct wfs_disk_files *f); /* descriptors, to read from */
int wfs_disk_files_sums(const struct wfs_disk_files *f);

enum { WFS_DISK_RECORD = 16 };
uint64_t wfs_disk_record_offset(uint64_t index); /* in KEY.sums */

/* The record, if the page cache has it: 1 and the record; 0: no tile was written; -EAGAIN: read it. Never waits. */
int wfs_disk_record_now(const struct wfs_disk_files *f, uint64_t index, uint8_t ret[WFS_DISK_RECORD]);
bool wfs_disk_record_is_empty(const uint8_t record[WFS_DISK_RECORD]);

/* Whether these are the tile's bytes, by its record. Counts a hit, or damage. */
bool wfs_disk_check(struct wfs_disk_view *v, uint64_t index, const uint8_t record[WFS_DISK_RECORD], const void *bytes,
                    size_t len);

void wfs_disk_note_miss(struct wfs_disk_view *v);

/*
 * A read of this range of one of the view's files failed. It is read again, to tell a file that was cut by somebody
 * from a disk that fails: then the disk is off. [waits]
 */
void wfs_disk_read_failed(struct wfs_disk_view *v, int fd, uint64_t offset, size_t len, int result);

/*
 * Has a tile written, soon. True: the bytes stay until done is called, from another thread; false: they are not needed
 * (the queue is full, nothing is written any more).
 */
bool wfs_disk_put(struct wfs_disk_view *v, uint64_t index, const void *bytes, size_t len, void (*done)(void *ctx),
                  void *ctx);

/*
 * A descriptor (O_RDONLY; the caller closes) of a file whose content is exactly the view's: verified in the life of
 * this disk, and not written to since. -EAGAIN: not (yet); then a whole file that is there gets verified in the
 * background if verify says so. [waits]
 */
int wfs_disk_view_whole(struct wfs_disk_view *v, bool verify);

/* ---- a folder, without a mount: for commands ---- */

struct wfs_disk_entry {
    char key[33];
    bool whole, host_only;
    uint64_t size, disk_bytes; /* of the view; what the files take up */
    uint64_t n_tiles, present;
    struct timespec last_use;
    char model[1001], name[1001]; /* as they were written: not to be trusted on a terminal */
    const char *problem;          /* NULL, or why the files are of no use; then only key and disk_bytes count */
};

/* Calls fn for each view, the least recently used first. 0, fn's first non-zero answer, or a negative errno. [waits] */
int wfs_disk_list(const char *path, int (*fn)(void *ctx, const struct wfs_disk_entry *entry), void *ctx,
                  struct wfs_error *err);

struct wfs_disk_pruned {
    uint64_t views, bytes, left; /* taken away; bytes that are left */
};

/*
 * Takes away the least recently used views until what is left is at most target bytes, and what unfinished work has
 * left behind. Mounts that use the folder go on. told (may be NULL) hears of each before it goes. [waits]
 */
int wfs_disk_prune(const char *path, uint64_t target, void (*told)(void *ctx, const struct wfs_disk_entry *entry),
                   void *ctx, struct wfs_disk_pruned *ret, struct wfs_error *err);

/*
 * The folder weightfs-<format> in DIR, made when make says so and it is absent: a descriptor (O_DIRECTORY), or a
 * negative errno with err set. [waits]
 */
int wfs_disk_folder_open(const char *path, bool make, struct wfs_error *err);

/* Opens a file in it without following links: a regular file of a trusted owner, or a negative errno. [waits] */
int wfs_disk_open_at(int folder, const char *name, int flags);

#endif
