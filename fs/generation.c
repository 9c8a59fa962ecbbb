#include "generation.h"
#include "base/cleanup.h"
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Computed views are as old as the newest thing they are made of. */
static void find_times(struct wfs_generation *g)
{
    for (size_t i = 0; i < g->source->n_files; i++)
        g->mtime_all = wfs_newer(g->mtime_all, g->source->files[i].identity.mtime);
    for (size_t i = 0; i < g->model->n_files; i++) {
        if (g->model_files[i])
            g->mtime_weights = wfs_newer(g->mtime_weights, g->model_files[i]->identity.mtime);
    }
    if (g->model->n_files == 0)
        g->mtime_weights = g->mtime_all;
}

static int offer_status(struct wfs_generation *g)
{
    struct wfs_node *n;
    int r = wfs_tree_add(&g->tree, WFS_STATUS_PATH, WFS_NODE_STATUS, &n);

    if (r <= 0)
        return r;
    n->mtime = g->mtime_all;
    n->listed = true;
    return 0;
}

static int build_tree(struct wfs_generation *g, struct wfs_error *err)
{
    struct wfs_tree *t = &g->tree;
    int r = wfs_tree_init(t, g);

    for (size_t i = 0; i < wfs_n_views && r == 0; i++) {
        r = wfs_views[i].offer(g, &wfs_views[i], err);
        if (r < 0)
            return r;
    }
    if (r == 0)
        r = offer_status(g);
    if (r == 0)
        r = wfs_tree_finish(t);
    if (r < 0)
        return wfs_error_set(err, ENOMEM, "out of memory for the tree of names");
    t->nodes[0].mtime = g->source->root.mtime;
    for (size_t i = 1; i < t->n_nodes; i++) {
        if (t->nodes[i].kind == WFS_NODE_DIR && t->nodes[i].mtime.tv_sec == 0)
            t->nodes[i].mtime = g->mtime_weights;
    }
    return 0;
}

static void free_generation(struct wfs_generation *g)
{
    wfs_generation_free_objects(g);
    wfs_tree_done(&g->tree);
    wfs_gguf_free(g->gguf);
    if (g->npy_names.model)
        wfs_npy_names_done(&g->npy_names);
    wfs_model_free(g->model);
    wfs_selection_done(&g->selection);
    for (size_t i = 0; i < g->n_withheld; i++) {
        free(g->withheld[i].path);
        free(g->withheld[i].reason);
    }
    free(g->withheld);
    free(g->model_files);
    free(g->own_single_problem);
    free(g->gguf_reason);
    free(g->gguf_measures);
    for (size_t i = 0; g->gguf_notes && i < wfs_gguf_n_formats + wfs_fs_options_of(g->fs)->n_recipes; i++)
        free(g->gguf_notes[i]);
    free(g->gguf_notes);
    free(g->architecture);
    wfs_source_close(g->source);
    pthread_cond_destroy(&g->settled_cond);
    pthread_mutex_destroy(&g->lock);
    pthread_mutex_destroy(&g->digests_lock);
    free(g->digests);
    free(g);
}

int wfs_generation_new(struct wfs_fs *fs, struct wfs_source *source, uint64_t number, struct wfs_generation **ret,
                       struct wfs_error *err)
{
    struct wfs_generation *g = calloc(1, sizeof *g);
    pthread_condattr_t monotonic;
    int r;

    if (!g) {
        wfs_source_close(source);
        return wfs_error_set(err, ENOMEM, "out of memory");
    }
    g->refs = 1;
    g->fs = fs;
    g->number = number;
    g->source = source;
    pthread_mutex_init(&g->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&g->settled_cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&g->digests_lock, NULL);
    r = wfs_generation_load_model(g, err);
    if (r == 0) {
        find_times(g);
        r = wfs_npy_names_init(&g->npy_names, g->model);
        if (r < 0)
            wfs_error_set(err, ENOMEM, "out of memory");
    }
    if (r == 0)
        r = build_tree(g, err);
    if (r < 0) {
        free_generation(g);
        return r;
    }
    *ret = g;
    return 0;
}

struct wfs_generation *wfs_generation_ref(struct wfs_generation *g)
{
    atomic_fetch_add(&g->refs, 1);
    return g;
}

bool wfs_generation_try_ref(struct wfs_generation *g)
{
    unsigned refs = atomic_load(&g->refs);

    while (refs > 0) {
        if (atomic_compare_exchange_weak(&g->refs, &refs, refs + 1))
            return true;
    }
    return false;
}

void wfs_generation_unref(struct wfs_generation *g)
{
    if (g && atomic_fetch_sub(&g->refs, 1) == 1)
        free_generation(g);
}

uint64_t wfs_generation_number(const struct wfs_generation *g)
{
    return g->number;
}

int wfs_generation_withhold(struct wfs_generation *g, const char *path, const char *kind, const char *reason)
{
    struct wfs_withheld *grown = reallocarray(g->withheld, g->n_withheld + 1, sizeof *grown);
    struct wfs_withheld *w;

    if (!grown)
        return -ENOMEM;
    g->withheld = grown;
    w = &g->withheld[g->n_withheld++];
    *w = (struct wfs_withheld){ .path = strdup(path), .kind = kind, .reason = strdup(reason) };
    return w->path && w->reason ? 0 : -ENOMEM;
}

/* --- what is in it --- */

int wfs_generation_each_view(struct wfs_generation *g, int (*fn)(void *ctx, const struct wfs_view_info *info),
                             void *ctx)
{
    int r = 0;

    wfs_generation_wait(g);
    for (size_t i = 0; i + 1 < g->tree.n_nodes && r == 0; i++) {
        const struct wfs_node *n = &g->tree.nodes[g->tree.order[i]];
        struct wfs_view_info info = { .path = n->path, .size = n->size, .listed = n->listed, .unusual = n->unusual };

        if (n->kind != WFS_NODE_FILE)
            continue;
        info.kind = n->view->kind;
        if (n->state == WFS_STATE_WITHHELD)
            info.reason = n->reason ? n->reason : "out of memory";
        info.quantised = wfs_view_quantised(n);
        info.notes = wfs_view_notes(n);
        r = fn(ctx, &info);
    }
    for (size_t i = 0; i < g->n_withheld && r == 0; i++) {
        struct wfs_view_info info = { .path = g->withheld[i].path, .kind = g->withheld[i].kind,
                                      .reason = g->withheld[i].reason };

        r = fn(ctx, &info);
    }
    return r;
}

const char *wfs_generation_shadowed(const struct wfs_generation *g, const char *path)
{
    for (size_t i = 0; i < g->n_withheld; i++) {
        if (g->withheld[i].is_shadowed && strcmp(g->withheld[i].path, path) == 0)
            return g->withheld[i].reason;
    }
    return NULL;
}

int wfs_generation_model_info(struct wfs_generation *g, struct wfs_model_info *ret)
{
    wfs_generation_wait(g);
    *ret = (struct wfs_model_info){
        .architecture = g->architecture ? g->architecture : "",
        .gguf_reason = g->gguf_reason,
        .model = g->model->n_files ? g->model : NULL,
        .n_parameters = g->n_parameters,
    };
    return 0;
}
