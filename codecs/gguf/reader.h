/*
 * Reads the header of a GGUF file (v2, v3) as ggml's gguf_init_from_file does, with what that refuses refused. Source
 * of the layout: gguf.cpp of the pinned llama.cpp.
 */
#ifndef WFS_GGUF_READER_H
#define WFS_GGUF_READER_H

#include "../base/error.h"
#include "kv.h"

#include <stddef.h>
#include <stdint.h>

enum { WFS_GGUF_MAX_DIMS = 4 };

/* A key as it lies in the file's bytes (not NUL-terminated, not owned). */
struct wfs_gguf_key {
    const char *name;
    size_t name_len;
    enum wfs_gguf_value_type type; /* of an array's elements when is_array */
    bool is_array;
    uint64_t n;           /* elements, 1 when not an array */
    const uint8_t *value; /* the value, or the first element */
};

struct wfs_gguf_tensor_info {
    const char *name; /* in the file's bytes; cut at its first NUL, as ggml does */
    size_t name_len;
    uint64_t ne[WFS_GGUF_MAX_DIMS]; /* fastest first; ones beyond n_dims */
    uint32_t n_dims, type;          /* type: enum wfs_ggml_type, one that is known */
    uint64_t n_elems, n_bytes;
    const uint8_t *data;            /* n_bytes of the file */
};

struct wfs_gguf_header {
    uint32_t version;
    struct wfs_gguf_key *keys;
    size_t n_keys;
    struct wfs_gguf_tensor_info *tensors;
    size_t n_tensors;
};

/*
 * data: the whole file, which must outlive the header. 0; -EINVAL with the place and the reason; -ENOMEM. ret is
 * written on success only.
 */
int wfs_gguf_header_parse(const void *data, size_t len, struct wfs_gguf_header *ret, struct wfs_error *err);
void wfs_gguf_header_done(struct wfs_gguf_header *h);

/* NULL when there is none. */
const struct wfs_gguf_key *wfs_gguf_header_find(const struct wfs_gguf_header *h, const char *name);

/* Element i of a key of strings (bounds were checked by parse; i < n): walks from the first. */
void wfs_gguf_key_string(const struct wfs_gguf_key *k, uint64_t i, const char **ret, size_t *ret_len);

#endif
