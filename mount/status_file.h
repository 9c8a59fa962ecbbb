/* The status.json of a mount, as a client of it reads it. */
#ifndef WFS_MOUNT_STATUS_FILE_H
#define WFS_MOUNT_STATUS_FILE_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Appends the text. A negative errno with a message: -ENOTCONN when the mount is dead, -ENOENT when there is no
 * weightfs mount at mountpoint.
 */
int wfs_status_file_read(const char *mountpoint, struct wfs_buf *out, struct wfs_error *err);

#endif
