/* From a source to a model: which files, what each holds. Every failure of a file is that file's, not the mount's. */
#include "generation.h"
#include "base/cleanup.h"
#include "containers/container.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INDEX_BYTES = 512 << 20 };

/* Why a file that is named is not among the source's regular files. */
static void explain_absent(const struct wfs_source *s, const char *name, struct wfs_error *err)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < s->n_left_out; i++) {
        if (strncmp(s->left_out[i], name, len) == 0 && s->left_out[i][len] == ':') {
            wfs_error_set(err, ENOENT, "it is not a regular file%s", s->left_out[i] + len);
            return;
        }
    }
    wfs_error_set(err, ENOENT, "the file is absent");
}

/* The first bytes tell the container, the container tells how many more to read. */
static int read_shard(struct wfs_source *s, struct wfs_source_file *f, struct wfs_shard *ret, struct wfs_error *err)
{
    uint8_t head[WFS_CONTAINER_PROBE_BYTES];
    uint64_t size = f->identity.size, want;
    size_t head_len = size < sizeof head ? (size_t)size : sizeof head;
    uint8_t *bytes WFS_CLEANUP(wfs_free) = NULL;
    const struct wfs_container *container;
    int r;

    r = wfs_source_pread(s, f, 0, head, head_len, err);
    if (r < 0)
        return r;
    container = wfs_container_find(head, head_len, size);
    r = container->want(head, head_len, size, &want, err);
    if (r < 0)
        return r;
    bytes = malloc(want + 1);
    if (!bytes)
        return wfs_error_set(err, ENOMEM, "out of memory for a header of %llu bytes", (unsigned long long)want);
    r = wfs_source_pread(s, f, 0, bytes, want, err);
    if (r < 0)
        return r;
    return container->parse(bytes, want, size, ret, err);
}

/* 1 and the index; 0 when there is none; a negative errno and, in err, why it cannot be used. */
static int read_index(struct wfs_source *s, struct wfs_index *ret_index, struct wfs_error *err)
{
    struct wfs_source_file *f = wfs_source_find(s, WFS_INDEX_NAME);
    struct wfs_blob WFS_CLEANUP(wfs_blob_done) text = { NULL, 0 };
    int r;

    if (!f)
        return 0;
    r = wfs_source_slurp(s, f, MAX_INDEX_BYTES, &text, err);
    if (r == 0)
        r = wfs_index_parse(text.data, text.len, ret_index, err);
    return r < 0 ? r : 1;
}

static int select_files(struct wfs_generation *g, const struct wfs_index *index, const char *index_problem,
                        struct wfs_error *err)
{
    struct wfs_source *s = g->source;
    const char **names WFS_CLEANUP(wfs_free) = malloc((s->n_files + 1) * sizeof *names);
    size_t n = 0;
    int r = names ? 0 : -ENOMEM;

    for (size_t i = 0; names && i < s->n_files; i++) {
        if (!strchr(s->files[i].path, '/'))
            names[n++] = s->files[i].path;
    }
    if (r == 0)
        r = wfs_select(names, n, index, index_problem, &g->selection);
    return r == -E2BIG ? wfs_error_set(err, E2BIG, "%s: more than 10000 weight files", s->path)
           : r < 0     ? wfs_error_set(err, ENOMEM, "out of memory")
                       : 0;
}

/* A single file was named instead of a folder: it is the model, and there is nothing to make GGUF of. */
static int select_only(struct wfs_generation *g)
{
    struct wfs_selection *sel = &g->selection;

    sel->files = calloc(1, sizeof *sel->files);
    if (!sel->files)
        return -ENOMEM;
    sel->files[0] = strdup(g->source->only);
    sel->n_files = sel->files[0] ? 1 : 0;
    sel->problem_gguf = strdup("the source is one file: there is no config.json and no tokenizer");
    return sel->files[0] && sel->problem_gguf ? 0 : -ENOMEM;
}

/* Whether the model.safetensors beside an index is sound enough to be shown. */
static int check_own_single(struct wfs_generation *g)
{
    struct wfs_source_file *f = wfs_source_find(g->source, WFS_SINGLE_NAME);
    struct wfs_shard WFS_CLEANUP(wfs_shard_done) shard;
    struct wfs_error err;

    wfs_shard_init(&shard);
    if (!g->selection.own_single || read_shard(g->source, f, &shard, &err) == 0)
        return 0;
    g->own_single_problem = strdup(err.msg);
    return g->own_single_problem ? 0 : -ENOMEM;
}

struct part_state {
    struct wfs_shard shard;
    struct wfs_error err;
};

static void read_parts(struct wfs_generation *g, struct wfs_model_part *parts, struct part_state *states)
{
    for (size_t i = 0; i < g->selection.n_files; i++) {
        const char *name = g->selection.files[i];
        struct wfs_source_file *f = wfs_source_find(g->source, name);
        int r;

        g->model_files[i] = f;
        if (!f) {
            explain_absent(g->source, name, &states[i].err);
            parts[i].problem = states[i].err.msg;
            continue;
        }
        parts[i].size = f->identity.size;
        r = read_shard(g->source, f, &states[i].shard, &states[i].err);
        if (r < 0)
            parts[i].problem = states[i].err.msg;
        else
            parts[i].shard = &states[i].shard;
    }
}

static int load_parts(struct wfs_generation *g, const struct wfs_index *index, struct wfs_error *err)
{
    size_t n = g->selection.n_files;
    struct wfs_model_part *parts WFS_CLEANUP(wfs_free) = calloc(n + 1, sizeof *parts);
    struct part_state *states WFS_CLEANUP(wfs_free) = calloc(n + 1, sizeof *states);

    g->model_files = calloc(n + 1, sizeof *g->model_files);
    if (!parts || !states || !g->model_files)
        return wfs_error_set(err, ENOMEM, "out of memory");
    read_parts(g, parts, states);
    return wfs_model_build(&g->selection, parts, index, &g->model, err);
}

int wfs_generation_load_model(struct wfs_generation *g, struct wfs_error *err)
{
    struct wfs_index WFS_CLEANUP(wfs_index_done) index = { 0 };
    struct wfs_error index_err = { 0 };
    int has_index = g->source->only ? 0 : read_index(g->source, &index, &index_err), r;

    if (g->source->only)
        r = select_only(g) < 0 ? wfs_error_set(err, ENOMEM, "out of memory") : 0;
    else
        r = select_files(g, has_index == 1 ? &index : NULL, has_index < 0 ? index_err.msg : NULL, err);
    if (r == 0 && check_own_single(g) < 0)
        r = wfs_error_set(err, ENOMEM, "out of memory");
    if (r == 0)
        r = load_parts(g, has_index == 1 ? &index : NULL, err);
    for (size_t i = 0; r == 0 && i < g->model->n_tensors; i++)
        g->n_parameters += g->model->tensors[i].n_elems;
    return r;
}
