/* The FUSE skin: libfuse's low-level callbacks over fs/. */
#ifndef WFS_MOUNT_FUSE_OPS_H
#define WFS_MOUNT_FUSE_OPS_H

#define FUSE_USE_VERSION 312
#include "options.h"

#include <fuse_lowlevel.h>

enum { WFS_MAX_READ = 1 << 20 }; /* bytes of one request, and the read-ahead */

struct wfs_skin;

/* The callbacks; their user data is a struct wfs_skin. */
extern const struct fuse_lowlevel_ops wfs_fuse_ops;

/* fs outlives the skin. 0 or a negative errno. Starts a thread. */
int wfs_skin_new(struct wfs_fs *fs, const struct wfs_options *options, struct wfs_skin **ret);
void wfs_skin_free(struct wfs_skin *skin); /* when no request is open */

/* Waits until every request is answered. */
void wfs_skin_wait_idle(struct wfs_skin *skin);

#endif
