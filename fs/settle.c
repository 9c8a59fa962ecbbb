/* What takes a while of a generation: the tokenizer, and the sizes of GGUF views. Who waits for it is told. */
#include "base/cleanup.h"
#include "base/log.h"
#include "generation.h"
#include "json.h"
#include "view.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STATUS_SLACK = 4096 /* counters grow, errors come; see wfs_fs_status_file */ };

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

static bool is_pending(const struct wfs_node *n)
{
    return n->kind == WFS_NODE_FILE && n->view->prepare && n->state == WFS_STATE_PENDING;
}

static bool has_pending_gguf(const struct wfs_generation *g)
{
    for (size_t i = 0; i < g->tree.n_nodes; i++) {
        if (is_pending(&g->tree.nodes[i]))
            return true;
    }
    return false;
}

/* A tokenizer that takes longer than anybody waits (wfs_generation_settles): some 90 MB of JSON are read a second. */
static void note_tokenizer(void *ctx)
{
    enum { LARGE = 4 << 20 };
    struct wfs_generation *g = ctx;
    const struct wfs_source_file *f = wfs_source_find(g->source, "tokenizer.json");

    if (!f || f->identity.size < LARGE)
        return;
    pthread_mutex_lock(&g->lock);
    g->takes_long = true;
    pthread_cond_broadcast(&g->settled_cond);
    pthread_mutex_unlock(&g->lock);
}

static void open_gguf(struct wfs_generation *g)
{
    const struct wfs_fs_options *options = wfs_fs_options_of(g->fs);
    struct wfs_gguf_options gguf_options = { options->model_name, options->pretokenizer, note_tokenizer, g };
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
    struct wfs_node *n = wfs_tree_find(&g->tree, WFS_STATUS_PATH, strlen(WFS_STATUS_PATH));
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

/* As wfs_node_ready; locked for a folder. */
static int ready(const struct wfs_node *n);

/* Calls whoever waits for something that is ready by now. */
static void tell_waiters(struct wfs_generation *g)
{
    struct wfs_settle_waiter *told = NULL, **at;

    pthread_mutex_lock(&g->lock);
    for (at = &g->waiters; *at;) {
        struct wfs_settle_waiter *w = *at;

        if (ready(w->node) == 0) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->next = told;
        told = w;
    }
    pthread_cond_broadcast(&g->settled_cond);
    pthread_mutex_unlock(&g->lock);
    while (told) {
        struct wfs_settle_waiter *w = told;

        told = w->next;
        w->done(w->ctx);
        free(w);
    }
}

/* The next node to prepare: one that somebody waits for, else the next from *at on; NULL when there is none left. */
static struct wfs_node *next_pending(struct wfs_generation *g, size_t *at)
{
    struct wfs_node *n = NULL;

    pthread_mutex_lock(&g->lock);
    for (const struct wfs_settle_waiter *w = g->waiters; w && !n; w = w->next) {
        if (is_pending(w->node))
            n = &g->tree.nodes[w->node - g->tree.nodes];
    }
    pthread_mutex_unlock(&g->lock);
    for (; !n && *at < g->tree.n_nodes; ++*at) {
        if (is_pending(&g->tree.nodes[*at]))
            n = &g->tree.nodes[*at];
    }
    return n;
}

void wfs_generation_prepare(struct wfs_generation *g)
{
    struct wfs_node *n;
    size_t at = 0;

    open_gguf(g);
    while ((n = next_pending(g, &at))) {
        n->view->prepare(g, n);
        tell_waiters(g);
    }
    wfs_generation_find_digests(g);
    settle_status(g);
    pthread_mutex_lock(&g->lock);
    g->settled = true;
    pthread_mutex_unlock(&g->lock);
    tell_waiters(g);
    /* Nobody waits any more. */
    log_withheld(g);
    malloc_trim(0); /* a large tokenizer was here */
}

/* The folders that hold nodes which wait for the generation to settle. */
static bool has_late_children(const struct wfs_node *dir)
{
    return dir->path[0] == 0 || strcmp(dir->path, WFS_STATUS_DIR) == 0;
}

static int ready(const struct wfs_node *n)
{
    if (n->kind == WFS_NODE_DIR)
        return has_late_children(n) ? n->generation->settled : 1;
    switch (atomic_load(&n->state)) {
    case WFS_STATE_READY:
        return 1;
    case WFS_STATE_WITHHELD:
        return -ENOENT;
    default:
        return 0;
    }
}

int wfs_node_ready(const struct wfs_node *n)
{
    struct wfs_generation *g = n->generation;
    int r;

    if (n->kind != WFS_NODE_DIR)
        return ready(n);
    pthread_mutex_lock(&g->lock);
    r = ready(n);
    pthread_mutex_unlock(&g->lock);
    return r;
}

void wfs_node_when_ready(const struct wfs_node *n, void (*done)(void *ctx), void *ctx)
{
    struct wfs_generation *g = n->generation;
    struct wfs_settle_waiter *w = malloc(sizeof *w);

    if (w) {
        *w = (struct wfs_settle_waiter){ .node = n, .done = done, .ctx = ctx };
        pthread_mutex_lock(&g->lock);
        if (ready(n) == 0) {
            w->next = g->waiters;
            g->waiters = w;
            w = NULL;
        }
        pthread_mutex_unlock(&g->lock);
        if (!w)
            return;
        free(w);
    }
    /* Ready; or out of memory: the caller finds the node not ready and says so. */
    done(ctx);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

void wfs_node_wait(const struct wfs_node *n)
{
    struct wfs_generation *g = n->generation;

    wfs_node_when_ready(n, nothing, NULL); /* puts it in front */
    pthread_mutex_lock(&g->lock);
    while (ready(n) == 0)
        pthread_cond_wait(&g->settled_cond, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

void wfs_generation_wait(struct wfs_generation *g)
{
    wfs_node_wait(wfs_generation_root(g));
}

bool wfs_generation_settles(struct wfs_generation *g, int ms)
{
    struct timespec until;
    bool settled;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms % 1000 * 1000000L;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&g->lock);
    while (!g->settled && !g->takes_long && pthread_cond_timedwait(&g->settled_cond, &g->lock, &until) == 0)
        ;
    settled = g->settled;
    pthread_mutex_unlock(&g->lock);
    return settled;
}

void wfs_node_tell_withheld(const struct wfs_node *n)
{
    if (atomic_load(&n->state) == WFS_STATE_WITHHELD)
        wfs_fs_log(n->generation->fs, WFS_LOG_INFO, "%s was asked for and is withheld: %s", n->path,
                   n->reason ? n->reason : "out of memory");
}
