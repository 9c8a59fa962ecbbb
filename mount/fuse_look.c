/*
 * Looking at the source before an answer, with patience: a lookup or a listing goes on with what is known when the
 * look takes longer than PATIENCE_MS (the source hangs), and until it comes back no other one waits. Opening a file
 * does wait, unanswered: what is opened is what the source holds. So does what needs a size that is not known yet. The
 * kernel lets nobody go from such a wait before there is an answer, not even kill -9: a signal ends it with EINTR, once
 * the wait has been longer than PATIENCE_MS (shorter ones are not worth failing for a timer's signal).
 */
#include "fuse_skin.h"

#include <errno.h>
#include <stdlib.h>

enum { PATIENCE_MS = 250 };

struct wfs_look {
    struct wfs_timer timer; /* first: the deadline's */
    struct wfs_skin *skin;
    struct wfs_request *request;
    void (*then)(struct wfs_request *r);
    atomic_uint refs; /* the filesystem's until it has looked; the timer's; who starts it */
    atomic_bool went_on;
    atomic_bool came_back; /* the filesystem has looked */
    bool patient; /* has an interrupt function, and its timer runs only when that was called */
    atomic_bool interrupted;
};

static void unref(struct wfs_look *look)
{
    if (atomic_fetch_sub(&look->refs, 1) == 1)
        free(look);
}

/* Whoever comes first, the look, the deadline or a signal, has the request to answer. */
static bool take_request(struct wfs_look *look)
{
    if (atomic_exchange(&look->went_on, true))
        return false;
    if (look->patient) /* waits for a call of it that is under way: after this nobody but us has the request */
        fuse_req_interrupt_func(look->request->req, NULL, NULL);
    return true;
}

static void go_on(struct wfs_look *look)
{
    if (take_request(look))
        look->then(look->request);
}

/* A source that cannot be seen just now (result < 0) is shown as it was. */
static void on_looked(void *ctx, int result)
{
    struct wfs_look *look = ctx;
    struct wfs_skin *skin = look->skin;

    (void)result;
    atomic_store(&look->came_back, true);
    atomic_store(&skin->source_hangs, false);
    wfs_prune_check(skin);
    go_on(look);
    unref(look);
    wfs_skin_finish(skin);
}

static void give_up(struct wfs_look *look)
{
    if (look->patient) {
        if (take_request(look))
            wfs_request_fail(look->request, EINTR);
        return;
    }
    if (!atomic_load(&look->went_on)) {
        atomic_store(&look->skin->source_hangs, true);
        if (atomic_load(&look->came_back)) /* just now: nobody would take it back, as nobody looks while it hangs */
            atomic_store(&look->skin->source_hangs, false);
    }
    go_on(look);
}

/* Its time is over. */
static void on_deadline(struct wfs_timer *t)
{
    struct wfs_look *look = (struct wfs_look *)t;

    give_up(look);
    unref(look);
}

static void start_timer(struct wfs_look *look)
{
    atomic_fetch_add(&look->refs, 1);
    wfs_timer_add(&look->skin->timers, &look->timer);
}

/* libfuse calls it with the request's lock held, so it must not answer. */
static void on_interrupt(fuse_req_t req, void *data)
{
    struct wfs_look *look = data;

    (void)req;
    if (!atomic_exchange(&look->interrupted, true))
        start_timer(look);
}

/* NULL after an answer of ENOMEM. Two references: who waits for the source, and the caller's. */
static struct wfs_look *start(struct wfs_request *r, bool patient, void (*then)(struct wfs_request *r))
{
    struct wfs_look *look = calloc(1, sizeof *look);

    if (!look) {
        wfs_request_fail(r, ENOMEM);
        return NULL;
    }
    look->skin = r->skin;
    look->request = r;
    look->then = then;
    look->patient = patient;
    atomic_init(&look->refs, 2);
    look->timer.run = on_deadline;
    wfs_timer_set(&look->timer, PATIENCE_MS);
    wfs_skin_begin(r->skin); /* the look itself: it may come back long after the request was answered */
    if (patient)
        fuse_req_interrupt_func(r->req, on_interrupt, look);
    return look;
}

void wfs_look_then(struct wfs_request *r, bool patiently, void (*then)(struct wfs_request *r))
{
    struct wfs_skin *skin = r->skin;
    struct wfs_look *look;

    if (!patiently && atomic_load(&skin->source_hangs)) {
        then(r);
        return;
    }
    look = start(r, patiently, then);
    if (!look)
        return;
    wfs_fs_refresh(skin->fs, on_looked, look);
    /* Most are answered at once: the last look was short ago. */
    if (!patiently && !atomic_load(&look->went_on))
        start_timer(look);
    unref(look);
}

static void on_ready(void *ctx)
{
    struct wfs_look *look = ctx;
    struct wfs_skin *skin = look->skin;

    go_on(look);
    unref(look);
    wfs_skin_finish(skin);
}

void wfs_ready_then(struct wfs_request *r, const struct wfs_node *node, void (*then)(struct wfs_request *r))
{
    struct wfs_look *look;

    if (wfs_node_ready(node) != 0) {
        then(r);
        return;
    }
    look = start(r, true, then);
    if (!look)
        return;
    wfs_node_when_ready(node, on_ready, look);
    unref(look);
}
