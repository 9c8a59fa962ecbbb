/*
 * The order of rows: which source elements a piece of an output tensor is made of, and where each of its rows then is.
 * Pure functions.
 */
#ifndef WFS_FS_TRANSFORM_H
#define WFS_FS_TRANSFORM_H

#include "plan.h"

#include <stddef.h>
#include <stdint.h>

enum { WFS_MAX_RUNS = 5 }; /* a head cut at each end is two runs, the whole heads between are one */

struct wfs_run {
    uint64_t first, n; /* source elements, from the tensor's first */
    uint64_t at;       /* where the run begins among the gathered elements */
};

struct wfs_runs {
    struct wfs_run runs[WFS_MAX_RUNS];
    size_t n;
    uint64_t n_elems; /* of all runs */
};

/* The source row that output row `row` is. */
uint64_t wfs_transform_row(const struct wfs_plan *p, uint64_t row);

/*
 * What output elements [begin, end) are made of, as few runs as there can be. With WFS_ROWS_ROPE the range is whole
 * rows or lies within one row (assert).
 */
void wfs_transform_runs(const struct wfs_plan *p, uint64_t begin, uint64_t end, struct wfs_runs *ret);

/* Where source element `elem` is among the gathered ones. It is in one of the runs (assert). */
uint64_t wfs_transform_find(const struct wfs_runs *r, uint64_t elem);

#endif
