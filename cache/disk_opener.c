/*
 * Opening views' files. On a disk that hangs an open waits, and no signal or request of the ring ends it: so a thread
 * of its own does that, one view after the other, and whoever wants the files waits for it a short while at most.
 */
#include "disk_private.h"
#include "base/clock.h"

enum {
    HANG_MS = 200, /* an open that takes longer is not waited for, nor are those behind it */
    MOST_MS = 1000, /* with many in front of it */
    LOOK_MS = 50,  /* how often who waits looks whether it hangs */
    AGAIN_MS = 1000, /* after an open that failed: where nothing is kept, not one for each tile */
};

#define MS ((uint64_t)1000000)

static bool hangs(struct wfs_disk *d)
{
    uint64_t began = atomic_load(&d->open_began_ns);

    return began != 0 && wfs_now_ns() - began > HANG_MS * MS;
}

static void ask(struct wfs_disk_view *v)
{
    struct wfs_disk *d = v->disk;
    bool wanted;

    pthread_mutex_lock(&d->lock);
    pthread_mutex_lock(&v->lock);
    wanted = !d->stopping && !v->files && !v->opening &&
             (v->failed_ns == 0 || wfs_now_ns() - v->failed_ns > AGAIN_MS * MS);
    v->opening = v->opening || wanted;
    pthread_mutex_unlock(&v->lock);
    if (wanted) {
        wfs_disk_view_ref(v);
        v->next_to_open = NULL;
        *(d->last_to_open ? &d->last_to_open->next_to_open : &d->to_open) = v;
        d->last_to_open = v;
        pthread_cond_signal(&d->open_wanted);
    }
    pthread_mutex_unlock(&d->lock);
}

/* Locked. */
static void wait_opened(struct wfs_disk_view *v)
{
    uint64_t most = wfs_now_ns() + MOST_MS * MS, now;

    while (v->opening && (now = wfs_now_ns()) < most && !hangs(v->disk)) {
        struct timespec until = wfs_timespec_of_ns(now + LOOK_MS * MS);

        pthread_cond_timedwait(&v->opened, &v->lock, &until);
    }
}

struct wfs_disk_files *wfs_disk_files_get(struct wfs_disk_view *v)
{
    struct wfs_disk_files *f = NULL;
    bool asked;

    if (!wfs_disk_is(v->disk, WFS_DISK_READ_ONLY))
        return NULL;
    pthread_mutex_lock(&v->lock);
    asked = v->files || v->opening;
    pthread_mutex_unlock(&v->lock);
    if (!asked)
        ask(v);
    pthread_mutex_lock(&v->lock);
    wait_opened(v);
    if (v->files)
        f = wfs_disk_files_ref(v->files);
    pthread_mutex_unlock(&v->lock);
    return f;
}

void *wfs_disk_opener(void *arg)
{
    struct wfs_disk *d = arg;
    struct wfs_disk_view *v;

    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!d->to_open && !d->stopping)
            pthread_cond_wait(&d->open_wanted, &d->lock);
        v = d->to_open;
        if (!v)
            break;
        d->to_open = v->next_to_open;
        if (!d->to_open)
            d->last_to_open = NULL;
        pthread_mutex_unlock(&d->lock);
        atomic_store(&d->open_began_ns, wfs_now_ns());
        wfs_disk_files_open(v);
        atomic_store(&d->open_began_ns, 0);
        wfs_disk_view_unref(v);
        pthread_mutex_lock(&d->lock);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}
