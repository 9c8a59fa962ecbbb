/*
 * One virtual file as an ordered, contiguous list of segments, built only by append. Writers make layouts from headers
 * alone and never touch tensor bytes; fs/engine reads them.
 */
#ifndef WFS_LAYOUT_H
#define WFS_LAYOUT_H

#include "base/error.h"
#include "plan.h"

#include <stddef.h>
#include <stdint.h>

enum wfs_segment_kind { WFS_SEGMENT_DATA, WFS_SEGMENT_ZERO, WFS_SEGMENT_EXTENT, WFS_SEGMENT_TENSOR };

struct wfs_segment {
    uint64_t begin, end; /* in the virtual file, half-open, never empty */
    enum wfs_segment_kind kind;
    union {
        const uint8_t *data; /* DATA: owned by the layout or by what it keeps alive (wfs_layout_add_owned/_shared) */
        struct {
            uint32_t file; /* index into the model's files (for a plain file: 0) */
            uint64_t offset;
        } extent;              /* EXTENT: source bytes as they stand */
        struct wfs_plan *plan; /* TENSOR: owned by the layout */
    };
};

struct wfs_layout {
    struct wfs_segment *segments; /* sorted by begin, no gaps */
    size_t n_segments, cap;
    uint64_t size; /* of the file */
    void **owned;  /* malloc'ed blocks freed with the layout */
    size_t n_owned, owned_cap;
};

void wfs_layout_init(struct wfs_layout *l);
void wfs_layout_done(struct wfs_layout *l);

/* Appends. Empty segments are dropped; a size over INT64_MAX is -EOVERFLOW; -ENOMEM. */
int wfs_layout_add_owned(struct wfs_layout *l, uint8_t *data, uint64_t len);        /* takes data (also on failure) */
int wfs_layout_add_shared(struct wfs_layout *l, const uint8_t *data, uint64_t len); /* data outlives the layout */
int wfs_layout_add_zero(struct wfs_layout *l, uint64_t len);
int wfs_layout_add_extent(struct wfs_layout *l, uint32_t file, uint64_t offset, uint64_t len);
int wfs_layout_add_tensor(struct wfs_layout *l, const struct wfs_plan *plan); /* copies; to WFS_PLAN_MAX_ELEMS */

/* Zeros up to the next multiple of align. */
int wfs_layout_align(struct wfs_layout *l, uint64_t align);

/* The index of the segment that holds offset (offset < size), by binary search. */
size_t wfs_layout_find(const struct wfs_layout *l, uint64_t offset);

#endif
