#include "opened.h"

#include "base/log.h"
#include "disk_place.h"
#include "preflight.h"
#include "suggest.h"

#include <errno.h>
#include <string.h>

/* Withheld views are warnings, and ls says them itself; what the data shows while it is read is an error. */
static void on_log(void *ctx, int level, const char *line)
{
    struct wfs_opened *o = ctx;

    if (level != WFS_LOG_ERROR)
        return;
    pthread_mutex_lock(&o->lock);
    if (!o->data_error[0])
        snprintf(o->data_error, sizeof o->data_error, "%s", line);
    pthread_mutex_unlock(&o->lock);
}

int wfs_opened_open(struct wfs_opened *o, const char *source, const struct wfs_options *options, struct wfs_error *err)
{
    struct wfs_fs_options fs_options = options->fs;
    unsigned long limit = wfs_preflight_raise_files();
    int r;

    memset(o, 0, sizeof *o);
    pthread_mutex_init(&o->lock, NULL);
    fs_options.on_log = on_log;
    fs_options.log_ctx = o;
    r = wfs_preflight_source(source, err);
    if (r == 0 && options->fs.disk_cache)
        r = wfs_disk_place_check(options->fs.disk_cache, source, NULL, err);
    if (r < 0)
        return r;
    r = wfs_fs_open(source, &fs_options, &o->fs, err);
    if (r == -EMFILE)
        wfs_error_wrap(err, "the limit of %lu open files is too low; raise it (ulimit -n)", limit);
    if (r < 0)
        return r;
    o->generation = wfs_fs_generation(o->fs);
    return 0;
}

void wfs_opened_close(struct wfs_opened *o)
{
    if (o->generation)
        wfs_generation_unref(o->generation);
    o->generation = NULL;
    wfs_fs_close(o->fs);
    o->fs = NULL;
    pthread_mutex_destroy(&o->lock);
}

int wfs_opened_run(const struct wfs_command *command, const struct wfs_arguments *args, wfs_work *work)
{
    struct wfs_error err = { 0 };
    struct wfs_opened opened;
    int r = wfs_opened_open(&opened, args->positional[0], &args->options, &err);

    if (r == 0)
        r = work(&opened, args, &err);
    wfs_opened_close(&opened);
    if (r >= 0)
        return r;
    wfs_complain(command, &err);
    return WFS_EXIT_FAILED;
}

struct search {
    const char *path;
    char lower[64]; /* the path as views are written, to find what is near */
    struct wfs_suggestion near;
    char best[64];
    char reason[1000];
    bool found;
};

static int note_reason(void *ctx, const struct wfs_view_info *info)
{
    struct search *s = ctx;

    wfs_suggest_consider(&s->near, info->path);
    if (s->near.best == info->path) { /* which does not outlive this call */
        snprintf(s->best, sizeof s->best, "%s", info->path);
        s->near.best = s->best;
    }
    if (strcmp(info->path, s->path) != 0 || !info->reason)
        return 0;
    snprintf(s->reason, sizeof s->reason, "%s", info->reason);
    s->found = true;
    return 1;
}

static int explain_absence(struct wfs_opened *o, const char *path, struct wfs_error *err)
{
    struct search search = { .path = path };
    char text[100], hint[400];
    struct wfs_model_info model = { 0 };

    snprintf(search.lower, sizeof search.lower, "%s", path);
    for (char *c = search.lower; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    wfs_suggest_begin(&search.near, search.lower);
    wfs_generation_each_view(o->generation, note_reason, &search);
    wfs_generation_model_info(o->generation, &model);
    if (search.found)
        return wfs_error_set(err, EIO, "%s is withheld: %s%s", path, search.reason,
                             model.model ? "" : wfs_preflight_model_hint(wfs_fs_source_path(o->fs), hint, sizeof hint));
    wfs_suggest_text(&search.near, "", text, sizeof text);
    return wfs_error_set(err, ENOENT, "there is no file %s%s `weightfs ls --all %s` lists what is there", path,
                         text[0] ? text : ";", wfs_fs_source_given(o->fs));
}

int wfs_opened_find(struct wfs_opened *o, const char *view, const struct wfs_node **ret_node,
                    struct wfs_object **ret_object, struct wfs_error *err)
{
    const struct wfs_node *node;
    struct wfs_object *object = NULL;
    const char *shadowed;
    int r;

    while (view[0] == '/' || (view[0] == '.' && view[1] == '/'))
        view += view[0] == '.' ? 2 : 1;
    node = wfs_generation_find(o->generation, view);
    if (node && wfs_node_kind(node) != WFS_NODE_DIR && wfs_node_ready(node) == 0)
        wfs_node_wait(node);
    shadowed = wfs_generation_shadowed(o->generation, view);
    if (shadowed)
        return wfs_error_set(err, EEXIST, "%s is withheld: %s", view, shadowed);
    if (!node || (wfs_node_kind(node) != WFS_NODE_DIR && wfs_node_ready(node) < 0))
        return explain_absence(o, view, err);
    if (wfs_node_kind(node) == WFS_NODE_DIR)
        return wfs_error_set(err, EISDIR, "%s is a folder", view[0] ? view : "/");
    if (wfs_node_kind(node) == WFS_NODE_FILE) {
        r = wfs_node_object(node, &object, err);
        if (r < 0)
            return r;
    }
    *ret_node = node;
    *ret_object = object;
    return 0;
}

int wfs_opened_read_error(struct wfs_opened *o, const char *view, int code, struct wfs_error *err)
{
    size_t len = strlen(view);
    bool named; /* the line says of itself which view it is about */

    pthread_mutex_lock(&o->lock);
    named = strncmp(o->data_error, view, len) == 0 && o->data_error[len] == ':';
    wfs_error_set(err, -code, "%s%s%s", named ? "" : view, named ? "" : ": ",
                  o->data_error[0] ? o->data_error : strerror(-code));
    pthread_mutex_unlock(&o->lock);
    return code;
}
