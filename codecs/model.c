#include "model.h"
#include "base/cleanup.h"
#include "containers/container.h"
#include "containers/select.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 3 };

/* Up to three reasons in one text, and how many more there are. */
struct reasons {
    char *text;
    size_t count;
    bool failed;
};

/* What the model keeps of its shards. */
struct arena {
    size_t n_shards;
    struct {
        char *names;
        uint64_t *dims;
    } shards[];
};

struct build {
    struct wfs_model *model;
    const struct wfs_index *index;
    struct reasons problem, problem_gguf, note;
    bool *ambiguous; /* by tensor: also in another file, and no index says which counts */
};

static void add_reason(struct reasons *r, const char *text)
{
    char *joined;

    r->count++;
    if (r->count > MAX_LINES)
        return;
    if (asprintf(&joined, "%s%s%s", r->text ? r->text : "", r->text ? "; " : "", text) < 0) {
        r->failed = true;
        return;
    }
    free(r->text);
    r->text = joined;
}

__attribute__((format(printf, 2, 3))) static void say(struct reasons *r, const char *fmt, ...)
{
    struct wfs_error line;
    char raw[1200];
    va_list ap;

    if (r->count >= MAX_LINES) {
        r->count++;
        return;
    }
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    wfs_error_set(&line, EINVAL, "%s", raw);
    add_reason(r, line.msg);
}

static int finish_reasons(struct reasons *r, char **ret)
{
    if (r->failed)
        return -ENOMEM;
    if (r->count > MAX_LINES) {
        char *joined;

        if (asprintf(&joined, "%s; and %zu more like these", r->text, r->count - MAX_LINES) < 0)
            return -ENOMEM;
        free(r->text);
        r->text = joined;
    }
    *ret = WFS_STEAL(r->text);
    return 0;
}

int wfs_tensor_compare_names(const struct wfs_tensor *a, const struct wfs_tensor *b)
{
    size_t n = a->name_len < b->name_len ? a->name_len : b->name_len;

    for (size_t i = 0; i < n; i++) {
        unsigned char x = (unsigned char)a->name[i], y = (unsigned char)b->name[i];

        /* C0 is only ever the first half of an encoded NUL. */
        if (x != y)
            return (x == 0xc0 ? 0 : x) - (y == 0xc0 ? 0 : y);
    }
    return (a->name_len > b->name_len) - (a->name_len < b->name_len);
}

static int compare_names(const void *a, const void *b)
{
    return wfs_tensor_compare_names(a, b);
}

/* Takes the shards' memory first, so that it has one owner whatever happens later. */
static int allocate(struct wfs_model *m, const struct wfs_selection *sel, struct wfs_model_part *parts)
{
    struct arena *arena = calloc(1, sizeof *arena + sel->n_files * sizeof arena->shards[0]);
    size_t total = 0;

    if (!arena)
        return -ENOMEM;
    m->arena = arena;
    arena->n_shards = sel->n_files;
    for (size_t i = 0; i < sel->n_files; i++) {
        if (!parts[i].shard)
            continue;
        arena->shards[i].names = WFS_STEAL(parts[i].shard->names);
        arena->shards[i].dims = WFS_STEAL(parts[i].shard->dims);
        total += parts[i].shard->n_tensors;
    }
    if (total > WFS_MAX_TENSORS)
        return -E2BIG;
    m->tensors = calloc(total + 1, sizeof *m->tensors);
    m->files = calloc(sel->n_files + 1, sizeof *m->files);
    if (!m->tensors || !m->files || !wfs_map_reserve(&m->by_name, total))
        return -ENOMEM;
    return 0;
}

static int add_files(struct build *b, const struct wfs_selection *sel, const struct wfs_model_part *parts)
{
    struct wfs_model *m = b->model;

    for (size_t i = 0; i < sel->n_files; i++) {
        m->files[i].name = strdup(sel->files[i]);
        if (!m->files[i].name)
            return -ENOMEM;
        m->n_files++;
        m->files[i].size = parts[i].size;
        if (!parts[i].problem)
            continue;
        m->files[i].problem = strdup(parts[i].problem);
        if (!m->files[i].problem)
            return -ENOMEM;
        say(&b->problem, "%s: %s", sel->files[i], parts[i].problem);
    }
    return 0;
}

/* Whether the copy of a tensor in this file counts, by the index. */
static bool is_chosen(struct build *b, const struct wfs_tensor *t, const char *file)
{
    const char *chosen;
    uint32_t at;

    if (!b->index)
        return true;
    if (!wfs_map_get(&b->index->by_tensor, t->name, t->name_len, &at)) {
        say(&b->problem_gguf, "tensor \"%.160s\" in %s is not in the index: the converter refuses that", t->name, file);
        say(&b->note, "tensor \"%.160s\" in %s is not in the index and left out", t->name, file);
        return false;
    }
    chosen = b->index->files[b->index->entries[at].file];
    if (strcmp(chosen, file) == 0)
        return true;
    say(&b->problem_gguf,
        "tensor \"%.160s\" is in %s, but the index puts it into %s: the converter takes whichever comes last",
        t->name, file, chosen);
    say(&b->note, "tensor \"%.160s\" in %s is left out: the index puts it into %s", t->name, file, chosen);
    return false;
}

