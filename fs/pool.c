#include "pool.h"
#include "job_list.h"
#include "ring.h"
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH = 8,       /* jobs whose reads a worker has in flight */
    DEPTH_MAX = 256, /* the same while nothing comes back, so that one hanging source does not stop the others */
    IDLE_MS = 50,     /* how long a worker has nothing to do before it does idle jobs */
    PATIENCE_MS = 20, /* how long nothing has to come back before one more is started */
    ABANDON_MS = 1000,
    JOIN_S = 2,
    STREAM_TURNS = 8, /* jobs of streams and of their read-ahead that are run before the next foreground ones */
    SCRATCH_ALIGN = 64,
};

enum job_state { JOB_QUEUED, JOB_STARTED, JOB_READY, JOB_TAKEN };

struct wfs_worker {
    struct wfs_pool *pool;
    pthread_t thread;
    bool joined; /* wfs_pool_free's */
    void *scratch;
    struct wfs_ring *ring; /* NULL: pread */
    /* protected by the pool's lock */
    pthread_cond_t wake;          /* without a ring */
    unsigned n_started, depth;    /* jobs with reads in flight, and how many it may have */
    bool rested;                  /* nothing to do for IDLE_MS, and nothing but idle jobs since */
    bool sleeping, woken;
};

struct wfs_pool {
    pthread_mutex_t lock; /* a leaf: nothing else is locked, nothing is called under it */
    pthread_cond_t reported;
    /* protected by lock */
    struct list queued[WFS_PRIORITY_COUNT], ready[WFS_PRIORITY_COUNT], started;
    unsigned owed; /* turns of the streams' */
    unsigned n_reported;
    bool stopping;
    struct wfs_error refused; /* why a worker has no ring */
    /* fixed once new has returned */
    unsigned n_workers;
    bool want_ring;
    size_t scratch_bytes;
    const struct wfs_io_hooks *hooks;
    atomic_uint_fast64_t bytes_read;
    struct wfs_worker workers[];
};

static struct list *list_of(struct wfs_pool *p, const struct wfs_job *job)
{
    assert(job->state != JOB_TAKEN);
    if (job->state == JOB_STARTED)
        return &p->started;
    return job->state == JOB_QUEUED ? &p->queued[job->priority] : &p->ready[job->priority];
}

static void enter(struct wfs_pool *p, struct wfs_job *job, enum job_state state)
{
    job->state = state;
    push(list_of(p, job), job);
}

static void leave(struct wfs_pool *p, struct wfs_job *job)
{
    remove_job(list_of(p, job), job);
    job->state = JOB_TAKEN;
}

/*
 * Locked. Marks one sleeping worker as woken; the caller wakes it after unlocking. To start a job, best one that may
 * have more reads in flight; but one that has its fill must hear of it too, else it would sleep on without losing
 * patience.
 */
static struct wfs_worker *choose_sleeper(struct wfs_pool *p, bool to_start)
{
    struct wfs_worker *chosen = NULL;

    for (unsigned i = 0; i < p->n_workers; i++) {
        struct wfs_worker *w = &p->workers[i];

        if (!w->sleeping || w->woken)
            continue;
        chosen = w;
        if (!to_start || w->n_started < w->depth)
            break;
    }
    if (chosen)
        chosen->woken = true;
    return chosen;
}

static void wake(struct wfs_worker *w)
{
    if (!w)
        return;
    if (w->ring)
        wfs_ring_wake(w->ring);
    else
        pthread_cond_signal(&w->wake);
}

static void cancel_job(struct wfs_pool *p, struct wfs_job *job) /* locked; in no list */
{
    for (size_t i = 0; i < job->n_ios; i++) {
        job->ios[i].result = -ECANCELED;
        job->ios[i].abandoned = false;
    }
    job->cancelled = true;
    enter(p, job, JOB_READY);
}

