/*
 * File names for tensors: two tensors never share one, and a name tells its tensor (but for hashes). Letters, digits,
 * '.', '_', '-' and other printable UTF-8 stay; '/', NUL, control characters, '%', a leading '.', and the dot before
 * "u1"/"u2" of a name that equals another tensor's raw twin become %XX by byte. What would pass NAME_MAX is cut and
 * gets "~" and 16 digits of XXH3.
 */
#ifndef WFS_WRITERS_NPY_NAMES_H
#define WFS_WRITERS_NPY_NAMES_H

#include "../base/map.h"
#include "../model.h"

#include <stdbool.h>

struct wfs_npy_names {
    const struct wfs_model *model; /* outlives the names */
    char **stems;                  /* by tensor: the name without ".npy"; NULL = the tensor's own name */
    struct wfs_map changed;        /* stem -> tensor, for stems that are not NULL */
};

int wfs_npy_names_init(struct wfs_npy_names *names, const struct wfs_model *model); /* 0 or -ENOMEM */
void wfs_npy_names_done(struct wfs_npy_names *names);

/* The file name of tensor i (raw: of its twin) into out, with its NUL. */
enum { WFS_NPY_NAME_BYTES = 256 };
void wfs_npy_names_get(const struct wfs_npy_names *names, size_t i, bool raw, char out[WFS_NPY_NAME_BYTES]);

/* The tensor behind a file name; false when there is none (or its type is not offered). */
bool wfs_npy_names_find(const struct wfs_npy_names *names, const char *file_name, size_t *ret_tensor, bool *ret_raw);

#endif
