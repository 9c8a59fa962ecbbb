/*
 * How an output tensor is cut into tiles, and how one tile is made: rows put in order, decoded, rounded, encoded,
 * validated. Pure functions over bytes; a tile depends on nothing but its plan and its index.
 */
#ifndef WFS_FS_PIPELINE_H
#define WFS_FS_PIPELINE_H

#include "kernels/kernels.h"
#include "plan.h"
#include "transform.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Elements of a tile. At the speed of the q4_K kernel (some 150 million elements a second) it is made in half a
 * millisecond, which is what a reader of 4 KiB at random waits for. Half of it costs a sequential reader of Q8_0 a
 * sixth of its speed and one of Q4_K a twentieth, twice of it gives neither any.
 */
enum { WFS_TILE_ELEMS = 64 * 1024 };

/*
 * Tiles lie within units: the whole tensor, or one row where rows in rotary order are longer than a tile. Rows that
 * must not be cut (wfs_plan_whole_rows) are in one tile each, also where that is longer than WFS_TILE_ELEMS.
 */
struct wfs_tiling {
    uint64_t n_elems, unit_elems, tile_elems; /* the last tile of a unit may be shorter */
    uint64_t tiles_per_unit, n_tiles;
};

struct wfs_tiling wfs_pipeline_tiling(const struct wfs_plan *p);

/* The tile that holds byte `offset` of the output, and a tile's elements [begin, end). */
uint64_t wfs_pipeline_tile_at(const struct wfs_plan *p, const struct wfs_tiling *t, uint64_t offset);
void wfs_pipeline_tile(const struct wfs_tiling *t, uint64_t tile, uint64_t *ret_begin, uint64_t *ret_end);

/*
 * A tile may be made in parts of that many elements (the last may be shorter), for a reader at random who wants little
 * of it. 0: tiles of this plan are made whole.
 */
enum { WFS_TILE_MAX_PARTS = 8 };
uint64_t wfs_pipeline_part_elems(const struct wfs_plan *p, const struct wfs_tiling *t);

/* The elements [begin, end) of a part, counted from 1 (0: of the whole tile). */
void wfs_pipeline_part(const struct wfs_plan *p, const struct wfs_tiling *t, uint64_t tile, unsigned part,
                       uint64_t *ret_begin, uint64_t *ret_end);

/* Output bytes of n_elems elements (whole blocks), source bytes of n_elems elements. */
uint64_t wfs_pipeline_out_bytes(const struct wfs_plan *p, uint64_t n_elems);
uint64_t wfs_pipeline_source_bytes(const struct wfs_plan *p, uint64_t n_elems);

/* What a worker lends to wfs_pipeline_make, 64-byte aligned. */
enum { WFS_PIPELINE_CHUNK = 8192, WFS_PIPELINE_SCRATCH = WFS_PIPELINE_CHUNK * 6 };

enum wfs_refusal { WFS_REFUSED_VIA, WFS_REFUSED_OUTPUT };

struct wfs_bad_value {
    uint64_t elem; /* of the output tensor: the value, or the first of its block */
    enum wfs_refusal refusal;
};

/*
 * Makes output elements [begin, end) (of one tile, or whole blocks of one) from the gathered source bytes of `runs` (as
 * wfs_transform_runs has them for the same range) into out (4-byte aligned). 0; -EDOM when a value must be refused, and
 * *ret_bad says which; -ENOTSUP without a kernel; -ENOMEM.
 */
int wfs_pipeline_make(const struct wfs_plan *p, const struct wfs_kernels *k, uint64_t begin, uint64_t end,
                      const uint8_t *source, const struct wfs_runs *runs, uint8_t *out, void *scratch,
                      struct wfs_bad_value *ret_bad);

#endif
