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
#include <time.h>

enum { PATIENCE_MS = 250 };

struct wfs_look {
    struct wfs_look *next; /* in the skin's list, by deadline; protected by the skin's lock */
    struct wfs_skin *skin;
    struct wfs_request *request;
    void (*then)(struct wfs_request *r);
    struct timespec deadline;
    atomic_uint refs; /* the filesystem's until it has looked; the list's; who starts it */
    atomic_bool went_on;
    bool patient;     /* has an interrupt function, and is in the list only when that was called */
    bool interrupted; /* protected by the skin's lock */
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
    atomic_store(&skin->source_hangs, false);
    wfs_prune_check(skin);
    go_on(look);
    unref(look);
    wfs_skin_finish(skin);
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static bool is_past(const struct timespec *t)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return !is_before(&now, t);
}

/* Its time is over. */
static void give_up(struct wfs_skin *skin, struct wfs_look *look)
{
    if (look->patient) {
        if (take_request(look))
            wfs_request_fail(look->request, EINTR);
        return;
    }
    if (!atomic_load(&look->went_on))
        atomic_store(&skin->source_hangs, true);
    go_on(look);
}

static void *patience_main(void *arg)
{
    struct wfs_skin *skin = arg;

    pthread_mutex_lock(&skin->lock);
    while (!skin->ending) {
        struct wfs_look *look = skin->first_look;

        if (!look) {
            pthread_cond_wait(&skin->look_added, &skin->lock);
        } else if (!is_past(&look->deadline)) {
            pthread_cond_timedwait(&skin->look_added, &skin->lock, &look->deadline);
        } else {
            skin->first_look = look->next;
            pthread_mutex_unlock(&skin->lock);
            give_up(skin, look);
            unref(look);
            pthread_mutex_lock(&skin->lock);
        }
    }
    pthread_mutex_unlock(&skin->lock);
    return NULL;
}

int wfs_look_start(struct wfs_skin *skin)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&skin->look_added, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return -pthread_create(&skin->patience, NULL, patience_main, skin);
}

void wfs_look_stop(struct wfs_skin *skin)
{
    pthread_mutex_lock(&skin->lock);
    skin->ending = true;
    pthread_cond_signal(&skin->look_added);
    pthread_mutex_unlock(&skin->lock);
    pthread_join(skin->patience, NULL);
    pthread_cond_destroy(&skin->look_added);
    while (skin->first_look) {
        struct wfs_look *look = skin->first_look;

        skin->first_look = look->next;
        unref(look);
    }
}

/* Locked. Takes a reference. */
static void add_to_list(struct wfs_skin *skin, struct wfs_look *look)
{
    struct wfs_look **at = &skin->first_look;

    while (*at && is_before(&(*at)->deadline, &look->deadline))
        at = &(*at)->next;
    look->next = *at;
    *at = look;
    atomic_fetch_add(&look->refs, 1);
    pthread_cond_signal(&skin->look_added);
}

/* libfuse calls it with the request's lock held, so it must not answer. */
static void on_interrupt(fuse_req_t req, void *data)
{
    struct wfs_look *look = data;
    struct wfs_skin *skin = look->skin;

    (void)req;
    pthread_mutex_lock(&skin->lock);
    if (!look->interrupted && !skin->ending) {
        look->interrupted = true;
        add_to_list(skin, look);
    }
    pthread_mutex_unlock(&skin->lock);
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
    clock_gettime(CLOCK_MONOTONIC, &look->deadline);
    look->deadline.tv_nsec += PATIENCE_MS * 1000000L;
    look->deadline.tv_sec += look->deadline.tv_nsec / 1000000000L;
    look->deadline.tv_nsec %= 1000000000L;
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
    if (!patiently && !atomic_load(&look->went_on)) {
        pthread_mutex_lock(&skin->lock);
        add_to_list(skin, look);
        pthread_mutex_unlock(&skin->lock);
    }
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
