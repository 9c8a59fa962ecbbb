/*
 * Writes the GGUF views of a model folder with the codecs alone: no mount, no engine, one row after the other. What
 * tests/interop/check_gguf.py compares with the reference, and a second opinion on the engine.
 *
 *     make_gguf FOLDER OUTDIR [MODEL_NAME]      writes OUTDIR/FORMAT.gguf, or OUTDIR/FORMAT.error with the reason
 */
#include "base/cleanup.h"
#include "containers/container.h"
#include "containers/index.h"
#include "containers/select.h"
#include "gguf/gguf.h"
#include "kernels/kernels.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *root;

static int read_file(void *ctx, const char *name, struct wfs_blob *ret, struct wfs_error *err)
{
    char path[4096];
    FILE *f;
    long len;

    (void)ctx;
    snprintf(path, sizeof path, "%s/%s", root, name);
    f = fopen(path, "rb");
    if (!f)
        return errno == ENOENT ? 0 : wfs_error_set(err, errno, "%s: %s", name, strerror(errno));
    fseek(f, 0, SEEK_END);
    len = ftell(f);
    rewind(f);
    ret->data = malloc((size_t)len + 1);
    ret->len = fread(ret->data, 1, (size_t)len, f);
    fclose(f);
    return 1;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **list_names(size_t *ret_n)
{
    DIR *d = opendir(root);
    char **names = NULL;
    size_t n = 0;

    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        names = realloc(names, (n + 1) * sizeof *names);
        names[n++] = strdup(e->d_name);
    }
    if (d)
        closedir(d);
    qsort(names, n, sizeof *names, compare);
    *ret_n = n;
    return names;
}

static struct wfs_blob *shards; /* by file of the model */
static size_t n_shards;

static struct wfs_model *open_model(char **names, size_t n)
{
    struct wfs_index index = { 0 };
    struct wfs_selection sel = { 0 };
    struct wfs_blob blob = { NULL, 0 };
    struct wfs_error err = { 0 };
    struct wfs_model *model = NULL;
    struct wfs_model_part *parts;
    struct wfs_shard *parsed;
    int has_index = read_file(NULL, WFS_INDEX_NAME, &blob, &err) == 1 &&
                    wfs_index_parse(blob.data, blob.len, &index, &err) == 0;

    if (wfs_select((const char *const *)names, n, has_index ? &index : NULL, NULL, &sel) < 0)
        exit(1);
    parts = calloc(sel.n_files + 1, sizeof *parts);
    parsed = calloc(sel.n_files + 1, sizeof *parsed);
    shards = calloc(sel.n_files + 1, sizeof *shards);
    for (size_t i = 0; i < sel.n_files; i++) {
        struct wfs_blob *b = &shards[i];
        const struct wfs_container *c;
        uint64_t want = 0;
        size_t head;

        parts[i].problem = "cannot be read";
        if (read_file(NULL, sel.files[i], b, &err) != 1)
            continue;
        parts[i].size = b->len;
        head = b->len < WFS_CONTAINER_PROBE_BYTES ? b->len : WFS_CONTAINER_PROBE_BYTES;
        c = wfs_container_find(b->data, head, b->len);
        if (c->want(b->data, head, b->len, &want, &err) < 0 || c->parse(b->data, want, b->len, &parsed[i], &err) < 0) {
            parts[i].problem = "cannot be read";
            continue;
        }
        parts[i].problem = NULL;
        parts[i].shard = &parsed[i];
    }
    if (wfs_model_build(&sel, parts, has_index ? &index : NULL, &model, &err) < 0)
        exit(1);
    n_shards = sel.n_files;
    for (size_t i = 0; i < sel.n_files; i++)
        wfs_shard_done(&parsed[i]);
    free(parsed);
    free(parts);
    wfs_selection_done(&sel);
    if (has_index)
        wfs_index_done(&index);
    wfs_blob_done(&blob);
    return model;
}

/* The source row of an output row; see plan.h. */
static uint64_t source_row(const struct wfs_plan *p, uint64_t row)
{
    uint64_t head = p->n_heads ? p->n_rows / p->n_heads : 0, in_head;

    if (p->order == WFS_ROWS_AS_IS)
        return row;
    in_head = row % head;
    return row - in_head + in_head % 2 * (head / 2) + in_head / 2;
}

static bool is_sound(enum wfs_ggml_type type, const void *bytes, size_t n)
{
    size_t blocks = n / wfs_ggml_types[type].block_elems;

    return wfs_kernels_get()->validate[type](bytes, blocks) == blocks;
}