void wfs_pool_submit(struct wfs_pool *p, struct wfs_job *job)
{
    struct wfs_worker *sleeper;

    job->prepared = 0;
    job->cancelled = false;
    job->worker = NULL;
    pthread_mutex_lock(&p->lock);
    if (p->stopping)
        cancel_job(p, job);
    else
        enter(p, job, job->n_ios || job->prepare ? JOB_QUEUED : JOB_READY);
    sleeper = choose_sleeper(p, job->state == JOB_QUEUED);
    pthread_mutex_unlock(&p->lock);
    wake(sleeper);
}

static void promote_in(struct wfs_pool *p, struct list *l, uint64_t key0, uint64_t key1, enum wfs_priority priority)
{
    for (struct wfs_job *job = l->head, *next; job; job = next) {
        next = job->next;
        if (job->key[0] != key0 || job->key[1] != key1 || job->priority <= priority)
            continue;
        if (job->state == JOB_STARTED) {
            job->priority = priority;
        } else {
            enum job_state state = (enum job_state)job->state;

            leave(p, job);
            job->priority = priority;
            enter(p, job, state);
        }
    }
}

void wfs_pool_promote(struct wfs_pool *p, uint64_t key0, uint64_t key1, enum wfs_priority priority)
{
    pthread_mutex_lock(&p->lock);
    for (int i = (int)priority + 1; i < WFS_PRIORITY_COUNT; i++) {
        promote_in(p, &p->queued[i], key0, key1, priority);
        promote_in(p, &p->ready[i], key0, key1, priority);
    }
    promote_in(p, &p->started, key0, key1, priority);
    pthread_mutex_unlock(&p->lock);
}

void wfs_pool_cancel(struct wfs_pool *p, uint64_t key0)
{
    struct wfs_worker *sleeper;

    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < WFS_PRIORITY_COUNT; i++) {
        for (struct wfs_job *job = p->queued[i].head, *next; job; job = next) {
            next = job->next;
            if (job->key[0] == key0) {
                leave(p, job);
                cancel_job(p, job);
            }
        }
    }
    sleeper = choose_sleeper(p, false);
    pthread_mutex_unlock(&p->lock);
    wake(sleeper);
}

/* Locked. The list's first job of the best priority better than (lower than) limit, or NULL. */
static struct wfs_job *first_below(struct list *lists, int limit)
{
    for (int i = 0; i < limit; i++) {
        if (lists[i].head)
            return lists[i].head;
    }
    return NULL;
}

static struct wfs_job *first_of_streams(const struct list *lists)
{
    return lists[WFS_STREAM].head ? lists[WFS_STREAM].head : lists[WFS_READAHEAD].head;
}

/* Locked. What to run next, or NULL. */
static struct wfs_job *choose_ready(const struct wfs_worker *w)
{
    struct wfs_pool *p = w->pool;

    if (p->owed > 0 && first_of_streams(p->ready))
        return first_of_streams(p->ready);
    return first_below(p->ready, w->rested || p->stopping ? WFS_PRIORITY_COUNT : WFS_IDLE);
}

/* Locked. A ready job is going to be run; it is in no list any more. */
static void count_turn(struct wfs_pool *p, const struct wfs_job *job)
{
    if ((job->priority == WFS_STREAM || job->priority == WFS_READAHEAD) && p->owed > 0)
        p->owed--;
    else if (job->priority == WFS_FOREGROUND && !p->ready[WFS_FOREGROUND].head && !p->queued[WFS_FOREGROUND].head &&
             (first_of_streams(p->ready) || first_of_streams(p->queued)))
        p->owed = STREAM_TURNS; /* it has overtaken them */
}

static void finish_io(struct wfs_worker *w, struct wfs_io *io)
{
    struct wfs_pool *p = w->pool;

    if (io->kind != WFS_IO_READ || io->apart)
        return;
    if (io->result == 0)
        atomic_fetch_add_explicit(&p->bytes_read, io->len, memory_order_relaxed);
    if (p->hooks && p->hooks->after_read)
        io->result = p->hooks->after_read(p->hooks->ctx, io);
}

