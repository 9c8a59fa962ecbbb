#include "generation.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "json.h"
#include "view.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_SLACK = 4096 /* counters grow, errors come; see wfs_fs_status_file */ };

#define STATUS_DIR ".weightfs"
#define STATUS_PATH STATUS_DIR "/status.json"

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
    int r = wfs_tree_add(&g->tree, STATUS_PATH, WFS_NODE_STATUS, &n);

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
    free(g->architecture);
    wfs_source_close(g->source);
    pthread_cond_destroy(&g->settled_cond);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

int wfs_generation_new(struct wfs_fs *fs, struct wfs_source *source, uint64_t number, struct wfs_generation **ret,
                       struct wfs_error *err)
{
    struct wfs_generation *g = calloc(1, sizeof *g);
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
    pthread_cond_init(&g->settled_cond, NULL);
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
    w->path = strdup(path);
    w->kind = kind;
    w->reason = strdup(reason);
    return w->path && w->reason ? 0 : -ENOMEM;
}

/* --- settling --- */

/* What config.json calls the model. */
static char *read_architecture(const struct wfs_folder *folder)
{
    struct wfs_blob WFS_CLEANUP(wfs_blob_done) text = { NULL, 0 };
    struct wfs_json *json = NULL;
    const cJSON *root, *list;
    const char *name = NULL;
    char *copy;

    if (folder->read(folder->ctx, "config.json", &text, NULL) != 1 ||
        wfs_json_parse(text.data, text.len, &WFS_JSON_PYTHON, "config.json", &json, NULL) < 0)
        return strdup("");
    root = wfs_json_root(json);
    list = wfs_json_get(root, "architectures");
    if (cJSON_IsArray(list))
        name = wfs_json_string(list->child);
    if (!name)
        name = wfs_json_string(wfs_json_get(root, "model_type"));
    copy = strdup(name ? name : "");
    wfs_json_free(json);
    return copy;
}

static bool has_pending_gguf(const struct wfs_generation *g)
{
    for (size_t i = 0; i < g->tree.n_nodes; i++) {
        const struct wfs_node *n = &g->tree.nodes[i];

        if (n->kind == WFS_NODE_FILE && n->view->prepare && n->state == WFS_STATE_PENDING)
            return true;
    }
    return false;
}

static void open_gguf(struct wfs_generation *g)
{
    const struct wfs_fs_options *options = wfs_fs_options_of(g->fs);
    struct wfs_gguf_options gguf_options = { options->model_name, options->pretokenizer };
    const char *reason = g->model->problem ? g->model->problem : g->model->problem_gguf;
    struct wfs_folder_source folder;
    struct wfs_error err = { 0 };

    if (wfs_folder_source_init(&folder, g->source) < 0)
        return;
    if (reason)
        g->gguf_reason = strdup(reason);
    else if (has_pending_gguf(g) && wfs_gguf_open(g->model, &folder.folder, &gguf_options, &g->gguf, &err) < 0)
        g->gguf_reason = strdup(err.msg);
    g->architecture = read_architecture(&folder.folder);
    wfs_folder_source_done(&folder);
}

/* One line per reason, not per view. */
static void log_withheld(struct wfs_generation *g)
{
    const struct wfs_tree *t = &g->tree;

    for (size_t i = 0; i + 1 < t->n_nodes;) {
        const struct wfs_node *first = &t->nodes[t->order[i]];
        size_t same = 0;

        i++;
        if (first->state != WFS_STATE_WITHHELD || !first->reason || first->unusual)
            continue;
        for (; i + 1 < t->n_nodes; i++, same++) {
            const struct wfs_node *n = &t->nodes[t->order[i]];

            if (n->state != WFS_STATE_WITHHELD || !n->reason || n->unusual || strcmp(n->reason, first->reason) != 0)
                break;
        }
        if (same)
            wfs_fs_log(g->fs, WFS_LOG_WARNING, "%s and %zu more are withheld: %s", first->path, same, first->reason);
        else
            wfs_fs_log(g->fs, WFS_LOG_WARNING, "%s is withheld: %s", first->path, first->reason);
    }
    for (size_t i = 0; i < g->n_withheld; i++)
        wfs_fs_log(g->fs, WFS_LOG_WARNING, "some of %s are withheld: %s", g->withheld[i].path, g->withheld[i].reason);
    if (g->model->note)
        wfs_fs_log(g->fs, WFS_LOG_INFO, "%s", g->model->note);
}

