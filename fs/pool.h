/*
 * The worker pool: every thread takes jobs, has their source reads done (io_uring, several in flight per worker; plain
 * pread where the kernel refuses io_uring) and runs them when the bytes are there. Reads that a person waits for go
 * before read-ahead.
 *
 * A source that hangs blocks only the jobs that read it: a worker with io_uring never waits for one read while others
 * can go on, and when nothing comes back it starts further jobs. (With pread each hanging read holds its worker.)
 */
#ifndef WFS_FS_POOL_H
#define WFS_FS_POOL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wfs_job;
struct wfs_worker;

enum wfs_io_kind {
    WFS_IO_READ, /* all of len bytes at offset, or an error */
    WFS_IO_STAT, /* the basic attributes of fd into buf, a struct statx */
    WFS_IO_ADVISE, /* has the kernel read len bytes at offset into the page cache, soon */
};

struct wfs_io { /* one request to the source */
    enum wfs_io_kind kind;
    int fd;
    uint64_t offset;
    void *buf;
    size_t len;
    int result;     /* set before run: 0, or a negative errno (-EIO when the file ends early) */
    bool waits;     /* even to begin it may wait (a FUSE source has so many requests at once): by a kernel thread */
    bool drop;      /* the pages it brings need not stay in the page cache; cleared when the kernel has no such reads */
    bool apart;     /* not of the source: neither counted nor shown to the hooks */
    bool abandoned; /* set before run: the kernel may still write into buf, never free or reuse it (wfs_pool_free) */
    /* private to the pool */
    size_t done;
    struct wfs_job *job;
    struct wfs_io *next;
};

enum wfs_priority {
    WFS_FOREGROUND, /* whoever waits for it needs just this: its delay counts */
    /*
     * A sequential reader waits for it: its speed counts. Beside foreground jobs a few of these are run after all that
     * waited of those: a reader at random that comes now and then overtakes, one that never rests takes a ninth.
     */
    WFS_STREAM,
    WFS_READAHEAD,
    WFS_BACKGROUND,
    WFS_IDLE, /* by a worker that has had nothing else to do for a while (jobs without requests only) */
    WFS_PRIORITY_COUNT
};

struct wfs_job {
    struct wfs_io *ios; /* done before run; may be NULL */
    size_t n_ios;
    /*
     * NULL, or called on a worker right before the reads begin: may open, allocate and set ios and n_ios. A negative
     * errno: nothing is read, n_ios becomes 0 and that is `prepared` when run is called.
     */
    int (*prepare)(struct wfs_job *job);
    int prepared;
    struct wfs_io *checks; /* begun when the ios are done, all of them, and done before run; may be set by prepare */
    size_t n_checks;
    enum wfs_priority priority;
    uint64_t key[2]; /* a name for wfs_pool_promote and wfs_pool_cancel; {0, 0} = none */
    void (*run)(struct wfs_job *job, void *scratch); /* on a worker; owns the job again. scratch: see wfs_pool_new */
    uint64_t waited_ns; /* set before run: from the reads' beginning until they were there */
    bool cancelled; /* set before run: the job was cancelled, or the pool ends; its reads have not been done */
    /* private to the pool */
    struct wfs_job *prev, *next;
    struct wfs_worker *worker;
    size_t n_pending;
    bool checking;
    int state;
};

/* The seam where tests inject faults: asked about every finished read, by io_uring or pread. */
struct wfs_io_hooks {
    void *ctx;
    int (*after_read)(void *ctx, struct wfs_io *io); /* on a worker; what it returns becomes io->result */
};

struct wfs_pool;

/*
 * Starts n_workers threads (0: as many as the process may use: CPU affinity and the cgroup's quota), each with
 * scratch_bytes of memory (64-byte aligned) handed to run. All signals are blocked in them. use_io_uring false, or a
 * kernel that refuses it, means pread. hooks may be NULL, else they outlive the pool. *ret on success.
 */
int wfs_pool_new(unsigned n_workers, size_t scratch_bytes, bool use_io_uring, const struct wfs_io_hooks *hooks,
                 struct wfs_pool **ret, struct wfs_error *err);

/*
 * Ends the workers. Jobs that have not begun are run with cancelled set and every io result -ECANCELED. Reads in flight
 * are waited for, on a hanging source for a second at most: then they are abandoned, and their buffers must be leaked
 * on purpose. False when a worker hangs within a job (it opens a file of a source that does not answer, or reads it by
 * pread): then the pool, and what its jobs use, must be left alone until the process ends (or this is called again, and
 * true).
 */
bool wfs_pool_free(struct wfs_pool *p);

/* Queues a job. Never waits. The job belongs to the pool until run is called. */
void wfs_pool_submit(struct wfs_pool *p, struct wfs_job *job);

/* Raises jobs of that key to `priority`, wherever they are; those of a better one stay. */
void wfs_pool_promote(struct wfs_pool *p, uint64_t key0, uint64_t key1, enum wfs_priority priority);

/* Cancels jobs with key[0] == key0 that have not begun; they are run with cancelled set, soon. */
void wfs_pool_cancel(struct wfs_pool *p, uint64_t key0);

unsigned wfs_pool_workers(const struct wfs_pool *p);
bool wfs_pool_uses_io_uring(const struct wfs_pool *p);
const char *wfs_pool_io_reason(const struct wfs_pool *p); /* why io_uring is not in use; "" when it is */
uint64_t wfs_pool_bytes_read(const struct wfs_pool *p);

/*
 * How many CPUs this process may use: sched_getaffinity, and cpu.max of its cgroup (v2) or cfs quota (v1), rounded up,
 * at least 1.
 */
unsigned wfs_pool_default_workers(void);

/*
 * The cgroup part of it: the smallest quota, in CPUs rounded up, of the cgroup that `cgroup_file` (as
 * /proc/self/cgroup) names and its parents, below `mount` (as /sys/fs/cgroup). UINT_MAX when there is none.
 */
unsigned wfs_pool_cgroup_quota(const char *cgroup_file, const char *mount);

#endif
