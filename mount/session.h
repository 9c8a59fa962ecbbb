/*
 * One mount from its start to its end: opens the source, mounts, serves until it is unmounted or told to end, and
 * lets go of everything in bounded time.
 */
#ifndef WFS_MOUNT_SESSION_H
#define WFS_MOUNT_SESSION_H

#include "daemon.h"
#include "options.h"

#include <stdbool.h>

struct wfs_session_request {
    const char *source;     /* as the user named it, relative to the working folder */
    const char *mountpoint; /* absolute, from wfs_preflight */
    const struct wfs_options *options;
    struct wfs_daemon *daemon; /* told when the mount serves */
    bool debug;                /* libfuse prints every request */
    int failed_code;           /* the starter's exit code when the mount cannot be looked at */
};

/*
 * Serves. 0 when the mount served and ended; a negative errno with a message when it never did. Sets the signal mask of
 * the calling thread and ignores SIGPIPE; call with no other thread running.
 */
int wfs_session_serve(const struct wfs_session_request *request, struct wfs_error *err);

#endif