/* A worker's job whose reads are all finished can be run by any worker. */
static void make_ready(struct wfs_worker *w, struct wfs_job *job)
{
    struct wfs_pool *p = w->pool;
    struct wfs_worker *sleeper;

    job->waited_ns = wfs_now_ns() - job->waited_ns;
    pthread_mutex_lock(&p->lock);
    leave(p, job);
    enter(p, job, JOB_READY);
    w->n_started--;
    if (w->n_started < DEPTH)
        w->depth = DEPTH;
    sleeper = job->prev ? choose_sleeper(p, false) : NULL; /* the first one this worker takes itself, soon */
    pthread_mutex_unlock(&p->lock);
    wake(sleeper);
}

static void begin(struct wfs_worker *w, struct wfs_job *job, struct wfs_io *ios, size_t n);

/* Its requests are done: the job goes on to its checks, or is ready. */
static void go_on(struct wfs_worker *w, struct wfs_job *job)
{
    if (!job->checking && job->prepared == 0 && job->n_checks > 0) {
        job->checking = true;
        begin(w, job, job->checks, job->n_checks);
    } else {
        make_ready(w, job);
    }
}

static void take_finished(struct wfs_worker *w, struct wfs_io *io)
{
    while (io) {
        struct wfs_io *next = io->next;

        finish_io(w, io);
        if (--io->job->n_pending == 0)
            go_on(w, io->job);
        io = next;
    }
}

static void begin(struct wfs_worker *w, struct wfs_job *job, struct wfs_io *ios, size_t n)
{
    job->n_pending = n;
    for (size_t i = 0; i < n; i++) {
        ios[i].job = job;
        ios[i].abandoned = false;
        ios[i].result = 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (w->ring) {
            wfs_ring_begin(w->ring, &ios[i]);
        } else {
            wfs_io_wait(&ios[i]);
            finish_io(w, &ios[i]);
        }
    }
    if (n == 0 || !w->ring)
        go_on(w, job);
}

static void start(struct wfs_worker *w, struct wfs_job *job)
{
    job->checking = false;
    if (job->prepare) {
        job->prepared = job->prepare(job);
        if (job->prepared < 0)
            job->n_ios = 0;
    }
    job->waited_ns = wfs_now_ns(); /* when they began */
    begin(w, job, job->ios, job->n_ios);
}

/*
 * Locked. True when something has been done or chosen to do (then unlocked), false when there is nothing (still
 * locked).
 */
static bool step(struct wfs_worker *w, bool *started)
{
    struct wfs_pool *p = w->pool;
    struct wfs_job *ready = choose_ready(w), *queued;
    /* With something to run, start at most one job of the same rank: its reads go on meanwhile. */
    int limit = !ready ? WFS_PRIORITY_COUNT : *started ? (int)ready->priority : (int)ready->priority + 1;

    if (ready && ready->priority == WFS_FOREGROUND && p->owed > 0) /* it is the streams' turn, but none is ready */
        limit = WFS_READAHEAD + 1;
    queued = w->n_started < w->depth ? first_below(p->queued, limit) : NULL;
    if (queued) {
        leave(p, queued);
        enter(p, queued, JOB_STARTED);
        queued->worker = w;
        w->n_started++;
        w->rested = false;
        *started = true;
        pthread_mutex_unlock(&p->lock);
        start(w, queued);
        return true;
    }
    if (ready) {
        struct wfs_worker *sleeper;

        leave(p, ready);
        sleeper = first_below(p->ready, WFS_IDLE) ? choose_sleeper(p, false) : NULL;
        *started = false;
        count_turn(p, ready);
        w->rested = w->rested && ready->priority == WFS_IDLE;
        pthread_mutex_unlock(&p->lock);
        wake(sleeper);
        ready->run(ready, w->scratch);
        return true;
    }
    return false;
}

