/*
 * The index of a sharded model (model.safetensors.index.json): which tensor is in which shard. Duplicate keys: the last
 * wins, as in the Python readers.
 */
#ifndef WFS_CONTAINERS_INDEX_H
#define WFS_CONTAINERS_INDEX_H

#include "../base/error.h"
#include "../base/map.h"
#include "../json.h"

#include <stddef.h>
#include <stdint.h>

struct wfs_index_entry {
    const char *tensor; /* owned by the index */
    uint32_t file;      /* index into files */
};

struct wfs_index {
    struct wfs_json *json; /* owns every string */
    const char **files;    /* the shards: basenames, sorted as bytes, each once */
    size_t n_files;
    struct wfs_index_entry *entries; /* in the order of the text */
    size_t n_entries;
    struct wfs_map by_tensor; /* tensor name -> index into entries */
    char *problem;            /* NULL, or which entry is not usable (it is left out) and why */
};

/*
 * Parses the text of an index. Shards must be plain names of files in the same folder: an entry with another value is
 * left out and named in ret->problem. 0, or a negative errno with the reason when the text is no index at all.
 */
int wfs_index_parse(const void *text, size_t len, struct wfs_index *ret, struct wfs_error *err);
void wfs_index_done(struct wfs_index *index);

#endif
