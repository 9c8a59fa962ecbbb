/*
 * Importance matrices: a weight per column (and expert) of a tensor, as llama-quantize --imatrix takes them from a GGUF
 * file or from the older .dat form. Source: imatrix-loader.cpp and quantize.cpp of the pinned llama.cpp.
 */
#ifndef WFS_GGUF_IMATRIX_H
#define WFS_GGUF_IMATRIX_H

#include "../base/error.h"
#include "../base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wfs_imatrix_entry {
    char *name;    /* of the tensor, owned */
    float *values; /* owned: rows of ne[0] values, one row per expert */
    size_t n;
};

struct wfs_imatrix {
    struct wfs_imatrix_entry *entries;
    size_t n_entries; /* 0: llama-quantize goes on as if there was no matrix */
    struct wfs_map by_name;
    char *dataset;  /* the first data set's name, owned; NULL = none */
    int32_t chunks; /* how many chunks of text it was computed on; 0 or less = not told */
};

/*
 * data: the whole file. 0; -EINVAL with the reason when llama-quantize would not load it, or refuses it (a value that
 * is not finite: the message names the tensor); -ENOMEM. ret is written on success only and owns everything.
 */
int wfs_imatrix_parse(const void *data, size_t len, struct wfs_imatrix *ret, struct wfs_error *err);
void wfs_imatrix_done(struct wfs_imatrix *m);

/* The entry for a tensor's GGUF name, or NULL. */
const struct wfs_imatrix_entry *wfs_imatrix_find(const struct wfs_imatrix *m, const char *name);

#endif
