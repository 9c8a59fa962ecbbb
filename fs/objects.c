/*
 * The engine's objects of a generation's files. A model can have 100,000 tensors, each a file: objects that nobody uses
 * are let go, all but the last few. Those of large layouts stay, as there are few and their laying out takes a while.
 * A generation that is not current any more lets go of everything once its last reader has gone.
 */
#include "base/cleanup.h"
#include "generation.h"
#include "store.h"
#include "view.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_IDLE = 256, SMALL_SEGMENTS = 4 };

static void free_object(struct wfs_view_object *o)
{
    wfs_store_detach(o->object.store);
    wfs_store_unref(o->object.store);
    wfs_layout_done(&o->layout);
    free(o);
}

static int new_object(struct wfs_node *n, struct wfs_view_object **ret, struct wfs_error *err)
{
    struct wfs_generation *g = n->generation;
    struct wfs_view_object *o = calloc(1, sizeof *o);
    struct wfs_source_file **files = g->model_files;
    size_t n_files = g->model->n_files;
    int r;

    if (!o)
        return wfs_error_set(err, ENOMEM, "%s: out of memory", n->path);
    r = n->view->layout(n, &o->layout, err);
    if (r < 0) {
        free(o);
        return r;
    }
    assert(o->layout.size == n->size);
    o->node = n;
    if (n->view->is_file) {
        o->file = &g->source->files[n->arg];
        files = &o->file;
        n_files = 1;
    }
    r = wfs_object_init(&o->object, wfs_fs_engine(g->fs), &o->layout, g->source, files, n_files, n->path);
    if (r < 0) {
        free_object(o);
        return wfs_error_set(err, -r, "%s: %s", n->path, strerror(-r));
    }
    o->object.store = wfs_generation_store(n, &o->layout, files, n_files);
    *ret = o;
    return 0;
}

static bool is_idle(const struct wfs_idle_objects *idle, const struct wfs_view_object *o)
{
    return o->prev || o->next || idle->first == o;
}

static void leave_idle(struct wfs_idle_objects *idle, struct wfs_view_object *o)
{
    *(o->prev ? &o->prev->next : &idle->first) = o->next;
    *(o->next ? &o->next->prev : &idle->last) = o->prev;
    o->prev = o->next = NULL;
    idle->count--;
}

static void join_idle(struct wfs_idle_objects *idle, struct wfs_view_object *o)
{
    o->prev = idle->last;
    o->next = NULL;
    *(idle->last ? &idle->last->next : &idle->first) = o;
    idle->last = o;
    idle->count++;
}

/* Locked. */
static struct wfs_object *pin(struct wfs_generation *g, struct wfs_view_object *o)
{
    if (is_idle(&g->idle, o))
        leave_idle(&g->idle, o);
    o->pins++;
    g->n_pins++;
    return &o->object;
}

struct wfs_object *wfs_node_object_get(const struct wfs_node *node)
{
    struct wfs_generation *g = node->generation;
    struct wfs_object *object = NULL;

    if (node->kind != WFS_NODE_FILE)
        return NULL;
    pthread_mutex_lock(&g->lock);
    if (node->object)
        object = pin(g, node->object);
    pthread_mutex_unlock(&g->lock);
    return object;
}

int wfs_node_object(const struct wfs_node *node, struct wfs_object **ret, struct wfs_error *err)
{
    struct wfs_node *n = (struct wfs_node *)node; /* its object is the one thing of a node that comes and goes */
    struct wfs_generation *g = n->generation;
    struct wfs_view_object *mine = NULL;
    bool let_go;
    int r;

    if (n->kind != WFS_NODE_FILE || n->state != WFS_STATE_READY)
        return wfs_error_set(err, ENOENT, "%s: %s", n->path, n->kind == WFS_NODE_DIR ? "a folder" : "nothing to read");
    *ret = wfs_node_object_get(n);
    if (*ret)
        return 0;
    r = new_object(n, &mine, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&g->lock);
    let_go = g->let_go;
    if (!let_go && !n->object) {
        if (n->object_id)
            mine->object.id = n->object_id; /* the same bytes: tiles of before are good */
        n->object_id = mine->object.id;
        n->object = WFS_STEAL(mine);
    }
    if (!let_go)
        *ret = pin(g, n->object);
    pthread_mutex_unlock(&g->lock);
    if (mine) { /* another thread was first */
        wfs_object_park(&mine->object, wfs_fs_engine(g->fs));
        free_object(mine);
    }
    return let_go ? wfs_error_set(err, ESTALE, "%s: the source has changed", n->path) : 0;
}

/* The source file that an object shows as it is, from its first byte to its last; or NULL. */
static struct wfs_source_file *whole_file(const struct wfs_view_object *o)
{
    const struct wfs_layout *l = &o->layout;
    struct wfs_source_file *f;

