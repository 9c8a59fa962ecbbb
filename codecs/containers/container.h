/*
 * The table of containers: file formats that hold tensors. A container is a pure function over the first bytes of a
 * file; it never sees a path or a descriptor.
 */
#ifndef WFS_CONTAINERS_CONTAINER_H
#define WFS_CONTAINERS_CONTAINER_H

#include "../base/error.h"
#include "../model.h"

#include <stddef.h>
#include <stdint.h>

/* What one file holds. */
struct wfs_shard {
    struct wfs_tensor *tensors; /* owned; in the order of their bytes; their file field is 0 until a model is built */
    size_t n_tensors;
    char *names;    /* owned: the tensors' names */
    uint64_t *dims; /* owned: the tensors' dims */
};

void wfs_shard_init(struct wfs_shard *s);
void wfs_shard_done(struct wfs_shard *s);

struct wfs_container {
    const char *name;
    size_t probe_bytes; /* bytes from the start of the file that probe and want need (fewer when the file is shorter) */
    /* How sure the container is that the file is its own, by the bytes alone: 0 (not) to 100. */
    int (*probe)(const uint8_t *head, size_t len, uint64_t file_size);
    /* How many bytes from the start of the file parse needs. 0 or a negative errno with err set. */
    int (*want)(const uint8_t *head, size_t len, uint64_t file_size, uint64_t *ret_bytes, struct wfs_error *err);
    /*
     * Parses those bytes. Every tensor of the result lies within file_size. 0, or a negative errno with the reason
     * (without the file's name: the caller puts it in front).
     */
    int (*parse)(const uint8_t *bytes, size_t len, uint64_t file_size, struct wfs_shard *ret, struct wfs_error *err);
};

extern const struct wfs_container wfs_containers[];
extern const size_t wfs_n_containers;

/* The most probe_bytes of all rows: what a caller reads first. */
enum { WFS_CONTAINER_PROBE_BYTES = 512 };

/* The container that bids highest for these first bytes; safetensors (for its message) when none bids. Never NULL. */
const struct wfs_container *wfs_container_find(const uint8_t *head, size_t len, uint64_t file_size);

#endif
