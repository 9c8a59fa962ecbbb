/*
 * Old generations are let go: their files are wrong names for the kernel the moment a new generation is there, but it
 * would remember them, and so keep their descriptors and memory in use, until somebody asks for the name again. A
 * thread of its own tells it, as the kernel may make the teller wait for a lookup in the same folder to be answered.
 */
#include "fuse_skin.h"

#include <string.h>

enum { BATCH = 64 };

static void prune(struct wfs_skin *skin)
{
    struct wfs_generation *current = wfs_fs_generation(skin->fs);
    struct wfs_stale stale[BATCH];
    size_t cursor = 0, n;

    do {
        n = wfs_nodeids_stale(skin->ids, current, &cursor, stale, BATCH);
        for (size_t i = 0; i < n; i++)
            fuse_lowlevel_notify_inval_entry(skin->session, stale[i].parent, stale[i].name, strlen(stale[i].name));
    } while (n == BATCH && !fuse_session_exited(skin->session));
    wfs_generation_unref(current);
}

static void *prune_main(void *arg)
{
    struct wfs_skin *skin = arg;

    pthread_mutex_lock(&skin->lock);
    for (;;) {
        while (!skin->prune && skin->pruner_runs)
            pthread_cond_wait(&skin->prune_wanted, &skin->lock);
        if (!skin->pruner_runs)
            break;
        skin->prune = false;
        pthread_mutex_unlock(&skin->lock);
        prune(skin);
        pthread_mutex_lock(&skin->lock);
    }
    pthread_mutex_unlock(&skin->lock);
    return NULL;
}

int wfs_prune_start(struct wfs_skin *skin, struct fuse_session *session)
{
    int r;

    pthread_mutex_lock(&skin->lock);
    skin->session = session;
    pthread_cond_init(&skin->prune_wanted, NULL);
    r = pthread_create(&skin->pruner, NULL, prune_main, skin);
    skin->pruner_runs = r == 0;
    pthread_mutex_unlock(&skin->lock);
    return -r;
}

void wfs_prune_stop(struct wfs_skin *skin)
{
    bool ran;

    pthread_mutex_lock(&skin->lock);
    ran = skin->pruner_runs;
    skin->pruner_runs = false;
    pthread_cond_signal(&skin->prune_wanted);
    pthread_mutex_unlock(&skin->lock);
    if (ran)
        pthread_join(skin->pruner, NULL);
    pthread_cond_destroy(&skin->prune_wanted);
}

void wfs_prune_check(struct wfs_skin *skin)
{
    struct wfs_generation *g = wfs_fs_generation(skin->fs);
    uint64_t number = wfs_generation_number(g);

    wfs_generation_unref(g);
    pthread_mutex_lock(&skin->lock);
    if (number > skin->pruned_generation) {
        skin->prune = skin->pruned_generation > 0;
        skin->pruned_generation = number;
        if (skin->prune && skin->pruner_runs)
            pthread_cond_signal(&skin->prune_wanted);
    }
    pthread_mutex_unlock(&skin->lock);
}
