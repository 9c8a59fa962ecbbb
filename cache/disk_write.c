/* The disk's thread: writes tiles, notes when views were last used, and has views completed when there is time. */
#include "disk_private.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    QUIET_MS = 500,   /* without tiles to write: then it may be looked whether a view is complete */
    NICE = 5,
    LOOK_MS = 2000,   /* how often it is looked whether the files still have their names */
};

#define MS ((uint64_t)1000000)

/* ---- the queue ---- */

bool wfs_disk_put(struct wfs_disk_view *v, uint64_t index, const void *bytes, size_t len, void (*done)(void *ctx),
                  void *ctx)
{
    struct wfs_disk *d = v->disk;
    struct wfs_disk_tile *t;

    if (!wfs_disk_is(d, WFS_DISK_ON))
        return false;
    t = malloc(sizeof *t);
    if (!t)
        return false;
    *t = (struct wfs_disk_tile){ .index = index, .bytes = bytes, .len = len, .done = done, .ctx = ctx };
    pthread_mutex_lock(&d->lock);
    if (d->stopping || len > d->options.queue_bytes - d->queued_bytes) {
        pthread_mutex_unlock(&d->lock);
        free(t);
        atomic_fetch_add_explicit(&d->dropped, 1, memory_order_relaxed);
        return false;
    }
    t->view = wfs_disk_view_ref(v);
    if (d->last)
        d->last->next = t;
    else
        d->queue = t;
    d->last = t;
    d->queued_bytes += len;
    pthread_cond_signal(&d->work);
    pthread_mutex_unlock(&d->lock);
    return true;
}

/* Locked. */
static struct wfs_disk_tile *take(struct wfs_disk *d)
{
    struct wfs_disk_tile *t = d->queue;

    if (!t)
        return NULL;
    d->queue = t->next;
    if (!d->queue)
        d->last = NULL;
    return t;
}

static void end_tile(struct wfs_disk *d, struct wfs_disk_tile *t)
{
    t->done(t->ctx);
    pthread_mutex_lock(&d->lock);
    d->queued_bytes -= t->len;
    pthread_mutex_unlock(&d->lock);
    wfs_disk_view_unref(t->view);
    free(t);
}

/* ---- writing ---- */

/* Another process may have pruned the view, or completed it: what has no name any more is opened anew. */
static struct wfs_disk_files *files_to_write(struct wfs_disk_view *v)
{
    struct wfs_disk_files *f = wfs_disk_files_get(v);
    uint64_t now = wfs_now_ns();
    struct stat data, sums;

    if (!f || now - v->looked_ns < LOOK_MS * MS)
        return f;
    v->looked_ns = now;
    if (fstat(f->data, &data) == 0 && fstat(f->sums, &sums) == 0 && data.st_nlink > 0 && sums.st_nlink > 0)
        return f;
    wfs_disk_files_put(f);
    wfs_disk_files_drop(v);
    return wfs_disk_files_get(v);
}

static void write_failed(struct wfs_disk *d, struct wfs_disk_view *v, int r)
{
    if (r == -ESTALE)
        wfs_disk_files_drop(v);
    else if (r == -EIO)
        wfs_disk_degrade(d, WFS_DISK_OFF, "a write failed", -r);
    else
        wfs_disk_degrade(d, WFS_DISK_READ_ONLY, "a write failed", -r);
}

static void write_tile(struct wfs_disk *d, struct wfs_disk_tile *t)
{
    struct wfs_disk_view *v = t->view;
    uint8_t record[WFS_DISK_RECORD];
    struct wfs_disk_files *f;
    uint64_t offset, len;
    int r;

    if (!wfs_disk_is(d, WFS_DISK_ON))
        return;
    v->shape.content->place(v->shape.ctx, t->index, &offset, &len);
    if (!wfs_disk_make_room(d, v, t->len)) {
        atomic_fetch_add(&d->dropped, 1);
        return;
    }
    f = files_to_write(v);
    if (!f || !f->writable) {
        atomic_fetch_add(&d->dropped, 1);
        wfs_disk_files_put(f);
        return;
    }
    wfs_disk_sum(&v->shape.key, t->index, t->bytes, t->len, record);
    r = wfs_disk_write_at(f->data, offset, t->bytes, t->len);
    if (r == 0)
        r = wfs_disk_write_at(f->sums, wfs_disk_record_offset(t->index), record, sizeof record);
    wfs_disk_files_put(f);
    if (r < 0) {
        write_failed(d, v, r);
        return;
    }
    atomic_fetch_add(&d->tiles_written, 1);
    atomic_fetch_add(&d->bytes_written, t->len);
    atomic_fetch_add(&d->used, t->len);
    pthread_mutex_lock(&v->lock);
    v->scan = true;
    pthread_mutex_unlock(&v->lock);
    pthread_mutex_lock(&d->lock);
    d->unfinished = true;
    pthread_mutex_unlock(&d->lock);
}

void wfs_disk_pump(struct wfs_disk *d)
{
    for (;;) {
        struct wfs_disk_tile *t;
        bool write;

        pthread_mutex_lock(&d->lock);
        t = take(d);
        write = !d->abandon;
        pthread_mutex_unlock(&d->lock);
        if (!t)
            return;
        if (write)
            write_tile(d, t);
        end_tile(d, t);
    }
}

