/*
 * Mounts by their path, found in /proc/self/mountinfo: nothing here asks the mounted filesystem, so it works on one
 * that is dead or hangs.
 */
#ifndef WFS_MOUNT_MOUNTPOINT_H
#define WFS_MOUNT_MOUNTPOINT_H

#include "base/error.h"

#include <stdbool.h>

struct wfs_mount_info {
    char *path, *type, *source; /* owned */
    unsigned major, minor;
    unsigned user; /* who mounted it, as FUSE says (0 where nothing says it) */
};

void wfs_mount_info_done(struct wfs_mount_info *m);

/* The absolute path without links, also when what is mounted there is dead. 0 or a negative errno. The caller frees. */
int wfs_mountpoint_resolve(const char *path, char **ret, struct wfs_error *err);

/* The topmost mount at exactly this absolute path. 1 found (done with wfs_mount_info_done), 0 none, negative errno. */
int wfs_mountpoint_find(const char *path, struct wfs_mount_info *ret);

/* The same on the text of a mountinfo file (for tests). */
int wfs_mountpoint_parse(const char *mountinfo, const char *path, struct wfs_mount_info *ret);

bool wfs_mount_is_weightfs(const struct wfs_mount_info *m);

/* Whether what is mounted there does not answer any more: asked anew, not from the kernel's cache. */
bool wfs_mountpoint_is_dead(const char *path);

/* Unmounts: by the system call as root, else with fusermount3. 0 or a negative errno: -EBUSY, … */
int wfs_mountpoint_detach(const char *path, bool lazy, struct wfs_error *err);

/* Unmounts lazily and, as root, ends every open request of the mount. */
int wfs_mountpoint_abort(const char *path);

/* Full path of fusermount3 in PATH or the usual folders; false when there is none. */
bool wfs_fusermount_find(char *out, unsigned long size);

#endif
