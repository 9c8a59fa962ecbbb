/*
 * Reads: the engine's pinned pieces go to the kernel as they are.
 *
 * Of a request that was sent the kernel lets nobody go before it is answered, not even kill -9. So a reader that is
 * being killed is answered with EINTR, which it never sees; the engine's read goes on, holds its memory meanwhile, and
 * is dropped when it is done. A signal that a process handles ends no read: nobody expects EINTR of a file, and in a
 * mapping it would be SIGBUS.
 */
#include "dying.h"
#include "fuse_skin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(WFS_MAX_IOV < IOV_MAX, "one writev takes a read's pieces, and libfuse's header in front of them");

enum { INTERRUPTED_MS = 100 }; /* the kernel tells of the first signal only: how often to look for one that kills */

enum read_state {
    STARTING, /* nobody else has the request yet */
    WAITING,  /* it has an interrupt function; whoever changes this answers it */
    ANSWERED,
};

struct read_request {
    struct wfs_timer timer; /* first: while its reader may be being killed */
    struct wfs_read read;
    struct wfs_skin *skin;
    fuse_req_t req;
    pid_t reader; /* the thread */
    struct wfs_handle *handle;
    atomic_int state;      /* enum read_state */
    atomic_uint refs;      /* who starts it; the engine; the timer */
    atomic_bool watched;   /* the timer has been started */
};

static void unref(struct read_request *r)
{
    struct wfs_skin *skin = r->skin;

    if (atomic_fetch_sub(&r->refs, 1) > 1)
        return;
    wfs_engine_read_done(skin->engine, &r->read);
    wfs_handle_unref(r->handle);
    free(r);
    wfs_skin_finish(skin);
}

static void answer(struct read_request *r)
{
    struct wfs_read *read = &r->read;

    if (read->result < 0) /* whatever it was (a source that changed, too): an old handle gets EIO, never other bytes */
        fuse_reply_err(r->req, read->result == -ENOMEM ? ENOMEM : EIO);
    else
        fuse_reply_iov(r->req, read->iov, read->n_iov);
}

/* A request that waits has one who answers it: true for the first who asks. */
static bool take_request(struct read_request *r)
{
    if (atomic_exchange(&r->state, ANSWERED) != WAITING)
        return false;
    fuse_req_interrupt_func(r->req, NULL, NULL); /* waits for a call of it that is under way */
    return true;
}

static void end_read(struct wfs_read *read)
{
    struct read_request *r = (struct read_request *)((char *)read - offsetof(struct read_request, read));

    if (take_request(r)) /* else who starts it answers, or it has been answered */
        answer(r);
    unref(r);
}

static void look_at_reader(struct wfs_timer *t)
{
    struct read_request *r = (struct read_request *)t;

    int state = atomic_load(&r->state);

    if (state != ANSWERED) {
        if (state == STARTING || !wfs_thread_is_dying(r->reader)) {
            wfs_timer_set(&r->timer, INTERRUPTED_MS);
            wfs_timer_add(&r->skin->timers, &r->timer);
            return;
        }
        if (take_request(r))
            fuse_reply_err(r->req, EINTR);
    }
    unref(r);
}

/* From ms on its reader is looked at. */
static void watch(struct read_request *r, unsigned ms)
{
    if (atomic_exchange(&r->watched, true))
        return;
    atomic_fetch_add(&r->refs, 1);
    wfs_timer_set(&r->timer, ms);
    wfs_timer_add(&r->skin->timers, &r->timer);
}

/* libfuse calls it with the request's lock held, so it must not answer. */
static void on_interrupt(fuse_req_t req, void *data)
{
    (void)req;
    watch(data, 0);
}

/* Most reads are done by now: only one that is not needs to hear of signals. */
static void wait_for_engine(struct read_request *r, bool direct)
{
    int starting = STARTING;

    if (atomic_load(&r->state) == STARTING) {
        fuse_req_interrupt_func(r->req, on_interrupt, r);
        if (direct) /* of these the kernel tells no signal, though the reader waits as firmly */
            watch(r, INTERRUPTED_MS);
        if (atomic_compare_exchange_strong(&r->state, &starting, WAITING))
            return;
        fuse_req_interrupt_func(r->req, NULL, NULL);
    }
    answer(r);
}

static void read_snapshot(fuse_req_t req, struct wfs_handle *h, size_t size, uint64_t offset)
{
    size_t left = offset < h->snapshot_len ? h->snapshot_len - (size_t)offset : 0;

    wfs_handle_ref(h); /* the reader may have its answer, and have closed the file, before the reply returns */
    fuse_reply_buf(req, left ? (const char *)h->snapshot + offset : NULL, size < left ? size : left);
    wfs_handle_unref(h);
}

void wfs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    struct wfs_skin *skin = fuse_req_userdata(req);
    struct wfs_handle *h = wfs_handle_of(fi);
    struct read_request *r;

    (void)ino;
    if (!h->object) {
        read_snapshot(req, h, size, (uint64_t)offset);
        return;
    }
    r = calloc(1, sizeof *r);
    if (!r) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    r->skin = skin;
    r->req = req;
    r->reader = fuse_req_ctx(req)->pid;
    r->handle = wfs_handle_ref(h);
    r->timer.run = look_at_reader;
    atomic_init(&r->state, STARTING);
    atomic_init(&r->refs, 2);
    r->read = (struct wfs_read){ .object = h->object, .offset = (uint64_t)offset, .len = size, .done = end_read };
    wfs_skin_begin(skin);
    wfs_engine_read(skin->engine, &r->read);
    wait_for_engine(r, fi->flags & O_DIRECT);
    unref(r);
}
