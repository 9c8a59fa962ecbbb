/*
 * The engine's objects of a generation's files. A model can have 100,000 tensors, each a file: objects that nobody uses
 * are let go, all but the last few. Those of large layouts stay, as there are few and their laying out takes a while.
 */
#include "base/cleanup.h"
#include "generation.h"
#include "view.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_IDLE = 256, SMALL_SEGMENTS = 4 };

static void free_object(struct wfs_view_object *o)
{
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
    if (!n->object) {
        if (n->object_id)
            mine->object.id = n->object_id; /* the same bytes: tiles of before are good */
        n->object_id = mine->object.id;
        n->object = WFS_STEAL(mine);
    }
    *ret = pin(g, n->object);
    pthread_mutex_unlock(&g->lock);
    if (mine) { /* another thread was first */
        wfs_object_park(&mine->object, wfs_fs_engine(g->fs));
        free_object(mine);
    }
    return 0;
}

void wfs_node_object_put(const struct wfs_node *node)
{
    struct wfs_generation *g = node->generation;
    struct wfs_view_object *o, *gone = NULL;

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
    pthread_mutex_unlock(&g->lock);
    if (gone) {
        wfs_object_park(&gone->object, wfs_fs_engine(g->fs));
        free_object(gone);
    }
}

void wfs_generation_free_objects(struct wfs_generation *g)
{
    for (size_t i = 0; i < g->tree.n_nodes; i++) {
        struct wfs_node *n = &g->tree.nodes[i];

        if (n->kind != WFS_NODE_FILE || !n->object)
            continue;
        wfs_object_done(&n->object->object, wfs_fs_engine(g->fs));
        free_object(n->object);
    }
}