bool wfs_disk_ending(struct wfs_disk *d)
{
    bool ending;

    pthread_mutex_lock(&d->lock);
    ending = d->stopping;
    pthread_mutex_unlock(&d->lock);
    return ending || !wfs_disk_is(d, WFS_DISK_READ_ONLY);
}

/* ---- what is done now and then ---- */

/* The view's last use, for whoever evicts. mtime, as filesystems are mounted with noatime; the disk's own clock. */
static void stamp(struct wfs_disk_view *v)
{
    static const struct timespec now[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_NOW } };
    struct wfs_disk_files *f;

    if (!atomic_exchange(&v->used, false))
        return;
    pthread_mutex_lock(&v->lock);
    f = v->files ? wfs_disk_files_ref(v->files) : NULL;
    pthread_mutex_unlock(&v->lock);
    if (f && f->writable)
        futimens(f->sums, now); /* failing, it is evicted sooner */
    wfs_disk_files_put(f);
}

/* Calls fn for each view there is, none of the disk's locks held. */
static void each_view(struct wfs_disk *d, void (*fn)(struct wfs_disk_view *v))
{
    struct wfs_disk_view **views, *v;
    size_t n = 0, i = 0;

    pthread_mutex_lock(&d->lock);
    for (v = d->views; v; v = v->next)
        n++;
    views = malloc((n + 1) * sizeof *views);
    for (v = d->views; v && views; v = v->next)
        views[i++] = wfs_disk_view_ref(v);
    pthread_mutex_unlock(&d->lock);
    for (n = i, i = 0; i < n; i++) {
        fn(views[i]);
        wfs_disk_view_unref(views[i]);
    }
    free(views);
}

/* Files that were evicted, pruned or replaced take up room while they are open, and nobody finds them again. */
static void drop_nameless(struct wfs_disk_view *v)
{
    struct wfs_disk_files *f;
    struct stat data, sums;

    pthread_mutex_lock(&v->lock);
    f = v->files ? wfs_disk_files_ref(v->files) : NULL;
    pthread_mutex_unlock(&v->lock);
    if (f && fstat(f->data, &data) == 0 && fstat(f->sums, &sums) == 0 && (data.st_nlink == 0 || sums.st_nlink == 0))
        wfs_disk_files_drop(v);
    wfs_disk_files_put(f);
}

void wfs_disk_drop_nameless(struct wfs_disk *d)
{
    each_view(d, drop_nameless);
    wfs_disk_files_close(d);
}

static void finish_view(struct wfs_disk_view *v)
{
    bool scan, verify;

    pthread_mutex_lock(&v->lock);
    scan = v->scan && v->files;
    verify = v->verify && v->files;
    v->scan = v->verify = false;
    pthread_mutex_unlock(&v->lock);
    if (scan && v->shape.completes && !wfs_disk_ending(v->disk))
        wfs_disk_complete(v);
    if (verify && !wfs_disk_ending(v->disk))
        wfs_disk_verify(v);
}

static void wait_for_work(struct wfs_disk *d) /* locked */
{
    bool unfinished = d->unfinished;
    uint64_t most = (unfinished ? QUIET_MS : WFS_DISK_STAMP_S * 1000) * MS;
    struct timespec until = wfs_timespec_of_ns(wfs_now_ns() + most);

    while (!d->queue && !d->stopping && !d->closing && d->unfinished == unfinished &&
           pthread_cond_timedwait(&d->work, &d->lock, &until) != ETIMEDOUT)
        ;
}

/*
 * Writing takes its turn with the conversions: a thread that gets a little too late to it drops tiles for good. Reading
 * whole files through may wait. Only for who gets back what was given up, which a container's root mostly does not:
 * whoever may take more may also take this back. ret_usual: the priority before.
 */
static bool step_back(int *ret_usual)
{
    id_t self = (id_t)gettid();
    int usual = getpriority(PRIO_PROCESS, self);

    *ret_usual = usual;
    return setpriority(PRIO_PROCESS, self, usual - 1) == 0 && setpriority(PRIO_PROCESS, self, usual + NICE) == 0;
}

static void finish_views(struct wfs_disk *d)
{
    bool unfinished, back;
    int usual;

    pthread_mutex_lock(&d->lock);
    unfinished = d->unfinished;
    d->unfinished = false;
    pthread_mutex_unlock(&d->lock);
    if (!unfinished)
        return;
    back = step_back(&usual);
    each_view(d, finish_view);
    if (back)
        setpriority(PRIO_PROCESS, (id_t)gettid(), usual);
}

void *wfs_disk_thread(void *arg)
{
    struct wfs_disk *d = arg;
    uint64_t stamped = wfs_now_ns(), busy = stamped, now;
    bool stopping, worked;

    wfs_disk_first_look(d);
    do {
        pthread_mutex_lock(&d->lock);
        wait_for_work(d);
        stopping = d->stopping;
        worked = d->queue != NULL;
        pthread_mutex_unlock(&d->lock);
        wfs_disk_pump(d);
        wfs_disk_files_close(d);
        now = wfs_now_ns();
        busy = worked ? now : busy;
        if (stopping || now - stamped > (uint64_t)WFS_DISK_STAMP_S * 1000 * MS) {
            each_view(d, stamp);
            wfs_disk_drop_nameless(d);
            stamped = now;
        }
        if (!stopping && now - busy > QUIET_MS * MS)
            finish_views(d);
    } while (!stopping);
    return NULL;
}
