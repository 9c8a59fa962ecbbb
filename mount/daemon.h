/* Going to the background: the parent waits at a pipe until the child says that it serves, or how it failed. */
#ifndef WFS_MOUNT_DAEMON_H
#define WFS_MOUNT_DAEMON_H

struct wfs_daemon {
    int pipe_fd; /* in the child: where it reports; -1 in the foreground, and once it has reported */
};

/*
 * Forks. In the child: returns 0 in a session of its own; standard error stays the starter's until
 * wfs_daemon_serving. In the parent: does not return: it exits with what the child reports. A negative errno when it
 * cannot fork.
 */
int wfs_daemon_start(struct wfs_daemon *d);

/*
 * The mount serves: the parent exits with 0, the working folder becomes /, standard input, output and error
 * /dev/null. Returns 0, or -EPIPE when the starter is gone (it was interrupted): then the mount should end. Does
 * nothing in the foreground.
 */
int wfs_daemon_serving(struct wfs_daemon *d);

/* It failed, messages are printed: the parent exits with this code. Does nothing in the foreground. */
void wfs_daemon_failed(struct wfs_daemon *d, int exit_code);

#endif
