#include "view.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "gguf/recipe.h"
#include "writers/npy.h"
#include "writers/safetensors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENSORS_DIR "tensors"

static int out_of_memory(struct wfs_error *err)
{
    return wfs_error_set(err, ENOMEM, "out of memory");
}

/* Adds a file that shows arg. 1 and the node, 0 when the name is taken, -ENOMEM with err set. */
static int add_file(struct wfs_generation *g, const struct wfs_view *view, const char *path, uint32_t arg,
                    struct wfs_node **ret, struct wfs_error *err)
{
    int r = wfs_tree_add(&g->tree, path, WFS_NODE_FILE, ret);

    if (r < 0)
        return out_of_memory(err);
    if (r == 0)
        return 0;
    (*ret)->view = view;
    (*ret)->arg = arg;
    (*ret)->mtime = g->mtime_weights;
    (*ret)->listed = wfs_listing_has(wfs_fs_listing(g->fs), path, false);
    return 1;
}

static void set_size(struct wfs_node *n, uint64_t size)
{
    n->size = size;
    n->state = WFS_STATE_READY;
}

/* --- the source's own files --- */

/* The weights whose place model.safetensors takes: that name itself, shards and their index. */
static bool is_replaced(const struct wfs_generation *g, const char *path)
{
    const struct wfs_selection *sel = &g->selection;

    if (strcmp(path, WFS_SINGLE_NAME) == 0)
        return true; /* offer_safetensors shows it, when it is sound */
    if (sel->own_single)
        return false;
    if (strcmp(path, WFS_INDEX_NAME) == 0) /* one that cannot be read stays beside a single file, as it is */
        return sel->by_index || !wfs_source_find(g->source, WFS_SINGLE_NAME);
    for (size_t i = 0; i < sel->n_files; i++) {
        if (strcmp(path, sel->files[i]) == 0)
            return sel->by_index || g->source->only || wfs_select_is_shard_name(path);
    }
    return false;
}

static int offer_files(struct wfs_generation *g, const struct wfs_view *view, struct wfs_error *err)
{
    struct wfs_source *s = g->source;
    struct wfs_node *n = NULL;

    for (size_t i = 0; i < s->n_dirs && !s->only; i++) {
        if (s->dirs[i].path[0] == 0)
            continue;
        if (wfs_tree_add(&g->tree, s->dirs[i].path, WFS_NODE_DIR, &n) < 0)
            return out_of_memory(err);
        n->mtime = s->dirs[i].mtime;
        n->listed = true;
    }
    for (size_t i = 0; i < s->n_files; i++) {
        int r;

        if (is_replaced(g, s->files[i].path))
            continue;
        r = add_file(g, view, s->files[i].path, (uint32_t)i, &n, err);
        if (r < 0)
            return r;
        if (r == 0) /* cannot be: a source has each path once */
            continue;
        n->mtime = s->files[i].identity.mtime;
        n->listed = true;
        set_size(n, s->files[i].identity.size);
    }
    return 0;
}

static int layout_file(const struct wfs_node *n, struct wfs_layout *ret, struct wfs_error *err)
{
    wfs_layout_init(ret);
    if (wfs_layout_add_extent(ret, 0, 0, n->size) == 0)
        return 0;
    wfs_layout_done(ret);
    return out_of_memory(err);
}

/* --- model.safetensors --- */

/* A model in one file is shown as that file; several are merged. */
static bool is_as_is(const struct wfs_generation *g)
{
    return g->model->n_files == 1;
}

static int layout_safetensors(const struct wfs_node *n, struct wfs_layout *ret, struct wfs_error *err)
{
    const struct wfs_generation *g = n->generation;

    if (is_as_is(g))
        return wfs_safetensors_layout_as_is(g->model, 0, ret, err);
    return wfs_safetensors_layout(g->model, ret, err);
}

static int offer_own_single(struct wfs_generation *g, struct wfs_node *n, struct wfs_error *err)
{
    const struct wfs_source_file *f = wfs_source_find(g->source, WFS_SINGLE_NAME);

    n->view = &wfs_views[0];
    n->arg = (uint32_t)(f - g->source->files);
    n->mtime = f->identity.mtime;
    if (g->own_single_problem)
        return wfs_node_withhold(n, g->own_single_problem) < 0 ? out_of_memory(err) : 0;
    set_size(n, f->identity.size);
    return 0;
}

static int offer_safetensors(struct wfs_generation *g, const struct wfs_view *view, struct wfs_error *err)
{
    struct wfs_layout layout;
    struct wfs_error why;
    struct wfs_node *n;
    int r = add_file(g, view, WFS_SINGLE_NAME, 0, &n, err);

    if (r <= 0)
        return r;
    if (g->selection.own_single)
        return offer_own_single(g, n, err);
    if (g->model->problem)
        return wfs_node_withhold(n, g->model->problem) < 0 ? out_of_memory(err) : 0;
    if (layout_safetensors(n, &layout, &why) < 0)
        return wfs_node_withhold(n, why.msg) < 0 ? out_of_memory(err) : 0;
    set_size(n, layout.size);
    wfs_layout_done(&layout);
    return 0;
}

