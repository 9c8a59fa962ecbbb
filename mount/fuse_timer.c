#include "fuse_timer.h"

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

static void *timers_main(void *arg)
{
    struct wfs_timers *ts = arg;

    pthread_mutex_lock(&ts->lock);
    for (;;) {
        struct wfs_timer *t = ts->first;

        if (t && (ts->ending || is_past(&t->deadline))) {
            ts->first = t->next;
            pthread_mutex_unlock(&ts->lock);
            t->run(t);
            pthread_mutex_lock(&ts->lock);
        } else if (t) {
            pthread_cond_timedwait(&ts->added, &ts->lock, &t->deadline);
        } else if (ts->ending) {
            break;
        } else {
            pthread_cond_wait(&ts->added, &ts->lock);
        }
    }
    pthread_mutex_unlock(&ts->lock);
    return NULL;
}

int wfs_timers_init(struct wfs_timers *ts)
{
    pthread_condattr_t monotonic;
    int r;

    pthread_mutex_init(&ts->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&ts->added, &monotonic);
    pthread_condattr_destroy(&monotonic);
    ts->first = NULL;
    ts->ending = false;
    r = pthread_create(&ts->thread, NULL, timers_main, ts);
    if (r != 0) {
        pthread_cond_destroy(&ts->added);
        pthread_mutex_destroy(&ts->lock);
    }
    return -r;
}

void wfs_timers_done(struct wfs_timers *ts)
{
    pthread_mutex_lock(&ts->lock);
    ts->ending = true;
    pthread_cond_signal(&ts->added);
    pthread_mutex_unlock(&ts->lock);
    pthread_join(ts->thread, NULL);
    pthread_cond_destroy(&ts->added);
    pthread_mutex_destroy(&ts->lock);
}

void wfs_timer_set(struct wfs_timer *t, unsigned ms)
{
    clock_gettime(CLOCK_MONOTONIC, &t->deadline);
    t->deadline.tv_nsec += (long)(ms % 1000) * 1000000;
    t->deadline.tv_sec += ms / 1000 + t->deadline.tv_nsec / 1000000000;
    t->deadline.tv_nsec %= 1000000000;
}

void wfs_timer_add(struct wfs_timers *ts, struct wfs_timer *t)
{
    struct wfs_timer **at = &ts->first;

    pthread_mutex_lock(&ts->lock);
    while (*at && is_before(&(*at)->deadline, &t->deadline))
        at = &(*at)->next;
    t->next = *at;
    *at = t;
    pthread_cond_signal(&ts->added);
    pthread_mutex_unlock(&ts->lock);
}
