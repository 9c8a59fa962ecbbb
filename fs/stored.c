/* What a generation's objects keep on disk: the content of its files, and what listings call the model. */
#include "generation.h"
#include "store.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of each file that holds weights. NULL when out of memory. */
static const struct wfs_digest *digests_of(struct wfs_generation *g)
{
    struct wfs_source *s = g->source;

    pthread_mutex_lock(&g->digests_lock);
    if (!g->digests) {
        g->digests = calloc(s->n_files + 1, sizeof *g->digests);
        for (size_t i = 0; g->digests && i < g->model->n_files; i++) {
            struct wfs_source_file *f = g->model_files[i];

            if (f)
                wfs_digest_of(wfs_fs_digest_memory(g->fs), s, f, &g->digests[f - s->files]);
        }
    }
    pthread_mutex_unlock(&g->digests_lock);
    return g->digests;
}

void wfs_generation_find_digests(struct wfs_generation *g)
{
    const struct wfs_digest *digests = wfs_fs_disk(g->fs) ? digests_of(g) : NULL;

    g->has_digests = digests && g->model->n_files > 0;
    for (size_t i = 0; digests && i < g->model->n_files; i++) {
        struct wfs_source_file *f = g->model_files[i];

        if (f && digests[f - g->source->files].from == WFS_DIGEST_HOST)
            g->has_digests = false;
    }
}

/* The folder's name; in a hub's cache ("models--ORG--NAME/snapshots/…") what the hub calls it. */
static void name_model(const char *path, char *ret, size_t size)
{
    const char *hub = strstr(path, "/models--"), *slash = strrchr(path, '/');
    size_t len, at = 0;

    if (!hub || !strstr(hub, "/snapshots/")) {
        snprintf(ret, size, "%s", slash && slash[1] ? slash + 1 : path);
        return;
    }
    hub += strlen("/models--");
    len = strcspn(hub, "/");
    for (size_t i = 0; i < len && at + 1 < size; i++) {
        if (hub[i] == '-' && i + 1 < len && hub[i + 1] == '-') {
            ret[at++] = '/';
            i++;
        } else {
            ret[at++] = hub[i];
        }
    }
    ret[at] = 0;
}

struct wfs_store *wfs_generation_store(const struct wfs_node *n, const struct wfs_layout *layout,
                                       struct wfs_source_file **files, size_t n_files)
{
    struct wfs_generation *g = n->generation;
    struct wfs_digest *by_file WFS_CLEANUP(wfs_free) = NULL;
    uint64_t *sizes WFS_CLEANUP(wfs_free) = NULL;
    struct wfs_store *store = NULL;
    const struct wfs_digest *digests;
    char model[256];
    struct wfs_store_about about = { .layout = layout, .n_files = n_files, .model = model, .name = n->path, .node = n,
                                     .waits = !wfs_fs_disk_is_local(g->fs) };
    bool tiled = false;

    for (size_t i = 0; i < layout->n_segments && !tiled; i++)
        tiled = layout->segments[i].kind == WFS_SEGMENT_TENSOR;
    if (!wfs_fs_disk(g->fs) || !tiled || g->source->unsettled_until.tv_sec != 0)
        return NULL;
    digests = digests_of(g);
    by_file = calloc(n_files + 1, sizeof *by_file);
    sizes = calloc(n_files + 1, sizeof *sizes);
    if (!digests || !by_file || !sizes)
        return NULL;
    for (size_t i = 0; i < n_files; i++) {
        if (!files[i])
            continue;
        by_file[i] = digests[files[i] - g->source->files];
        sizes[i] = files[i]->identity.size;
    }
    name_model(g->source->path, model, sizeof model);
    about.digests = by_file;
    about.sizes = sizes;
    wfs_store_new(wfs_fs_disk(g->fs), &about, &store); /* without one the view is made anew each time */
    return store;
}