/* Without a ring: sleeps until woken or for ms, if that is not WFS_RING_FOREVER. Locked. */
static void sleep_on_cond(struct wfs_worker *w, int ms)
{
    struct wfs_pool *p = w->pool;
    struct timespec until;
    int r = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!w->woken && !p->stopping && r == 0)
        r = ms < 0 ? pthread_cond_wait(&w->wake, &p->lock) : pthread_cond_timedwait(&w->wake, &p->lock, &until);
}

/* Locked; unlocks while asleep. */
static void sleep_until_woken(struct wfs_worker *w)
{
    struct wfs_pool *p = w->pool;
    /* Jobs that wait though this worker does nothing: it has its fill of reads in flight, or they are idle jobs. */
    bool waiting_jobs = first_below(p->queued, WFS_PRIORITY_COUNT) != NULL, idle_jobs = p->ready[WFS_IDLE].head != NULL;
    int ms = waiting_jobs ? PATIENCE_MS : idle_jobs ? IDLE_MS : WFS_RING_FOREVER;
    struct wfs_io *done = NULL;

    w->sleeping = true;
    if (w->ring) {
        pthread_mutex_unlock(&p->lock);
        done = wfs_ring_reap(w->ring, ms);
        pthread_mutex_lock(&p->lock);
    } else {
        sleep_on_cond(w, ms);
    }
    if (!done && !w->woken && waiting_jobs && w->depth < DEPTH_MAX)
        w->depth++;
    else if (!done && !w->woken && idle_jobs)
        w->rested = true;
    w->sleeping = w->woken = false;
    if (done) {
        pthread_mutex_unlock(&p->lock);
        take_finished(w, done);
        pthread_mutex_lock(&p->lock);
    }
}

/* Finished ones too: we do not know them apart, and a leak is safe. */
static void give_up(struct wfs_io *ios, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ios[i].result = -ECANCELED;
        ios[i].abandoned = true;
    }
}

/* The pool ends: waits a while for this worker's reads, then gives them up. */
static void end_reads(struct wfs_worker *w)
{
    struct wfs_pool *p = w->pool;
    uint64_t until = wfs_now_ns() + (uint64_t)ABANDON_MS * 1000000;

    if (!w->ring)
        return;
    wfs_ring_cancel(w->ring);
    while (w->n_started > 0 && wfs_now_ns() < until) /* only this worker changes its n_started */
        take_finished(w, wfs_ring_reap(w->ring, 10));
    pthread_mutex_lock(&p->lock);
    for (struct wfs_job *job = p->started.head, *next; job; job = next) {
        next = job->next;
        if (job->worker != w)
            continue;
        give_up(job->ios, job->n_ios);
        give_up(job->checks, job->n_checks);
        leave(p, job);
        enter(p, job, JOB_READY);
        w->n_started--;
    }
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg)
{
    struct wfs_worker *w = arg;
    struct wfs_pool *p = w->pool;
    struct wfs_error err = { 0 };
    bool started = false;

    if (p->want_ring)
        wfs_ring_open(&w->ring, &err);
    pthread_mutex_lock(&p->lock);
    if (err.code && !p->refused.code)
        p->refused = err;
    p->n_reported++;
    pthread_cond_signal(&p->reported);
    for (;;) {
        if (w->ring && w->n_started > 0) {
            pthread_mutex_unlock(&p->lock);
            take_finished(w, wfs_ring_reap(w->ring, 0));
            pthread_mutex_lock(&p->lock);
        }
        if (p->stopping && w->n_started > 0) {
            pthread_mutex_unlock(&p->lock);
            end_reads(w);
            pthread_mutex_lock(&p->lock);
        }
        if (step(w, &started)) {
            pthread_mutex_lock(&p->lock);
            continue;
        }
        if (p->stopping)
            break;
        sleep_until_woken(w);
    }
    pthread_mutex_unlock(&p->lock);
    if (w->ring)
        wfs_ring_stop(w->ring); /* closed by wfs_pool_free: others may be waking it now */
    return NULL;
}

