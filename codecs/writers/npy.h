/*
 * Lays one tensor out as numpy.save writes it. Types that numpy has stand as they are; bf16 and the 8-bit floats become
 * float32 (exact), with a raw twin that holds their bits as unsigned integers. Source of the header's form: numpy 1.26,
 * lib/format.py.
 */
#ifndef WFS_WRITERS_NPY_H
#define WFS_WRITERS_NPY_H

#include "../layout.h"
#include "../model.h"

#include <stdbool.h>

enum { WFS_NPY_MAX_HEADER = 1024 }; /* bytes: room for WFS_MAX_DIMS dimensions of 20 digits */

/* False for types that neither numpy nor float32 can show (below 8 bits). */
bool wfs_npy_offered(enum wfs_dtype dtype);

/* What a raw twin's file name has in front of ".npy": "u2" or "u1"; NULL for types that have no twin. */
const char *wfs_npy_twin(enum wfs_dtype dtype);

/* The size of the file in bytes, without laying it out; raw: of the twin. False when it is more than a file or a
 * pipeline (WFS_PLAN_MAX_ELEMS) can have. */
bool wfs_npy_size(const struct wfs_tensor *t, bool raw, uint64_t *ret);

/* 0, -EOVERFLOW or -ENOMEM. The type must be offered, and have a twin when raw. */
int wfs_npy_layout(const struct wfs_tensor *t, bool raw, struct wfs_layout *ret, struct wfs_error *err);

#endif
