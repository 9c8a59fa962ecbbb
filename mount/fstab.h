/* mount(8)'s helper: the program as mount.weightfs or mount.fuse.weightfs, with its arguments and exit codes. */
#ifndef WFS_MOUNT_FSTAB_H
#define WFS_MOUNT_FSTAB_H

#include "mount.h"

#include <stdbool.h>

/* Exit codes of mount(8). */
enum { WFS_FSTAB_USAGE = 1, WFS_FSTAB_SYSTEM = 2, WFS_FSTAB_FAILED = 32 };

/* Whether a program of this name (argv[0]) is the helper. */
bool wfs_fstab_is_helper(const char *program);

/*
 * Parses "SOURCE MOUNTPOINT [-sfnvrw] [-N NAMESPACE] [-t TYPE] [-o OPTIONS]", in any order. 0, or -EINVAL with a
 * message that names what is wrong. options (initialised by the caller) is what ret->options points to.
 */
int wfs_fstab_parse(int argc, char **argv, struct wfs_options *options, struct wfs_mount_request *ret,
                    struct wfs_error *err);

/* The exit code. Option nofail: a source that does not exist is silently passed over, as mount(8) says of devices. */
int wfs_fstab_main(int argc, char **argv);

#endif
