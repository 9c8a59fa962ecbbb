/*
 * One worker's io_uring: requests go in, finished ones come out, another thread can wake the wait. Short reads are
 * continued, EINTR and EAGAIN repeated. All functions but wfs_ring_wake and wfs_ring_close belong to the thread that
 * opened the ring.
 */
#ifndef WFS_FS_RING_H
#define WFS_FS_RING_H

#include "pool.h"

struct wfs_ring;

/* Opens a ring and proves by a request that it works. A negative errno, with err telling what the kernel refused. */
int wfs_ring_open(struct wfs_ring **ret, struct wfs_error *err);

/* No more reads: the last call of the ring's thread. It can still be woken (to no effect). */
void wfs_ring_stop(struct wfs_ring *r);

/*
 * After the ring's thread has stopped it and nobody wakes it any more. Reads still in flight are left to the kernel,
 * which may yet write into their buffers.
 */
void wfs_ring_close(struct wfs_ring *r);

void wfs_ring_begin(struct wfs_ring *r, struct wfs_io *io);

enum { WFS_RING_FOREVER = -1 };

/*
 * Submits what is queued and returns the finished reads as a list, io->result set. When none is finished it waits up to
 * wait_ms for one (0: not at all) or for wfs_ring_wake; NULL then.
 */
struct wfs_io *wfs_ring_reap(struct wfs_ring *r, int wait_ms);

void wfs_ring_wake(struct wfs_ring *r); /* any thread */

/* Asks the kernel to cancel everything in flight; what can be cancelled comes out of wfs_ring_reap with -ECANCELED. */
void wfs_ring_cancel(struct wfs_ring *r);

/* The same by pread or statx, here and now. */
void wfs_io_wait(struct wfs_io *io);

#endif