/* A whole tensor: rows decoded, put in order, rounded to the type that is quantised, encoded. False: not valid. */
static bool write_tensor(const struct wfs_plan *p, FILE *out)
{
    bool sound = true;
    const struct wfs_kernels *k = wfs_kernels_get();
    const uint8_t *src = shards[p->tensor->file].data + p->tensor->offset;
    size_t elem = wfs_dtypes[p->tensor->dtype].bits / 8, n = p->row_elems * p->n_rows;
    float *values = malloc(n * sizeof *values);
    uint8_t *bytes = malloc(n * 4 + 64);

    for (uint64_t r = 0; r < p->n_rows; r++)
        k->decode[p->tensor->dtype](src + source_row(p, r) * p->row_elems * elem, values + r * p->row_elems,
                                    p->row_elems);
    k->encode[p->via](values, bytes, n);
    if (p->validate_via)
        sound = is_sound(p->via, bytes, n);
    if (p->via != WFS_TYPE_F32)
        k->decode[p->via == WFS_TYPE_F16 ? WFS_F16 : WFS_BF16](bytes, values, n);
    k->encode[p->dst](values, bytes, n);
    if (p->validate)
        sound = sound && is_sound(p->dst, bytes, n);
    fwrite(bytes, 1, wfs_plan_bytes(p), out);
    free(values);
    free(bytes);
    return sound;
}

/* The name of a tensor with a value that llama-quantize refuses, or NULL. */
static const char *write_layout(const struct wfs_layout *l, FILE *out)
{
    const char *unsound = NULL;

    for (size_t i = 0; i < l->n_segments; i++) {
        const struct wfs_segment *s = &l->segments[i];

        if (s->kind == WFS_SEGMENT_DATA)
            fwrite(s->data, 1, s->end - s->begin, out);
        else if (s->kind == WFS_SEGMENT_TENSOR)
            unsound = write_tensor(s->plan, out) ? unsound : s->plan->tensor->name;
        else
            for (uint64_t at = s->begin; at < s->end; at++)
                fputc(0, out);
    }
    return unsound;
}

static void write_error(const char *dir, const char *format, const struct wfs_error *err)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s.error", dir, format);
    f = fopen(path, "w");
    fprintf(f, "%s\n", err->msg);
    fclose(f);
}

static void write_views(const struct wfs_gguf *g, const char *dir)
{
    for (size_t i = 0; i < wfs_gguf_n_formats; i++) {
        struct wfs_error err = { 0 };
        struct wfs_layout layout;
        const char *unsound;
        char path[4096];
        FILE *f;

        if (wfs_gguf_layout(g, &wfs_gguf_formats[i].request, &layout, &err) < 0) {
            write_error(dir, wfs_gguf_formats[i].name, &err);
            continue;
        }
        snprintf(path, sizeof path, "%s/%s.gguf", dir, wfs_gguf_formats[i].name);
        f = fopen(path, "wb");
        unsound = f ? write_layout(&layout, f) : NULL;
        if (!f || ferror(f) || fclose(f) != 0) {
            perror(path);
            exit(1);
        }
        if (unsound) {
            remove(path);
            wfs_error_set(&err, EINVAL, "tensor %s has a value that llama-quantize refuses", unsound);
            write_error(dir, wfs_gguf_formats[i].name, &err);
        }
        wfs_layout_done(&layout);
    }
}

int main(int argc, char **argv)
{
    struct wfs_gguf_options options = { NULL, NULL };
    struct wfs_error err = { 0 };
    struct wfs_gguf *g = NULL;
    struct wfs_folder folder = { .read = read_file };
    struct wfs_model *model;
    char **names, *path;
    size_t n;

    if (argc < 3)
        return 2;
    path = realpath(argv[1], NULL);
    if (!path) {
        perror(argv[1]);
        return 1;
    }
    root = folder.path = path;
    options.model_name = argc > 3 ? argv[3] : NULL;
    names = list_names(&n);
    folder.names = (const char *const *)names;
    folder.n_names = n;
    model = open_model(names, n);
    if (wfs_gguf_open(model, &folder, &options, &g, &err) == 0) {
        write_views(g, argv[2]);
    } else {
        for (size_t i = 0; i < wfs_gguf_n_formats; i++)
            write_error(argv[2], wfs_gguf_formats[i].name, &err);
    }
    wfs_gguf_free(g);
    wfs_model_free(model);
    for (size_t i = 0; i < n_shards; i++)
        wfs_blob_done(&shards[i]);
    free(shards);
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    free(path);
    return 0;
}
