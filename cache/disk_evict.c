/*
 * Room on disk: the least recently used views go, whole ones and parts alike. Others may write at the same time, so
 * what is used up is a sum of what was seen last and of what this process has written since.
 */
#include "disk_private.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FULL_S = 5, LOOK_S = 60 };

#define SECOND ((uint64_t)1000000000)

/* A stamp of a clock that has been set back since is none: it would keep the view for as long. */
static bool is_in_use(const struct wfs_disk_found *f)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return llabs((long long)now.tv_sec - f->last_use.tv_sec) < WFS_DISK_IN_USE_S;
}

/* Looks what is there and takes away until at most target bytes are. */
static void evict_to(struct wfs_disk *d, const struct wfs_disk_view *writing, uint64_t target)
{
    struct wfs_disk_survey s;
    bool evicted = false;
    uint64_t left;

    d->surveyed_ns = wfs_now_ns();
    if (wfs_disk_survey(d->folder, true, &s) < 0)
        return;
    left = s.bytes;
    for (size_t i = 0; i < s.n_views && left > target; i++) {
        if ((writing && strcmp(s.views[i].key, writing->hex) == 0) || is_in_use(&s.views[i]) ||
            wfs_disk_remove(d->folder, &s.views[i]) < 0)
            continue;
        left -= s.views[i].disk_bytes;
        atomic_fetch_add(&d->views_evicted, 1);
        evicted = true;
    }
    wfs_disk_survey_done(&s);
    atomic_store(&d->used, left);
    if (evicted)
        wfs_disk_drop_nameless(d); /* our own views' may be among them: the room is there once they are closed */
}

/* What is there when the mount begins: so that who asks is not told 0, and for the limit. */
void wfs_disk_first_look(struct wfs_disk *d)
{
    struct wfs_disk_survey s;
    uint64_t limit;

    if (wfs_disk_survey(d->folder, false, &s) < 0)
        return;
    atomic_store(&d->used, s.bytes);
    limit = wfs_disk_limit(d, s.bytes);
    wfs_disk_survey_done(&s);
    pthread_mutex_lock(&d->lock);
    d->limit = limit;
    pthread_mutex_unlock(&d->lock);
}

bool wfs_disk_make_room(struct wfs_disk *d, const struct wfs_disk_view *writing, uint64_t len)
{
    uint64_t now = wfs_now_ns(), limit = d->limit;

    if (len > limit)
        return false;
    if (d->surveyed_ns == 0 || now - d->surveyed_ns > LOOK_S * SECOND)
        evict_to(d, writing, limit);
    if (atomic_load(&d->used) + len <= limit)
        return true;
    if (now < d->full_until_ns)
        return false;
    evict_to(d, writing, limit - limit / 16 > len ? limit - limit / 16 - len : 0);
    if (atomic_load(&d->used) + len <= limit)
        return true;
    d->full_until_ns = now + FULL_S * SECOND;
    return false;
}
