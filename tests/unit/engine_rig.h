/* For the tests of the pool and the engine: a source folder in a temporary place, with files of known bytes. */
#ifndef WFS_TESTS_ENGINE_RIG_H
#define WFS_TESTS_ENGINE_RIG_H

#include "check.h"
#include "engine.h"
#include "rig_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* A small generator of our own: the same bytes on every machine. */
static inline uint32_t rig_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static inline uint64_t rig_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Collects what the engine reports. */
struct rig_errors {
    pthread_mutex_t lock;
    int count;
    struct wfs_error last;
};

static inline void rig_on_error(void *ctx, const struct wfs_error *err)
{
    struct rig_errors *e = ctx;

    pthread_mutex_lock(&e->lock);
    e->count++;
    e->last = *err;
    pthread_mutex_unlock(&e->lock);
}

struct rig_faults {
    atomic_ullong bad; /* reads that touch this source offset fail */
    atomic_int slow_ms;
    atomic_int reads;
};

static inline int rig_inject(void *ctx, struct wfs_io *io)
{
    struct rig_faults *f = ctx;

    f->reads++;
    if (f->slow_ms)
        usleep((unsigned)f->slow_ms * 1000);
    return io->offset <= f->bad && f->bad < io->offset + io->len ? -EIO : io->result;
}

#endif
