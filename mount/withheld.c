#include "withheld.h"

#include "base/cleanup.h"
#include "preflight.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_MS = 50 };

/* Shared with the worker that settles the generation, which may outlive the wait: whoever is last frees it. */
struct wait {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool settled;
    atomic_int refs;
};

static void wait_unref(struct wait *w)
{
    if (atomic_fetch_sub(&w->refs, 1) != 1)
        return;
    pthread_cond_destroy(&w->cond);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static void on_settled(void *ctx)
{
    struct wait *w = ctx;

    pthread_mutex_lock(&w->lock);
    w->settled = true;
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->lock);
    wait_unref(w);
}

static bool wait_settled(const struct wfs_node *root, int ms)
{
    struct wait *w = calloc(1, sizeof *w);
    struct timespec until;
    bool settled;

    if (!w)
        return false;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->cond, NULL);
    atomic_init(&w->refs, 2);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms % 1000 * 1000000L;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    wfs_node_when_ready(root, on_settled, w);
    pthread_mutex_lock(&w->lock);
    while (!w->settled && pthread_cond_timedwait(&w->cond, &w->lock, &until) == 0)
        ;
    settled = w->settled;
    pthread_mutex_unlock(&w->lock);
    wait_unref(w);
    return settled;
}

struct count {
    size_t n;
    char path[300], first[1000]; /* of the first: name and reason */
    bool differ;                 /* others have other reasons */
};

static int count_withheld(void *ctx, const struct wfs_view_info *info)
{
    struct count *c = ctx;

    if (!info->reason || info->unusual)
        return 0;
    if (c->n++ == 0) {
        wfs_escape(c->path, sizeof c->path, info->path, strlen(info->path));
        snprintf(c->first, sizeof c->first, "%s", info->reason);
    }
    c->differ |= strncmp(c->first, info->reason, sizeof c->first - 1) != 0;
    return 0;
}

static void describe(struct wfs_fs *fs, struct wfs_generation *g, char *ret, size_t size)
{
    char source[1200], hint[400];
    struct wfs_model_info model;
    struct count c = { 0 };

    wfs_escape(source, sizeof source, wfs_fs_source_path(fs), strlen(wfs_fs_source_path(fs)));
    wfs_generation_model_info(g, &model);
    wfs_generation_each_view(g, count_withheld, &c);
    if (c.n == 0)
        return;
    if (model.model && c.n == 1)
        snprintf(ret, size, "%s is withheld: %s\n", c.path, c.first);
    else if (model.model)
        snprintf(ret, size, "%zu views are withheld%s%s: %s\n`weightfs ls %s`, with the same options, says more\n", c.n,
                 c.differ ? "; the first, " : "", c.differ ? c.path : "", c.first, source);
    else
        snprintf(ret, size, "no weights found in %s: only its files are shown%s\n%s\n", source,
                 wfs_preflight_hub_hint(wfs_fs_source_path(fs), hint, sizeof hint), c.first);
}

void wfs_withheld_describe(struct wfs_fs *fs, char *ret, size_t size)
{
    struct wfs_generation *g = wfs_fs_generation(fs);

    ret[0] = 0;
    if (wait_settled(wfs_generation_root(g), PATIENCE_MS))
        describe(fs, g, ret, size);
    wfs_generation_unref(g);
}