static void settle_status(struct wfs_generation *g)
{
    struct wfs_node *n = wfs_tree_find(&g->tree, STATUS_PATH, strlen(STATUS_PATH));
    struct wfs_buf WFS_CLEANUP(wfs_buf_done) text = WFS_BUF_INIT;

    if (!n || n->kind != WFS_NODE_STATUS)
        return;
    if (wfs_status_render(g, &text) < 0) {
        wfs_node_withhold(n, "out of memory");
        return;
    }
    n->size = text.len + STATUS_SLACK;
    n->state = WFS_STATE_READY;
}

void wfs_generation_prepare(struct wfs_generation *g)
{
    struct wfs_settle_waiter *waiters;

    open_gguf(g);
    for (size_t i = 0; i < g->tree.n_nodes; i++) {
        struct wfs_node *n = &g->tree.nodes[i];

        if (n->kind == WFS_NODE_FILE && n->state == WFS_STATE_PENDING)
            n->view->prepare(g, n);
    }
    settle_status(g);
    pthread_mutex_lock(&g->lock);
    g->settled = true;
    waiters = WFS_STEAL(g->waiters);
    pthread_cond_broadcast(&g->settled_cond);
    pthread_mutex_unlock(&g->lock);
    while (waiters) {
        struct wfs_settle_waiter *w = waiters;

        waiters = w->next;
        w->done(w->ctx);
        free(w);
    }
    /* Nobody waits any more. */
    log_withheld(g);
    malloc_trim(0); /* a large tokenizer was here */
}

static bool is_settled(struct wfs_generation *g)
{
    bool settled;

    pthread_mutex_lock(&g->lock);
    settled = g->settled;
    pthread_mutex_unlock(&g->lock);
    return settled;
}

/* The folders that hold nodes which wait for the generation to settle. */
static bool has_late_children(const struct wfs_node *dir)
{
    return dir->path[0] == 0 || strcmp(dir->path, STATUS_DIR) == 0;
}

int wfs_node_ready(const struct wfs_node *n)
{
    if (n->kind == WFS_NODE_DIR)
        return has_late_children(n) ? is_settled(n->generation) : 1;
    switch (atomic_load(&n->state)) {
    case WFS_STATE_READY:
        return 1;
    case WFS_STATE_WITHHELD:
        return -ENOENT;
    default:
        return 0;
    }
}

void wfs_node_when_ready(const struct wfs_node *n, void (*done)(void *ctx), void *ctx)
{
    struct wfs_generation *g = n->generation;
    struct wfs_settle_waiter *w = NULL;

    if (wfs_node_ready(n) == 0)
        w = malloc(sizeof *w);
    if (w) {
        *w = (struct wfs_settle_waiter){ .done = done, .ctx = ctx };
        pthread_mutex_lock(&g->lock);
        if (!g->settled) {
            w->next = g->waiters;
            g->waiters = w;
            w = NULL;
        }
        pthread_mutex_unlock(&g->lock);
        if (!w)
            return;
        free(w);
    }
    /* Out of memory: the caller finds the node not ready and says so. */
    done(ctx);
}

void wfs_generation_wait(struct wfs_generation *g)
{
    pthread_mutex_lock(&g->lock);
    while (!g->settled)
        pthread_cond_wait(&g->settled_cond, &g->lock);
    pthread_mutex_unlock(&g->lock);
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
        r = fn(ctx, &info);
    }
    for (size_t i = 0; i < g->n_withheld && r == 0; i++) {
        struct wfs_view_info info = { .path = g->withheld[i].path, .kind = g->withheld[i].kind,
                                      .reason = g->withheld[i].reason };

        r = fn(ctx, &info);
    }
    return r;
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
