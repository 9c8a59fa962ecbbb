/* Bytes with a length: what parsers get. */
#ifndef WFS_BASE_BLOB_H
#define WFS_BASE_BLOB_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct wfs_blob {
    uint8_t *data; /* owned by whoever holds the blob; malloc; NULL = none */
    size_t len;
};

static inline void wfs_blob_done(struct wfs_blob *b)
{
    free(b->data);
    b->data = NULL;
    b->len = 0;
}

#endif
