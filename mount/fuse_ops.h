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

/*
 * Starts and ends the thread that tells the kernel to let go of the files of old generations: without it, their
 * descriptors (and the disk space of a model that was replaced) stay as long as the kernel remembers their names.
 * session is mounted. 0 or a negative errno.
 */
int wfs_prune_start(struct wfs_skin *skin, struct fuse_session *session);
void wfs_prune_stop(struct wfs_skin *skin); /* when the connection has ended */

/*
 * Passthrough, when options and libfuse have it: prepare before the session is mounted (may wait for the source), start
 * once the kernel has answered. Where it cannot be had every file is read through the mount; status.json says why.
 */
void wfs_passthrough_prepare(struct wfs_skin *skin, const struct wfs_options *options);
void wfs_passthrough_start(struct wfs_skin *skin, struct fuse_session *session);

/* Counts what is not done yet, for the end of the mount: a request, or what else uses the skin and the session. */
void wfs_skin_begin(struct wfs_skin *skin);
void wfs_skin_finish(struct wfs_skin *skin);

/* Waits until every request is answered. */
void wfs_skin_wait_idle(struct wfs_skin *skin);

#endif
