#include "ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RWF_DONTCACHE /* Linux 6.14 */
#define RWF_DONTCACHE 0x80
#endif

enum {
    SQ_ENTRIES = 128, CQ_ENTRIES = 4096,
    MAX_KERNEL_THREADS = 256, /* that wait for files, made as needed: the default, 4 per CPU, is few when some hang */
};

struct wfs_ring {
    struct io_uring ring;
    int event_fd;        /* written by wfs_ring_wake, read through the ring */
    uint64_t event;      /* what the read of event_fd puts down */
    bool armed;          /* that read is in flight */
    bool stopped;        /* requests that still come back have been given up by their owners */
    struct wfs_io *done; /* finished, not handed out yet; newest first */
};

/* The two user_data that are no struct wfs_io. */
#define TAG_EVENT ((void *)1)
#define TAG_CANCEL ((void *)2)

static int open_queue(struct io_uring *ring)
{
    /* From the newest kernel's best to what every kernel takes. */
    static const unsigned flags[] = {
        IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
        IORING_SETUP_CQSIZE | IORING_SETUP_COOP_TASKRUN,
        IORING_SETUP_CQSIZE,
    };
    int r = -EINVAL;

    for (size_t i = 0; i < sizeof flags / sizeof *flags && r == -EINVAL; i++) {
        struct io_uring_params params = { .flags = flags[i], .cq_entries = CQ_ENTRIES };

        r = io_uring_queue_init_params(SQ_ENTRIES, ring, &params);
    }
    if (r == 0)
        io_uring_register_iowq_max_workers(ring, (unsigned[2]){ MAX_KERNEL_THREADS, 0 }); /* kernels before 5.15: no */
    return r;
}

/* A filter may allow the set-up and refuse the rest, and kernels before 5.6 have no plain read. */
static int prove(struct io_uring *ring)
{
    struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
    bool known = probe && io_uring_opcode_supported(probe, IORING_OP_READ) &&
                 io_uring_opcode_supported(probe, IORING_OP_STATX) &&
                 io_uring_opcode_supported(probe, IORING_OP_FADVISE) &&
                 io_uring_opcode_supported(probe, IORING_OP_ASYNC_CANCEL);
    struct io_uring_cqe *cqe;
    int r;

    io_uring_free_probe(probe);
    if (!known)
        return -EOPNOTSUPP;
    io_uring_prep_nop(io_uring_get_sqe(ring));
    r = io_uring_submit_and_wait(ring, 1);
    if (r < 0)
        return r;
    r = io_uring_wait_cqe(ring, &cqe);
    if (r == 0) {
        r = cqe->res;
        io_uring_cqe_seen(ring, cqe);
    }
    return r;
}

int wfs_ring_open(struct wfs_ring **ret, struct wfs_error *err)
{
    struct wfs_ring *r = calloc(1, sizeof *r);
    int code;

    if (!r)
        return wfs_error_set(err, ENOMEM, "io_uring: out of memory");
    r->event_fd = eventfd(0, EFD_CLOEXEC);
    if (r->event_fd < 0) {
        code = errno;
        free(r);
        return wfs_error_set(err, code, "eventfd: %s", strerror(code));
    }
    code = open_queue(&r->ring);
    if (code == 0) {
        code = prove(&r->ring);
        if (code < 0)
            io_uring_queue_exit(&r->ring);
    }
    if (code < 0) {
        close(r->event_fd);
        free(r);
        return wfs_error_set(err, -code, "io_uring is refused: %s", strerror(-code));
    }
    *ret = r;
    return 0;
}

static struct io_uring_sqe *get_sqe(struct wfs_ring *r)
{
    struct io_uring_sqe *sqe;

    while (!(sqe = io_uring_get_sqe(&r->ring)))
        io_uring_submit(&r->ring);
    return sqe;
}

static void queue_read(struct wfs_ring *r, struct wfs_io *io, unsigned flags)
{
    struct io_uring_sqe *sqe = get_sqe(r);

    io_uring_prep_read(sqe, io->fd, (char *)io->buf + io->done, (unsigned)(io->len - io->done), io->offset + io->done);
    sqe->rw_flags = io->drop ? RWF_DONTCACHE : 0;
    io_uring_sqe_set_flags(sqe, flags | (io->waits ? IOSQE_ASYNC : 0));
    io_uring_sqe_set_data(sqe, io);
}

static void finish(struct wfs_ring *r, struct wfs_io *io, int result)
{
    io->result = result;
    io->next = r->done;
    r->done = io;
}

/* Requests that are done at once or fail. */
static void queue_other(struct wfs_ring *r, struct wfs_io *io)
{
    struct io_uring_sqe *sqe = get_sqe(r);

    if (io->kind == WFS_IO_STAT)
        io_uring_prep_statx(sqe, io->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, io->buf);
    else
        io_uring_prep_fadvise(sqe, io->fd, io->offset, (off_t)io->len, POSIX_FADV_WILLNEED);
    io_uring_sqe_set_data(sqe, io);
}

