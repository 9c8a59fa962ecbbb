#include "layout.h"
#include "base/checked.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void wfs_layout_init(struct wfs_layout *l)
{
    memset(l, 0, sizeof *l);
}

void wfs_layout_done(struct wfs_layout *l)
{
    for (size_t i = 0; i < l->n_segments; i++) {
        if (l->segments[i].kind == WFS_SEGMENT_TENSOR)
            free(l->segments[i].plan);
    }
    for (size_t i = 0; i < l->n_owned; i++)
        free(l->owned[i]);
    free(l->segments);
    free(l->owned);
    wfs_layout_init(l);
}

/* The one place that makes segments: keeps them contiguous and the size within what stat can say. */
static int append(struct wfs_layout *l, uint64_t len, struct wfs_segment seg)
{
    uint64_t end;

    if (!wfs_add_u64(l->size, len, &end) || end > INT64_MAX)
        return -EOVERFLOW;
    if (l->n_segments == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 4;
        struct wfs_segment *grown = reallocarray(l->segments, cap, sizeof *grown);

        if (!grown)
            return -ENOMEM;
        l->segments = grown;
        l->cap = cap;
    }
    seg.begin = l->size;
    seg.end = end;
    l->segments[l->n_segments++] = seg;
    l->size = end;
    return 0;
}

int wfs_layout_add_owned(struct wfs_layout *l, uint8_t *data, uint64_t len)
{
    if (l->n_owned == l->owned_cap) {
        size_t cap = l->owned_cap ? l->owned_cap * 2 : 4;
        void **grown = reallocarray(l->owned, cap, sizeof *grown);

        if (!grown) {
            free(data);
            return -ENOMEM;
        }
        l->owned = grown;
        l->owned_cap = cap;
    }
    l->owned[l->n_owned++] = data;
    return wfs_layout_add_shared(l, data, len);
}

int wfs_layout_add_shared(struct wfs_layout *l, const uint8_t *data, uint64_t len)
{
    return len ? append(l, len, (struct wfs_segment){ .kind = WFS_SEGMENT_DATA, .data = data }) : 0;
}

int wfs_layout_add_zero(struct wfs_layout *l, uint64_t len)
{
    return len ? append(l, len, (struct wfs_segment){ .kind = WFS_SEGMENT_ZERO }) : 0;
}

int wfs_layout_add_extent(struct wfs_layout *l, uint32_t file, uint64_t offset, uint64_t len)
{
    struct wfs_segment *last = l->n_segments ? &l->segments[l->n_segments - 1] : NULL;
    uint64_t end;

    if (len == 0)
        return 0;
    /* Tensors that are neighbours in the source become one segment: large reads, short maps. */
    if (last && last->kind == WFS_SEGMENT_EXTENT && last->extent.file == file &&
        last->extent.offset + (last->end - last->begin) == offset) {
        if (!wfs_add_u64(l->size, len, &end) || end > INT64_MAX)
            return -EOVERFLOW;
        last->end = l->size = end;
        return 0;
    }
    return append(l, len, (struct wfs_segment){ .kind = WFS_SEGMENT_EXTENT, .extent = { file, offset } });
}

int wfs_layout_add_tensor(struct wfs_layout *l, const struct wfs_plan *plan)
{
    struct wfs_plan *copy;
    uint64_t elems, bytes;
    int r;

    if (!wfs_mul_u64(plan->row_elems, plan->n_rows, &elems) || elems > WFS_PLAN_MAX_ELEMS)
        return -EOVERFLOW;
    bytes = wfs_plan_bytes(plan);
    if (bytes == 0)
        return 0;
    copy = malloc(sizeof *copy);
    if (!copy)
        return -ENOMEM;
    *copy = *plan;
    r = append(l, bytes, (struct wfs_segment){ .kind = WFS_SEGMENT_TENSOR, .plan = copy });
    if (r < 0)
        free(copy);
    return r;
}

int wfs_layout_align(struct wfs_layout *l, uint64_t align)
{
    uint64_t end;

    if (!wfs_align_u64(l->size, align, &end))
        return -EOVERFLOW;
    return wfs_layout_add_zero(l, end - l->size);
}

size_t wfs_layout_find(const struct wfs_layout *l, uint64_t offset)
{
    size_t lo = 0, hi = l->n_segments;

    assert(offset < l->size);
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;

        if (l->segments[mid].begin <= offset)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}
