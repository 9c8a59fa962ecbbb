/* Vector files in memory, models made of them, and the plainest possible reader of a layout over those bytes. */
#ifndef WFS_TESTS_SHARDS_H
#define WFS_TESTS_SHARDS_H

#include "check.h"
#include "containers/container.h"
#include "containers/index.h"
#include "containers/select.h"
#include "kernels/kernels.h"
#include "layout.h"
#include "model.h"

#include <errno.h>
#include <stdio.h>

struct bytes {
    uint8_t *data;
    size_t len;
};

static inline struct bytes load_vector(const char *name)
{
    struct bytes b = { NULL, 0 };
    char path[1000];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", WFS_TEST_VECTORS, name);
    f = fopen(path, "rb");
    if (!f)
        fail_msg("%s: cannot be opened", path);
    fseek(f, 0, SEEK_END);
    b.len = (size_t)ftell(f);
    rewind(f);
    b.data = malloc(b.len + 1);
    assert_int_equal(fread(b.data, 1, b.len, f), b.len);
    fclose(f);
    return b;
}

/* Parses as a caller would: probe, want, parse. */
static inline int parse_shard(const struct bytes *b, struct wfs_shard *ret, struct wfs_error *err)
{
    size_t head = b->len < WFS_CONTAINER_PROBE_BYTES ? b->len : WFS_CONTAINER_PROBE_BYTES;
    const struct wfs_container *c = wfs_container_find(b->data, head, b->len);
    uint64_t want = 0;
    int r = c->want(b->data, head, b->len, &want, err);

    return r < 0 ? r : c->parse(b->data, want, b->len, ret, err);
}

/* A folder of named files in memory, as a model. */
struct folder {
    const char *names[16];
    struct bytes files[16]; /* by name; len 0 and data NULL: absent */
    size_t n;
    const char *index; /* text, or NULL */
};

static inline struct wfs_model *build_model(const struct folder *f)
{
    struct wfs_index index = { 0 };
    struct wfs_selection sel = { 0 };
    struct wfs_model_part parts[16] = { 0 };
    struct wfs_shard shards[16] = { 0 };
    struct wfs_error errs[16], err;
    struct wfs_model *model = NULL;
    int has_index = 0;

    if (f->index) {
        has_index = wfs_index_parse(f->index, strlen(f->index), &index, &err) == 0;
        if (!has_index)
            assert_int_not_equal(err.code, 0);
    }
    assert_int_equal(wfs_select(f->names, f->n, has_index ? &index : NULL, f->index && !has_index ? err.msg : NULL,
                                &sel), 0);
    assert_true(sel.n_files <= 16);
    for (size_t i = 0; i < sel.n_files; i++) {
        parts[i].problem = "it is absent";
        for (size_t k = 0; k < f->n; k++) {
            if (strcmp(f->names[k], sel.files[i]) != 0)
                continue;
            parts[i].size = f->files[k].len;
            if (parse_shard(&f->files[k], &shards[i], &errs[i]) < 0) {
                parts[i].problem = errs[i].msg;
            } else {
                parts[i].problem = NULL;
                parts[i].shard = &shards[i];
            }
        }
    }
    assert_int_equal(wfs_model_build(&sel, parts, has_index ? &index : NULL, &model, &err), 0);
    wfs_selection_done(&sel);
    if (has_index)
        wfs_index_done(&index);
    return model;
}

/* One segment, whole. Tensors: source rows as they are, decoded to float32. */
static inline void read_segment(const struct wfs_segment *s, const struct bytes *files, const struct wfs_model *m,
                                uint8_t *out)
{
    size_t len = s->end - s->begin;

    switch (s->kind) {
    case WFS_SEGMENT_DATA:
        memcpy(out, s->data, len);
        break;
    case WFS_SEGMENT_ZERO:
        memset(out, 0, len);
        break;
    case WFS_SEGMENT_EXTENT:
        assert_true(s->extent.offset + len <= files[s->extent.file].len);
        assert_true(s->extent.file < m->n_files);
        memcpy(out, files[s->extent.file].data + s->extent.offset, len);
        break;
    case WFS_SEGMENT_TENSOR:
        assert_int_equal(s->plan->dst, WFS_TYPE_F32);
        assert_int_equal(s->plan->row_elems * s->plan->n_rows * 4, len);
        wfs_kernels_get()->decode[s->plan->tensor->dtype](files[s->plan->tensor->file].data + s->plan->tensor->offset,
                                                          (float *)out, s->plan->row_elems * s->plan->n_rows);
        break;
    }
}

/* The file that a layout describes. files: by the model's file index. */
static inline struct bytes read_layout(const struct wfs_layout *l, const struct bytes *files, const struct wfs_model *m)
{
    struct bytes b = { malloc(l->size + 16), l->size };
    uint64_t at = 0;

    for (size_t i = 0; i < l->n_segments; i++) {
        uint8_t *piece = malloc(l->segments[i].end - l->segments[i].begin);

        assert_true(l->segments[i].begin == at && l->segments[i].end > at);
        read_segment(&l->segments[i], files, m, piece);
        memcpy(b.data + at, piece, l->segments[i].end - at);
        at = l->segments[i].end;
        free(piece);
    }
    assert_true(at == l->size);
    return b;
}

#endif
