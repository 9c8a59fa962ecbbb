/*
 * Who uses a mount: processes with a file, a folder or a mapping below a path. Read from /proc, without asking the
 * mount.
 */
#ifndef WFS_MOUNT_HOLDERS_H
#define WFS_MOUNT_HOLDERS_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Writes "python3 (pid 123, open file x), bash (pid 7, current folder)" of the first few into out; returns how many
 * there are.
 */
size_t wfs_holders_describe(const char *mountpoint, char *out, size_t size);

/*
 * The daemon that serves the mount with this device minor, by the name of its control thread; 0 when it cannot be
 * seen.
 */
pid_t wfs_holders_find_daemon(unsigned minor);

/* The control thread's name for wfs_holders_find_daemon: "wfs-mount-<minor>", at most 15 characters. */
void wfs_holders_thread_name(unsigned minor, char *out, size_t size);

#endif
