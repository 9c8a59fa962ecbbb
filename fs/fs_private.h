/* Private to fs: the filesystem object itself. */
#ifndef WFS_FS_FS_PRIVATE_H
#define WFS_FS_FS_PRIVATE_H

#include "fs.h"

/* Appends the "errors" member of status.json: how many data errors there were and the last few, cut. */
void wfs_fs_put_errors(struct wfs_fs *fs, struct wfs_buf *out);

/* Appends the members of "io" that tell of passthrough, each behind a comma. */
void wfs_fs_put_passthrough(struct wfs_fs *fs, struct wfs_buf *out);

#endif
