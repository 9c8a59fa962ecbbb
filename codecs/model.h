/* The one description of what a source holds: files (shards) and the tensors in them. Immutable once built. */
#ifndef WFS_MODEL_H
#define WFS_MODEL_H

#include "base/map.h"
#include "dtype.h"

#include <stddef.h>
#include <stdint.h>

enum { WFS_MAX_DIMS = 32 };

struct wfs_tensor {
    const char *name;     /* NUL-terminated UTF-8, owned by the model; may hold C0 80 for a NUL (see json.h) */
    const uint64_t *dims; /* row-major, slowest first; n_dims of them; owned by the model */
    uint64_t offset;      /* of the first byte in its file */
    uint64_t n_bytes, n_elems;
    uint32_t name_len, file; /* index into files */
    uint8_t n_dims;          /* 0 = a scalar */
    uint8_t dtype;           /* enum wfs_dtype */
};

struct wfs_model_file {
    const char *name; /* of the shard, a basename */
    uint64_t size;    /* bytes */
    char *problem;    /* NULL = sound; else why nothing in it can be used (its tensors are then not in the model) */
};

struct wfs_model {
    struct wfs_tensor *tensors; /* sorted by file (as sorted by name), then by name as bytes: the converter's order */
    size_t n_tensors;
    struct wfs_model_file *files; /* sorted by name as bytes */
    size_t n_files;
    struct wfs_map by_name; /* tensor name -> index into tensors */
    char *problem;          /* NULL, or why views that need the whole model are withheld */
    char *problem_gguf;     /* NULL, or why the GGUF views alone are withheld (the converter refuses) */
    char *note;             /* NULL, or something a user should know (a tensor in two shards) */
    void *arena;            /* names and dims; private to model.c */
};

void wfs_model_free(struct wfs_model *model);

#endif