/* --- tensors/<name>.npy --- */

static int offer_npy_file(struct wfs_generation *g, const struct wfs_view *view, uint32_t tensor, bool raw,
                          struct wfs_error *err)
{
    const struct wfs_tensor *t = &g->model->tensors[tensor];
    char path[sizeof TENSORS_DIR + WFS_NPY_NAME_BYTES], reason[100];
    struct wfs_node *n;
    uint64_t size;
    int r;

    memcpy(path, TENSORS_DIR "/", sizeof TENSORS_DIR);
    wfs_npy_names_get(&g->npy_names, tensor, raw, path + sizeof TENSORS_DIR);
    r = add_file(g, view, path, tensor, &n, err);
    if (r <= 0)
        return r;
    n->raw = raw;
    if (g->model_files[t->file])
        n->mtime = g->model_files[t->file]->identity.mtime;
    if (!wfs_npy_offered(t->dtype)) {
        snprintf(reason, sizeof reason, "numpy has no type for %s", wfs_dtypes[t->dtype].name);
        return wfs_node_withhold(n, reason) < 0 ? out_of_memory(err) : 0;
    }
    if (!wfs_npy_size(t, raw, &size))
        return wfs_node_withhold(n, "larger than a file can be") < 0 ? out_of_memory(err) : 0;
    set_size(n, size);
    return 0;
}

