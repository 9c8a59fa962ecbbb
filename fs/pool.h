/*
 * The worker pool: every thread takes jobs, has their source reads done (io_uring, several in flight per worker; plain pread where the
 * kernel refuses io_uring) and runs them when the bytes are there. Reads that a person waits for go before read-ahead.
 */
#ifndef WFS_FS_POOL_H
#define WFS_FS_POOL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wfs_io { /* one read of the source: all of len bytes or an error */
    int fd;
    uint64_t offset;
    void *buf;
    size_t len;
    int result; /* set before run: 0, or a negative errno (-EIO when the file ends early) */
};

enum wfs_priority { WFS_FOREGROUND, WFS_READAHEAD, WFS_BACKGROUND };

struct wfs_job {
    struct wfs_io *ios; /* done before run; may be NULL */
    size_t n_ios;
    enum wfs_priority priority;
    void (*run)(struct wfs_job *job, void *scratch); /* on a worker; owns the job again. scratch: see wfs_pool_new */
    struct wfs_job *next;                            /* private to the pool */
    size_t n_pending;                                /* private to the pool */
};

/* The seam where tests inject faults: replaces pread for the fallback and is asked about each io_uring completion as well. */
struct wfs_io_hooks {
    void *ctx;
    int (*after_read)(void *ctx, struct wfs_io *io); /* called for each finished read; what it returns becomes io->result */
};

struct wfs_pool;

/*
 * Starts n_workers threads (0: as many as the process may use: CPU affinity and the cgroup's quota), each with scratch_bytes of memory handed
 * to run. use_io_uring false, or a kernel that refuses it, means pread. *ret on success.
 */
int wfs_pool_new(unsigned n_workers, size_t scratch_bytes, bool use_io_uring, const struct wfs_io_hooks *hooks,
                 struct wfs_pool **ret, struct wfs_error *err);

/* Ends the workers. Queued jobs that have not begun are run with every io result -ECANCELED. Reads in flight on a hanging source are abandoned
 * after a second (their buffers are then leaked on purpose). */
void wfs_pool_free(struct wfs_pool *p);

void wfs_pool_submit(struct wfs_pool *p, struct wfs_job *job);

unsigned wfs_pool_workers(const struct wfs_pool *p);
bool wfs_pool_uses_io_uring(const struct wfs_pool *p);
const char *wfs_pool_io_reason(const struct wfs_pool *p); /* why io_uring is not in use; "" when it is */

/* How many CPUs this process may use: sched_getaffinity, and cpu.max of its cgroup (v2) or cfs quota (v1), rounded up, at least 1. */
unsigned wfs_pool_default_workers(void);

#endif