static int add_tensors(struct build *b, uint32_t file, struct wfs_shard *shard)
{
    struct wfs_model *m = b->model;

    qsort(shard->tensors, shard->n_tensors, sizeof *shard->tensors, compare_names);
    for (size_t i = 0; i < shard->n_tensors; i++) {
        struct wfs_tensor *t = &shard->tensors[i];
        uint32_t other = 0;
        int r;

        if (!is_chosen(b, t, m->files[file].name))
            continue;
        r = wfs_map_add(&m->by_name, t->name, t->name_len, (uint32_t)m->n_tensors, &other);
        if (r < 0)
            return r;
        t->file = file;
        m->tensors[m->n_tensors] = *t;
        if (r == 0) {
            say(&b->problem, "tensor \"%.160s\" is both in %s and in %s", t->name,
                m->files[m->tensors[other].file].name,
                m->files[file].name);
            b->ambiguous[other] = b->ambiguous[m->n_tensors] = true;
        }
        m->n_tensors++;
    }
    return 0;
}

/* Leaves out the tensors that could be either of two, and numbers the rest anew. */
static int drop_ambiguous(struct build *b)
{
    struct wfs_model *m = b->model;
    size_t kept = 0;

    for (size_t i = 0; i < m->n_tensors; i++) {
        if (!b->ambiguous[i])
            m->tensors[kept++] = m->tensors[i];
    }
    if (kept == m->n_tensors)
        return 0;
    m->n_tensors = kept;
    wfs_map_done(&m->by_name);
    for (size_t i = 0; i < kept; i++) {
        int r = wfs_map_set(&m->by_name, m->tensors[i].name, m->tensors[i].name_len, (uint32_t)i);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Every tensor that the index names must be where the index says, unless that file is broken as a whole. */
static void check_index(struct build *b)
{
    const struct wfs_model *m = b->model;

    for (size_t i = 0; b->index && i < b->index->n_entries; i++) {
        const struct wfs_index_entry *e = &b->index->entries[i];
        uint32_t at;

        if (wfs_map_get(&m->by_name, e->tensor, strlen(e->tensor), &at) || m->files[e->file].problem)
            continue;
        say(&b->problem, "the index puts tensor \"%.160s\" into %s, which does not hold it", e->tensor,
            m->files[e->file].name);
    }
}

static int build(struct build *b, const struct wfs_selection *sel, struct wfs_model_part *parts)
{
    struct wfs_model *m = b->model;
    size_t total = 0;
    int r;

    if (sel->problem)
        add_reason(&b->problem, sel->problem);
    if (sel->problem_gguf)
        add_reason(&b->problem_gguf, sel->problem_gguf);
    if (sel->note)
        add_reason(&b->note, sel->note);
    for (size_t i = 0; i < sel->n_files; i++)
        total += parts[i].shard ? parts[i].shard->n_tensors : 0;
    b->ambiguous = calloc(total + 1, sizeof *b->ambiguous);
    r = b->ambiguous ? add_files(b, sel, parts) : -ENOMEM;
    for (size_t i = 0; i < sel->n_files && r == 0; i++) {
        if (parts[i].shard)
            r = add_tensors(b, (uint32_t)i, parts[i].shard);
    }
    if (r == 0)
        r = drop_ambiguous(b);
    if (r == 0)
        check_index(b);
    if (r == 0)
        r = finish_reasons(&b->problem, &m->problem);
    if (r == 0)
        r = finish_reasons(&b->problem_gguf, &m->problem_gguf);
    if (r == 0)
        r = finish_reasons(&b->note, &m->note);
    return r;
}

int wfs_model_build(const struct wfs_selection *selection, struct wfs_model_part *parts, const struct wfs_index *index,
                    struct wfs_model **ret, struct wfs_error *err)
{
    struct wfs_model *m = calloc(1, sizeof *m);
    struct build b = { .model = m, .index = index };
    int r = -ENOMEM;

    if (m) {
        wfs_map_init(&m->by_name);
        r = allocate(m, selection, parts);
    }
    if (r == 0)
        r = build(&b, selection, parts);
    for (size_t i = 0; i < selection->n_files; i++) {
        if (parts[i].shard)
            wfs_shard_done(parts[i].shard);
    }
    free(b.problem.text);
    free(b.problem_gguf.text);
    free(b.note.text);
    free(b.ambiguous);
    if (r < 0) {
        wfs_model_free(m);
        return r == -E2BIG ? wfs_error_set(err, E2BIG, "more than %d tensors", WFS_MAX_TENSORS)
                           : wfs_error_set(err, ENOMEM, "out of memory for the model");
    }
    *ret = m;
    return 0;
}

void wfs_model_free(struct wfs_model *model)
{
    struct arena *arena;

    if (!model)
        return;
    arena = model->arena;
    for (size_t i = 0; arena && i < arena->n_shards; i++) {
        free(arena->shards[i].names);
        free(arena->shards[i].dims);
    }
    free(arena);
    for (size_t i = 0; i < model->n_files; i++) {
        free((char *)model->files[i].name);
        free(model->files[i].problem);
    }
    free(model->files);
    free(model->tensors);
    wfs_map_done(&model->by_name);
    free(model->problem);
    free(model->problem_gguf);
    free(model->note);
    free(model);
}
