/*
 * A file of the filesystem from its first byte to its last, with several reads ahead under way so that all workers
 * are busy.
 */
#ifndef WFS_MOUNT_STREAM_H
#define WFS_MOUNT_STREAM_H

#include "fs/fs.h"

#include <stdint.h>
#include <sys/uio.h>

struct wfs_stream;

/* Reads size bytes of object. budget: of bytes that may be held at once. 0 or -ENOMEM. */
int wfs_stream_new(struct wfs_engine *engine, struct wfs_object *object, uint64_t size, uint64_t budget,
                   struct wfs_stream **ret);
void wfs_stream_free(struct wfs_stream *s); /* waits for the reads that are under way */

/*
 * The next piece, in order: 1, with *ret_len bytes at *ret_offset in *ret_n iovecs that are valid until the next
 * call; 0 at the end; or a negative errno.
 */
int wfs_stream_next(struct wfs_stream *s, const struct iovec **ret_iov, int *ret_n, uint64_t *ret_offset,
                    size_t *ret_len);

#endif
