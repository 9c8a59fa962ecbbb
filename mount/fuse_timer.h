/*
 * Things to be done later, by one thread of the skin's: a look at the source that takes too long is given up, whoever
 * reads and was interrupted is looked at.
 */
#ifndef WFS_MOUNT_FUSE_TIMER_H
#define WFS_MOUNT_FUSE_TIMER_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

struct wfs_timer { /* embedded in what it is for */
    struct timespec deadline; /* CLOCK_MONOTONIC */
    void (*run)(struct wfs_timer *t); /* once per add, with no lock held */
    struct wfs_timer *next; /* private */
};

struct wfs_timers {
    pthread_t thread;
    pthread_mutex_t lock; /* a leaf; protects what follows */
    pthread_cond_t added;
    struct wfs_timer *first; /* by deadline */
    bool ending;
};

int wfs_timers_init(struct wfs_timers *ts); /* starts the thread; 0 or a negative errno */

/* Runs at once what has not been run, and ends the thread. */
void wfs_timers_done(struct wfs_timers *ts);

void wfs_timer_set(struct wfs_timer *t, unsigned ms); /* its deadline: ms from now */
void wfs_timer_add(struct wfs_timers *ts, struct wfs_timer *t); /* stays there until run is called */

#endif
