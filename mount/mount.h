/* Mounting, for the two ways to ask for it: `weightfs mount` and mount(8)'s helper. */
#ifndef WFS_MOUNT_MOUNT_H
#define WFS_MOUNT_MOUNT_H

#include "options.h"

struct wfs_mount_request {
    const char *program; /* in front of messages: "weightfs mount" */
    const char *source, *mountpoint;
    const struct wfs_options *options;
    bool foreground, debug, fake /* check all, mount nothing */;
    int failed_code; /* exit code of a failed mount */
};

/* Checks, goes to the background unless asked not to, and serves. The process's exit code. */
int wfs_mount_run(const struct wfs_mount_request *request);

#endif
