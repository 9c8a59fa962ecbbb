/* Where the disk cache may lie. */
#ifndef WFS_MOUNT_DISK_PLACE_H
#define WFS_MOUNT_DISK_PLACE_H

#include "base/error.h"

/*
 * Refuses a folder for the disk cache that lies in the source (it would change with every tile), at or below the
 * mountpoint (NULL: none), or within a weightfs mount (which would have to answer itself). 0, -EINVAL or another
 * negative errno, with a message.
 */
int wfs_disk_place_check(const char *dir, const char *source, const char *mountpoint, struct wfs_error *err);

#endif
