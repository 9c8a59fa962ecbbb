/*
 * Looking at the source before an answer, with patience: a lookup or a listing goes on with what is known when the
 * look takes longer than PATIENCE_MS (the source hangs), and until it comes back no other one waits. Opening a file
 * does wait, unanswered: what is opened is what the source holds.
 */
#include "fuse_skin.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { PATIENCE_MS = 250 };

struct wfs_look {
    struct wfs_look *next; /* in the skin's list, oldest first; protected by the skin's lock */
    struct wfs_skin *skin;
    struct wfs_request *request;
    void (*then)(struct wfs_request *r);
    struct timespec deadline;
    atomic_uint refs; /* the filesystem's until it has looked; the list's */
    atomic_bool went_on;
};

static void unref(struct wfs_look *look)
{
    if (atomic_fetch_sub(&look->refs, 1) == 1)
        free(look);
}

/* Whoever comes first, the look or the deadline, lets the request go on. */
static bool go_on(struct wfs_look *look)
{
    if (atomic_exchange(&look->went_on, true))
        return false;
    look->then(look->request);
    return true;
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

static bool is_past(const struct timespec *t)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
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
            if (!atomic_load(&look->went_on))
                atomic_store(&skin->source_hangs, true);
            go_on(look);
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

static void add_to_list(struct wfs_skin *skin, struct wfs_look *look)
{
    struct wfs_look **at = &skin->first_look;

    pthread_mutex_lock(&skin->lock);
    while (*at)
        at = &(*at)->next;
    *at = look;
    pthread_cond_signal(&skin->look_added);
    pthread_mutex_unlock(&skin->lock);
}

void wfs_look_then(struct wfs_request *r, bool patiently, void (*then)(struct wfs_request *r))
{
    struct wfs_skin *skin = r->skin;
    struct wfs_look *look;

    if (!patiently && atomic_load(&skin->source_hangs)) {
        then(r);
        return;
    }
    look = calloc(1, sizeof *look);
    if (!look) {
        wfs_request_fail(r, ENOMEM);
        return;
    }
    look->skin = skin;
    look->request = r;
    look->then = then;
    atomic_init(&look->refs, 2);
    wfs_skin_begin(skin); /* the look itself: it may come back long after the request was answered */
    clock_gettime(CLOCK_MONOTONIC, &look->deadline);
    look->deadline.tv_nsec += PATIENCE_MS * 1000000L;
    look->deadline.tv_sec += look->deadline.tv_nsec / 1000000000L;
    look->deadline.tv_nsec %= 1000000000L;
    wfs_fs_refresh(skin->fs, on_looked, look);
    /* Most are answered at once: the last look was short ago. */
    if (patiently || atomic_load(&look->went_on))
        unref(look);
    else
        add_to_list(skin, look);
}