void wfs_ring_begin(struct wfs_ring *r, struct wfs_io *io)
{
    assert(io->len <= INT32_MAX);
    io->done = 0;
    if (io->kind != WFS_IO_READ)
        queue_other(r, io);
    else if (io->len == 0)
        finish(r, io, 0);
    else
        queue_read(r, io, 0);
}

/* Kernels before 6.14, and file systems that cannot, refuse it: then without. */
static bool refuses_drop(struct wfs_io *io, int res)
{
    bool refused = io->drop && (res == -EOPNOTSUPP || res == -EINVAL);

    io->drop = io->drop && !refused;
    return refused;
}

static void complete(struct wfs_ring *r, void *data, int res)
{
    struct wfs_io *io = data;

    if (data == TAG_CANCEL)
        return;
    if (data == TAG_EVENT) {
        r->armed = false;
        return;
    }
    if (r->stopped)
        return;
    if (io->kind != WFS_IO_READ) {
        if (res == -EINTR || res == -EAGAIN)
            queue_other(r, io);
        else
            finish(r, io, res);
        return;
    }
    if (res == -EINTR || refuses_drop(io, res))
        queue_read(r, io, 0);
    else if (res == -EAGAIN)
        queue_read(r, io, IOSQE_ASYNC); /* by a kernel thread, which may wait */
    else if (res < 0)
        finish(r, io, res);
    else if (res == 0)
        finish(r, io, -EIO); /* the file ends early */
    else if ((io->done += (size_t)res) < io->len)
        queue_read(r, io, 0);
    else
        finish(r, io, 0);
}

static void take_completions(struct wfs_ring *r)
{
    struct io_uring_cqe *cqe;
    unsigned head, n = 0;

    io_uring_for_each_cqe(&r->ring, head, cqe) {
        n++;
        complete(r, io_uring_cqe_get_data(cqe), cqe->res);
    }
    io_uring_cq_advance(&r->ring, n);
}

void wfs_ring_stop(struct wfs_ring *r)
{
    r->stopped = true;
    /*
     * The kernel ends requests after the ring is gone, at its leisure, and the read of event_fd writes into r: end it
     * first.
     */
    wfs_ring_wake(r);
    for (int i = 0; r->armed && i < 100; i++) {
        struct io_uring_cqe *cqe;
        struct __kernel_timespec ts = { .tv_nsec = 10 * 1000000 };

        io_uring_submit_and_wait_timeout(&r->ring, &cqe, 1, &ts, NULL);
        take_completions(r);
    }
}

void wfs_ring_close(struct wfs_ring *r)
{
    if (!r)
        return;
    io_uring_queue_exit(&r->ring);
    close(r->event_fd);
    if (!r->armed)
        free(r);
}

static void arm(struct wfs_ring *r)
{
    struct io_uring_sqe *sqe = get_sqe(r);

    io_uring_prep_read(sqe, r->event_fd, &r->event, sizeof r->event, 0);
    io_uring_sqe_set_data(sqe, TAG_EVENT);
    r->armed = true;
}

struct wfs_io *wfs_ring_reap(struct wfs_ring *r, int wait_ms)
{
    struct __kernel_timespec ts = { .tv_sec = wait_ms / 1000, .tv_nsec = (long long)(wait_ms % 1000) * 1000000 };
    struct io_uring_cqe *cqe;
    struct wfs_io *done;

    if (!r->armed)
        arm(r);
    io_uring_submit_and_get_events(&r->ring);
    take_completions(r);
    if (!r->done && wait_ms != 0 && r->armed) {
        io_uring_submit_and_wait_timeout(&r->ring, &cqe, 1, wait_ms < 0 ? NULL : &ts, NULL);
        take_completions(r);
    }
    if (io_uring_sq_ready(&r->ring))
        io_uring_submit(&r->ring); /* continued reads go on while the caller works */
    done = r->done;
    r->done = NULL;
    return done;
}

void wfs_ring_wake(struct wfs_ring *r)
{
    uint64_t one = 1;

    while (write(r->event_fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void wfs_ring_cancel(struct wfs_ring *r)
{
    struct io_uring_sqe *sqe = get_sqe(r);

    io_uring_prep_cancel(sqe, NULL, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
    io_uring_sqe_set_data(sqe, TAG_CANCEL);
    io_uring_submit(&r->ring);
}

void wfs_io_wait(struct wfs_io *io)
{
    io->result = 0;
    if (io->kind == WFS_IO_STAT) {
        if (statx(io->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, io->buf) < 0)
            io->result = -errno;
        return;
    }
    if (io->kind == WFS_IO_ADVISE) {
        io->result = -posix_fadvise(io->fd, (off_t)io->offset, (off_t)io->len, POSIX_FADV_WILLNEED);
        return;
    }
    for (io->done = 0; io->done < io->len;) {
        struct iovec rest = { (char *)io->buf + io->done, io->len - io->done };
        ssize_t n = preadv2(io->fd, &rest, 1, (off_t)(io->offset + io->done), io->drop ? RWF_DONTCACHE : 0);

        if (n < 0 && (errno == EINTR || errno == EAGAIN || refuses_drop(io, -errno)))
            continue;
        if (n <= 0) {
            io->result = n < 0 ? -errno : -EIO;
            return;
        }
        io->done += (size_t)n;
    }
}
