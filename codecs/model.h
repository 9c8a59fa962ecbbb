/* The one description of what a source holds: files (shards) and the tensors in them. Immutable once built. */
#ifndef WFS_MODEL_H
#define WFS_MODEL_H

#include "base/error.h"
#include "base/map.h"
#include "dtype.h"

#include <stddef.h>
#include <stdint.h>

enum { WFS_MAX_DIMS = 32, WFS_MAX_TENSORS = 1000000 };

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

struct wfs_index;     /* containers/index.h */
struct wfs_selection; /* containers/select.h */
struct wfs_shard;     /* containers/container.h */

/* One file of a selection, after an attempt to read it. */
struct wfs_model_part {
    uint64_t size;           /* of the file, bytes; 0 when it could not be opened */
    struct wfs_shard *shard; /* what it holds; NULL with a problem */
    const char *problem;     /* NULL, or why it cannot be used, without the file's name in front */
};

/*
 * Builds a model from the files of a selection: parts[i] is selection->files[i]. Takes what the shards own (they are
 * empty afterwards, also on failure). index is the one the selection was made with, or NULL. Rules:
 * - the index decides which file's copy of a tensor counts; other copies are left out, and the converter, which would
 *   take the last one, is not followed (problem_gguf);
 * - a tensor that the index lacks is left out, and the converter refuses it (problem_gguf);
 * - a tensor that the index names and no file holds, a broken file, and, without an index, a tensor in two files (none
 *   counts) are problems of the whole model; what is left can still be read tensor by tensor.
 * 0; -ENOMEM; -E2BIG for more than WFS_MAX_TENSORS tensors.
 */
int wfs_model_build(const struct wfs_selection *selection, struct wfs_model_part *parts, const struct wfs_index *index,
                    struct wfs_model **ret, struct wfs_error *err);

void wfs_model_free(struct wfs_model *model);

/* Orders names as bytes of UTF-8, a NUL (C0 80) first. <0, 0, >0 as memcmp. */
int wfs_tensor_compare_names(const struct wfs_tensor *a, const struct wfs_tensor *b);

#endif
