/* Shared by the files of the disk tier only. */
#ifndef WFS_CACHE_DISK_PRIVATE_H
#define WFS_CACHE_DISK_PRIVATE_H

#include "disk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

enum {
    WFS_DISK_HEAD = 4096,
    WFS_DISK_LABEL = 1000,
    WFS_DISK_PIECE = 1 << 20, /* of what is read and written at once */
    WFS_DISK_STAMP_S = 20,    /* how old the time of last use gets */
    WFS_DISK_IN_USE_S = 60,   /* a view used so recently is not evicted */
};

#define WFS_DISK_MAX_TILES ((uint64_t)1 << 40)

/* What KEY.sums says of itself. */
struct wfs_disk_head {
    struct wfs_disk_key key;
    uint64_t size, n_tiles;
    bool host_only;
    char model[WFS_DISK_LABEL + 1], name[WFS_DISK_LABEL + 1];
};

struct wfs_disk_files {
    atomic_uint refs;
    struct wfs_disk *disk;
    struct wfs_disk_files *next; /* among those to be closed */
    int data, sums;
    bool whole, writable;
};

struct wfs_disk_view {
    atomic_uint refs;
    struct wfs_disk *disk;
    struct wfs_disk_shape shape; /* its texts owned */
    char hex[33];
    atomic_bool used; /* since the last stamp */
    struct wfs_disk_view *prev, *next; /* of the disk's views, protected by its lock */
    struct wfs_disk_view *next_to_open; /* likewise */

    pthread_mutex_t lock; /* a leaf; no I/O under it; protects what follows */
    struct wfs_disk_files *files;
    pthread_cond_t opened; /* opening became false */
    bool opening;         /* it is among those to be opened */
    uint64_t failed_ns;   /* when that did not succeed; 0: it did, or has not been tried */
    bool scan;            /* tiles have come: all may be there */
    bool verify;          /* somebody wants the whole file verified */
    bool verified;        /* the whole file was found right when it looked like this: */
    struct stat verified_as;
    uint64_t opened_use;  /* of the disk's clock of opens: those opened first are closed */

    /* the thread's */
    uint64_t looked_ns; /* when it was last seen that the files still have their names */
};

struct wfs_disk_tile {
    struct wfs_disk_tile *next;
    struct wfs_disk_view *view; /* a reference */
    uint64_t index;
    const void *bytes;
    size_t len;
    void (*done)(void *ctx);
    void *ctx;
};

struct wfs_disk {
    struct wfs_disk_options options; /* path owned */
    int folder; /* -1 when it is off from the start */
    uint64_t limit; /* changed once, by the thread under the lock */
    pthread_t thread, opener;
    bool has_thread, has_opener;

    pthread_mutex_t lock; /* before a view's; no I/O under it; protects what follows */
    pthread_cond_t work, open_wanted;
    bool stopping, abandon;
    struct wfs_disk_view *to_open, *last_to_open; /* a reference each */
    bool unfinished; /* a view wants to be scanned or verified */
    struct wfs_disk_tile *queue, *last;
    uint64_t queued_bytes;
    struct wfs_disk_view *views;
    struct wfs_disk_files *closing; /* nobody holds them: closing may wait, so the thread does it */
    size_t n_open;                  /* views with files */
    uint64_t opens;
    char reason[300];

    atomic_uint_fast64_t open_began_ns; /* of the files that are being opened now; 0: none are */
    atomic_int state; /* enum wfs_disk_state */
    atomic_uint_fast64_t used, hits, misses, damaged, bytes_read, tiles_written, bytes_written, dropped,
        views_completed, views_evicted;

    /* the thread's */
    uint64_t surveyed_ns, full_until_ns;
};

/* disk.c */
bool wfs_disk_is(const struct wfs_disk *d, enum wfs_disk_state worst); /* its state is that or better */
/* Makes the state worse, once, with one line for the log. */
void wfs_disk_degrade(struct wfs_disk *d, enum wfs_disk_state state, const char *what, int code);
void wfs_disk_hex(const struct wfs_disk_key *key, char ret[33]);
/* The limit that was asked for or, without one, 64 GiB or half of what DIR could take up, with used bytes. [waits] */
uint64_t wfs_disk_limit(const struct wfs_disk *d, uint64_t used);

/* disk_head.c: pure functions */
void wfs_disk_head_put(const struct wfs_disk_head *h, uint8_t out[WFS_DISK_HEAD]);
bool wfs_disk_head_get(const uint8_t bytes[WFS_DISK_HEAD], struct wfs_disk_head *ret);
void wfs_disk_sum(const struct wfs_disk_key *key, uint64_t index, const void *bytes, size_t len,
                  uint8_t ret[WFS_DISK_RECORD]);
uint64_t wfs_disk_seed(const struct wfs_disk_key *key, uint64_t index);

/* disk_files.c [all wait] */
int wfs_disk_read_at(int fd, uint64_t offset, void *buf, size_t len); /* all of it; -ENODATA when the file is shorter */
int wfs_disk_write_at(int fd, uint64_t offset, const void *buf, size_t len);
struct wfs_disk_files *wfs_disk_files_ref(struct wfs_disk_files *f);
void wfs_disk_files_close(struct wfs_disk *d); /* those that nobody holds any more */
void wfs_disk_files_drop(struct wfs_disk_view *v); /* the view has none any more; who holds them goes on */
void wfs_disk_files_open(struct wfs_disk_view *v); /* on the opener: tries, and tells who waits for v->opened */
void wfs_disk_name(const struct wfs_disk_view *v, const char *ending, char ret[64]);

/* disk_opener.c */
void *wfs_disk_opener(void *disk);

/* disk_write.c */
void *wfs_disk_thread(void *disk);
void wfs_disk_pump(struct wfs_disk *d); /* writes what waits, between two steps of something long */
bool wfs_disk_ending(struct wfs_disk *d);
void wfs_disk_drop_nameless(struct wfs_disk *d); /* views let go of files that have lost their names */

/* disk_whole.c: on the thread */
void wfs_disk_complete(struct wfs_disk_view *v);
void wfs_disk_verify(struct wfs_disk_view *v);

/* disk_list.c */
enum wfs_disk_part { WFS_DISK_SUMS, WFS_DISK_PART, WFS_DISK_WHOLE, WFS_DISK_PARTS };
struct wfs_disk_found { /* what the folder has of one view */
    char key[33];
    bool has[WFS_DISK_PARTS];
    uint64_t disk_bytes;
    struct timespec last_use;
};
struct wfs_disk_survey {
    struct wfs_disk_found *views; /* the least recently used first */
    size_t n_views;
    uint64_t bytes;
};
int wfs_disk_survey(int folder, bool sweep, struct wfs_disk_survey *ret); /* sweep: takes away what was left behind */
void wfs_disk_survey_done(struct wfs_disk_survey *s);
int wfs_disk_remove(int folder, const struct wfs_disk_found *found);

/* disk_evict.c: on the thread */
void wfs_disk_first_look(struct wfs_disk *d);
/* Whether len bytes more may be written; makes room for them when it can. */
bool wfs_disk_make_room(struct wfs_disk *d, const struct wfs_disk_view *writing, uint64_t len);

#endif
