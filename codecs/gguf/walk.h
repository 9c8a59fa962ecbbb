/*
 * The keys and tensors of a GGUF header, one after the other, from bytes that may be cut anywhere: the data need not
 * be there, and nothing is allocated. Layout: versions 2 and 3 of the format, as in ggml's docs/gguf.md. What else a
 * file must keep to is the reader's (reader.h).
 */
#ifndef WFS_GGUF_WALK_H
#define WFS_GGUF_WALK_H

#include "../base/cursor.h"
#include "kv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WFS_GGUF_DEFAULT_ALIGNMENT = 32 };

struct wfs_gguf_walk {
    struct wfs_cursor c; /* in front of the next item */
    uint64_t n_keys, n_tensors; /* that the header announces */
    uint32_t version;
};

/* A key, or a tensor's description. Nothing is owned. */
struct wfs_gguf_item {
    const uint8_t *name;
    size_t name_len;
    uint32_t type;        /* of a key's value (WFS_GGUF_ARRAY too), or of a tensor */
    const uint8_t *value; /* what stands behind the name and a key's type */
    size_t value_len;
    /* of a key */
    uint32_t element_type;   /* of what is in an array; else type */
    uint64_t n;              /* elements; 1 when it is no array */
    const uint8_t *elements; /* the first */
    /* of a tensor */
    uint32_t n_dims;
    const uint8_t *dims; /* n_dims u64, little-endian */
    uint64_t offset;     /* within the data */
};

/* Why there is no next item, as far as a message needs to know. */
enum wfs_gguf_step {
    WFS_GGUF_STEP_OK,
    WFS_GGUF_STEP_MAGIC, /* no GGUF file */
    WFS_GGUF_STEP_CUT,   /* the bytes end within the item's head */
    WFS_GGUF_STEP_TYPE,  /* element_type is no type of a value; name is set */
    WFS_GGUF_STEP_VALUE, /* the value reaches beyond the end; name is set */
    WFS_GGUF_STEP_DIMS   /* n_dims is more than 8; name is set */
};

enum wfs_gguf_step wfs_gguf_walk_start(struct wfs_gguf_walk *w, const uint8_t *header, size_t len);

/* The next one: first the keys, n_keys times, then the tensors. */
enum wfs_gguf_step wfs_gguf_walk_key(struct wfs_gguf_walk *w, struct wfs_gguf_item *ret);
enum wfs_gguf_step wfs_gguf_walk_tensor(struct wfs_gguf_walk *w, struct wfs_gguf_item *ret);

/* A string: its length and its bytes. False when it is cut, or longer than ggml allows (1 GiB). */
bool wfs_gguf_take_string(struct wfs_cursor *c, const uint8_t **ret, size_t *ret_len);

#endif