    if (l->n_segments != 1 || l->segments[0].kind != WFS_SEGMENT_EXTENT || l->segments[0].extent.offset != 0)
        return NULL;
    f = o->object.files[l->segments[0].extent.file];
    return f && f->identity.size == l->size ? f : NULL;
}

int wfs_node_whole_get(const struct wfs_node *n, struct wfs_whole *ret)
{
    struct wfs_generation *g = n->generation;
    struct wfs_source *source = g->source;
    struct wfs_source_file *f = NULL;
    struct wfs_store *store = NULL;
    int fd, r;

    if (!wfs_node_may_be_whole(n))
        return -ENOENT;
    pthread_mutex_lock(&g->lock);
    if (n->object) {
        f = whole_file(n->object);
        store = wfs_store_ref(n->object->object.store);
    }
    pthread_mutex_unlock(&g->lock);
    if (!f) {
        fd = store ? wfs_store_whole(store) : -ENOENT;
        wfs_store_unref(store);
        if (fd >= 0)
            *ret = (struct wfs_whole){ .fd = fd };
        return fd < 0 ? fd : 0;
    }
    wfs_store_unref(store);
    fd = wfs_source_fd_get(source, f, NULL);
    if (fd < 0)
        return fd;
    r = wfs_source_check(source, f);
    if (r < 0)
        wfs_source_fd_put(source, f);
    else
        *ret = (struct wfs_whole){ fd, wfs_source_ref(source), f };
    return r;
}

void wfs_whole_put(struct wfs_whole *w)
{
    if (w->file) {
        wfs_source_fd_put(w->source, w->file);
        wfs_source_close(w->source);
    } else {
        close(w->fd);
    }
    w->fd = -1;
}

/* Locked. Whether the time has come. */
static bool begin_to_let_go(struct wfs_generation *g)
{
    if (!g->superseded || g->n_pins > 0 || g->let_go)
        return false;
    g->let_go = true;
    return true;
}

static void let_go(struct wfs_generation *g)
{
    wfs_generation_free_objects(g);
    wfs_source_retire(g->source);
}

static void run_let_go(struct wfs_job *job, void *scratch)
{
    struct wfs_generation *g = (struct wfs_generation *)((char *)job - offsetof(struct wfs_generation, let_go_job));
    struct wfs_fs *fs = g->fs;

    (void)scratch;
    let_go(g);
    wfs_generation_unref(g);
    wfs_fs_run_done(fs);
}

void wfs_generation_supersede(struct wfs_generation *g)
{
    bool now;

    pthread_mutex_lock(&g->lock);
    g->superseded = true;
    now = begin_to_let_go(g);
    pthread_mutex_unlock(&g->lock);
    if (now)
        let_go(g);
}

void wfs_node_object_put(const struct wfs_node *node)
{
    struct wfs_generation *g = node->generation;
    struct wfs_view_object *o, *gone = NULL;
    bool last;

    pthread_mutex_lock(&g->lock);
    o = node->object;
    assert(o && o->pins > 0);
    if (--o->pins == 0 && o->layout.n_segments <= SMALL_SEGMENTS) {
        join_idle(&g->idle, o);
        if (g->idle.count > MAX_IDLE) {
            gone = g->idle.first;
            leave_idle(&g->idle, gone);
            gone->node->object = NULL;
        }
    }
    g->n_pins--;
    last = begin_to_let_go(g);
    pthread_mutex_unlock(&g->lock);
    if (gone) {
        wfs_object_park(&gone->object, wfs_fs_engine(g->fs));
        free_object(gone);
    }
    if (last) { /* closing a file of a source that hangs may wait: not on this thread */
        wfs_generation_ref(g);
        g->let_go_job.priority = WFS_FOREGROUND;
        g->let_go_job.run = run_let_go;
        wfs_fs_run(g->fs, &g->let_go_job);
    }
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

void wfs_generation_free_objects(struct wfs_generation *g)
{
    uint64_t *ids = malloc((g->tree.n_nodes + 1) * sizeof *ids); /* without them, parked tiles go when room is wanted */
    struct wfs_view_object *objects = NULL;
    size_t n_ids = 0;

    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < g->tree.n_nodes; i++) {
        struct wfs_node *n = &g->tree.nodes[i];

        if (n->kind != WFS_NODE_FILE || !n->object_id)
            continue;
        if (n->object) {
            n->object->next = objects;
            objects = n->object;
        } else if (ids) {
            ids[n_ids++] = n->object_id;
        }
        n->object = NULL;
        n->object_id = 0;
    }
    g->idle = (struct wfs_idle_objects){ 0 };
    pthread_mutex_unlock(&g->lock);
    while (objects) {
        struct wfs_view_object *o = objects;

        objects = o->next;
        wfs_object_done(&o->object, wfs_fs_engine(g->fs));
        free_object(o);
    }
    if (n_ids > 0) {
        qsort(ids, n_ids, sizeof *ids, compare_ids);
        wfs_engine_drop(wfs_fs_engine(g->fs), ids, n_ids);
    }
    free(ids);
}