static int start_threads(struct wfs_pool *p, unsigned wanted, struct wfs_error *err)
{
    sigset_t all, old;
    int r = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (unsigned i = 0; i < wanted && r == 0; i++) {
        struct wfs_worker *w = &p->workers[i];

        w->pool = p;
        w->depth = DEPTH;
        pthread_cond_init(&w->wake, NULL);
        w->scratch = aligned_alloc(SCRATCH_ALIGN, (p->scratch_bytes / SCRATCH_ALIGN + 1) * SCRATCH_ALIGN);
        r = w->scratch ? pthread_create(&w->thread, NULL, work, w) : ENOMEM;
        pthread_mutex_lock(&p->lock);
        if (r == 0) {
            p->n_workers++;
            pthread_setname_np(w->thread, "wfs-worker");
        } else {
            free(w->scratch);
            pthread_cond_destroy(&w->wake);
        }
        pthread_mutex_unlock(&p->lock);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_mutex_lock(&p->lock);
    while (p->n_reported < p->n_workers)
        pthread_cond_wait(&p->reported, &p->lock);
    pthread_mutex_unlock(&p->lock);
    return r ? wfs_error_set(err, r, "worker threads: %s", strerror(r)) : 0;
}

int wfs_pool_new(unsigned n_workers, size_t scratch_bytes, bool use_io_uring, const struct wfs_io_hooks *hooks,
                 struct wfs_pool **ret, struct wfs_error *err)
{
    unsigned wanted = n_workers ? n_workers : wfs_pool_default_workers();
    struct wfs_pool *p = calloc(1, sizeof *p + wanted * sizeof p->workers[0]);
    int r;

    if (!p)
        return wfs_error_set(err, ENOMEM, "worker pool: out of memory");
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->reported, NULL);
    p->want_ring = use_io_uring;
    p->scratch_bytes = scratch_bytes;
    p->hooks = hooks;
    if (!use_io_uring)
        wfs_error_set(&p->refused, ENOTSUP, "io_uring is switched off");
    r = start_threads(p, wanted, err);
    if (r < 0) {
        wfs_pool_free(p);
        return r;
    }
    *ret = p;
    return 0;
}

/* Waits for the workers, each for as long as reads get, and a while more for what it is computing. */
static bool join_workers(struct wfs_pool *p)
{
    struct timespec until;
    bool all = true;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += JOIN_S;
    for (unsigned i = 0; i < p->n_workers; i++) {
        if (!p->workers[i].joined)
            p->workers[i].joined = pthread_timedjoin_np(p->workers[i].thread, NULL, &until) == 0;
        all = all && p->workers[i].joined;
    }
    return all;
}

bool wfs_pool_free(struct wfs_pool *p)
{
    if (!p)
        return true;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    for (int i = 0; i < WFS_PRIORITY_COUNT; i++) {
        while (p->queued[i].head) {
            struct wfs_job *job = p->queued[i].head;

            leave(p, job);
            cancel_job(p, job);
        }
    }
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->n_workers; i++)
        wake(&p->workers[i]);
    if (!join_workers(p))
        return false;
    for (unsigned i = 0; i < p->n_workers; i++) {
        wfs_ring_close(p->workers[i].ring);
        free(p->workers[i].scratch);
        pthread_cond_destroy(&p->workers[i].wake);
    }
    pthread_cond_destroy(&p->reported);
    pthread_mutex_destroy(&p->lock);
    free(p);
    return true;
}

unsigned wfs_pool_workers(const struct wfs_pool *p)
{
    return p->n_workers;
}

bool wfs_pool_uses_io_uring(const struct wfs_pool *p)
{
    return p->refused.code == 0;
}

const char *wfs_pool_io_reason(const struct wfs_pool *p)
{
    return p->refused.code ? p->refused.msg : "";
}

uint64_t wfs_pool_bytes_read(const struct wfs_pool *p)
{
    return atomic_load_explicit(&((struct wfs_pool *)p)->bytes_read, memory_order_relaxed);
}