static int offer_npy(struct wfs_generation *g, const struct wfs_view *view, struct wfs_error *err)
{
    const struct wfs_model *m = g->model;
    struct wfs_node *dir;
    int r;

    for (size_t i = 0; i < m->n_files; i++) {
        struct wfs_error why;

        if (!m->files[i].problem)
            continue;
        wfs_error_set(&why, EINVAL, "%s: %s", m->files[i].name, m->files[i].problem);
        if (wfs_generation_withhold(g, TENSORS_DIR, view->kind, why.msg) < 0)
            return out_of_memory(err);
    }
    dir = wfs_tree_find(&g->tree, TENSORS_DIR, strlen(TENSORS_DIR));
    if (dir && dir->kind != WFS_NODE_DIR) {
        r = wfs_generation_withhold(g, TENSORS_DIR, view->kind, "the source has a file of that name");
        return r < 0 ? out_of_memory(err) : 0;
    }
    for (size_t i = 0; i < m->n_tensors; i++) {
        r = offer_npy_file(g, view, (uint32_t)i, false, err);
        if (r >= 0 && wfs_npy_twin(m->tensors[i].dtype))
            r = offer_npy_file(g, view, (uint32_t)i, true, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int layout_npy(const struct wfs_node *n, struct wfs_layout *ret, struct wfs_error *err)
{
    return wfs_npy_layout(&n->generation->model->tensors[n->arg], n->raw, ret, err);
}

/* --- model-<format>.gguf --- */

/* A node's arg counts the formats, then the user's recipes. */
static const struct wfs_gguf_request *request_as_given(const struct wfs_node *n)
{
    if (n->arg < wfs_gguf_n_formats)
        return &wfs_gguf_formats[n->arg].request;
    return &wfs_fs_options_of(n->generation->fs)->recipes[n->arg - wfs_gguf_n_formats]->request;
}

/* The importance matrix of a view: a recipe's own, or the one that the options name for all. NULL: none. */
static const struct wfs_matrix *matrix_of(const struct wfs_node *n)
{
    const struct wfs_gguf_request *request = request_as_given(n);

    return request->converter ? NULL : wfs_fs_matrix(n->generation->fs, request->imatrix_file);
}

/* 1 when the file is added, 0 when the source has something of that name. */
static int offer_gguf_file(struct wfs_generation *g, const struct wfs_view *view, const char *path, uint32_t arg,
                           bool unusual, struct wfs_error *err)
{
    const char *reason = g->model->problem ? g->model->problem : g->model->problem_gguf;
    const struct wfs_matrix *matrix;
    struct wfs_node *n;
    int r = add_file(g, view, path, arg, &n, err);

    if (r <= 0)
        return r;
    matrix = matrix_of(n);
    n->mtime = matrix ? wfs_newer(g->mtime_all, matrix->mtime) : g->mtime_all;
    n->unusual = unusual;
    n->listed = wfs_listing_has(wfs_fs_listing(g->fs), path, unusual);
    return reason && wfs_node_withhold(n, reason) < 0 ? out_of_memory(err) : 1;
}

static int offer_gguf(struct wfs_generation *g, const struct wfs_view *view, struct wfs_error *err)
{
    const struct wfs_fs_options *options = wfs_fs_options_of(g->fs);

    for (size_t i = 0; i < wfs_gguf_n_formats; i++) {
        char path[64];
        int r;

        snprintf(path, sizeof path, "model-%s.gguf", wfs_gguf_formats[i].name);
        r = offer_gguf_file(g, view, path, (uint32_t)i, !wfs_gguf_formats[i].usual, err);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < options->n_recipes; i++) {
        const char *path = options->recipes[i]->view;
        int r = offer_gguf_file(g, view, path, (uint32_t)(wfs_gguf_n_formats + i), false, err);

        if (r < 0)
            return r;
        if (r > 0)
            continue;
        if (wfs_generation_withhold(g, path, view->kind,
                                    "the source has a file or folder of that name, which is shown in its place") < 0)
            return out_of_memory(err);
        g->withheld[g->n_withheld - 1].is_shadowed = true;
    }
    return 0;
}

/* What a view is made by, its importance matrix included. */
static struct wfs_gguf_request request_of(const struct wfs_node *n)
{
    struct wfs_gguf_request request = *request_as_given(n);
    const struct wfs_matrix *matrix = matrix_of(n);

    if (matrix) {
        request.imatrix = &matrix->imatrix;
        request.imatrix_file = matrix->path;
    }
    return request;
}

static int layout_gguf(const struct wfs_node *n, struct wfs_layout *ret, struct wfs_error *err)
{
    struct wfs_gguf_request request = request_of(n);

    return wfs_gguf_layout(n->generation->gguf, &request, ret, err);
}

/* Keeps the lines in notes, and logs each. */
static void keep_notes(struct wfs_generation *g, const struct wfs_node *n, struct wfs_buf *notes)
{
    size_t len;
    char *text;

    if (notes->len == 0)
        return;
    wfs_buf_u8(notes, 0);
    text = (char *)wfs_buf_steal(notes, &len);
    g->gguf_notes[n->arg] = text;
    for (char *line = text, *end; text && (end = strchr(line, '\n')); line = end + 1)
        wfs_fs_log(g->fs, WFS_LOG_INFO, "%s: %.*s", n->path, (int)(end - line), line);
}

static void prepare_gguf(struct wfs_generation *g, struct wfs_node *n)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf notes = WFS_BUF_INIT;
    struct wfs_gguf_request request = request_of(n);
    size_t count = wfs_gguf_n_formats + wfs_fs_options_of(g->fs)->n_recipes;
    struct wfs_gguf_measure measure;
    struct wfs_error err;

    if (!g->gguf_measures)
        g->gguf_measures = calloc(count, sizeof *g->gguf_measures);
    if (!g->gguf_notes)
        g->gguf_notes = calloc(count, sizeof *g->gguf_notes);
    if (!g->gguf || !g->gguf_measures || !g->gguf_notes) {
        wfs_node_withhold(n, g->gguf_reason ? g->gguf_reason : "out of memory");
    } else if (wfs_gguf_measure(g->gguf, &request, &measure, &notes, &err) < 0) {
        wfs_node_withhold(n, err.msg);
    } else {
        g->gguf_measures[n->arg] = measure;
        keep_notes(g, n, &notes);
        set_size(n, measure.size);
    }
}

const char *wfs_view_notes(const struct wfs_node *n)
{
    if (n->kind != WFS_NODE_FILE || n->view->prepare != prepare_gguf || n->state != WFS_STATE_READY)
        return NULL;
    return n->generation->gguf_notes[n->arg];
}

const struct wfs_gguf_measure *wfs_view_quantised(const struct wfs_node *n)
{
    if (n->kind != WFS_NODE_FILE || n->view->prepare != prepare_gguf || n->state != WFS_STATE_READY ||
        request_of(n).converter)
        return NULL;
    return &n->generation->gguf_measures[n->arg];
}

bool wfs_node_may_be_whole(const struct wfs_node *n)
{
    const struct wfs_generation *g = n->generation;
    const struct wfs_source_file *f = NULL;

    if (n->kind != WFS_NODE_FILE)
        return false;
    if (n->view->is_file)
        f = &g->source->files[n->arg];
    else if (n->view->layout == layout_safetensors && is_as_is(g))
        f = g->model_files[0];
    return f ? wfs_source_file_is_local(g->source, f) : wfs_fs_disk_is_local(g->fs);
}

const struct wfs_view wfs_views[] = {
    { "file", true, offer_files, NULL, layout_file },
    { "safetensors", false, offer_safetensors, NULL, layout_safetensors },
    { "npy", false, offer_npy, NULL, layout_npy },
    { "gguf", false, offer_gguf, prepare_gguf, layout_gguf },
};
const size_t wfs_n_views = sizeof wfs_views / sizeof *wfs_views;
