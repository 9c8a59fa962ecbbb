/*
 * The keys and tensors of a GGUF header, one after the other, from bytes that may be cut anywhere: the data need not
 * be there, and nothing is allocated. Layout: version 2 and 3 of the format, as in ggml's docs/gguf.md.
 */
#ifndef WFS_MOUNT_GGUF_WALK_H
#define WFS_MOUNT_GGUF_WALK_H

#include "base/cursor.h"

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
    uint64_t name_len;
    uint32_t type;        /* of a key's value, or of a tensor */
    uint64_t offset;      /* of a tensor, within the data */
    const uint8_t *value; /* what stands behind the name and a key's type */
    size_t value_len;
};

/* False when it is no GGUF header, or is cut within its first 24 bytes. */
bool wfs_gguf_walk_start(struct wfs_gguf_walk *w, const uint8_t *header, size_t len);

/* The next one: first the keys, n_keys times, then the tensors. False when the header is cut or unsound there. */
bool wfs_gguf_walk_key(struct wfs_gguf_walk *w, struct wfs_gguf_item *ret);
bool wfs_gguf_walk_tensor(struct wfs_gguf_walk *w, struct wfs_gguf_item *ret);

/*
 * Says where two headers differ first, for people: "key general.name is "A" in the view, "B" in the file", "key X is
 * only in the file", "tensor X is q4_K in the view, q5_K in the file". view and file as they are called. False when one cannot be
 * read, or nothing differs.
 */
bool wfs_gguf_walk_difference(const uint8_t *view, size_t view_len, const uint8_t *file, size_t file_len, char *out,
                              size_t size);

#endif
