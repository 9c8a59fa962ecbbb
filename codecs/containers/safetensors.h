/*
 * Reads safetensors headers: u64 length N, N bytes of JSON, tensor bytes without holes up to the end of the file. At
 * least as strict as the reference library (safetensors 0.8.0, tensor.rs), and stricter where that is lenient:
 * duplicate keys, tensors written as JSON arrays and more than WFS_MAX_DIMS dimensions are refused.
 */
#ifndef WFS_CONTAINERS_SAFETENSORS_H
#define WFS_CONTAINERS_SAFETENSORS_H

#include "container.h"

enum {
    WFS_SAFETENSORS_PROBE_BYTES = 256,        /* a whole Git LFS pointer, for its message */
    WFS_SAFETENSORS_MAX_HEADER = 100000000,   /* the reference's limit on N */
    WFS_SAFETENSORS_MAX_VALUES = 4000000,     /* JSON values in a header, which has 8 to 12 per tensor */
};

/* The functions of the container's row; see container.h. */
int wfs_safetensors_probe(const uint8_t *head, size_t len, uint64_t file_size);
int wfs_safetensors_want(const uint8_t *head, size_t len, uint64_t file_size, uint64_t *ret_bytes,
                         struct wfs_error *err);
int wfs_safetensors_parse(const uint8_t *bytes, size_t len, uint64_t file_size, struct wfs_shard *ret,
                          struct wfs_error *err);

#endif
