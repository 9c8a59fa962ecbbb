/* Limits of the control groups (versions 1 and 2) that a process is in. */
#ifndef WFS_BASE_CGROUP_H
#define WFS_BASE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* The limit that one group's folder states; UINT64_MAX when it states none. */
typedef uint64_t wfs_cgroup_limit(const char *folder, bool v2);

/*
 * The least limit in the groups that cgroup_file ("/proc/self/cgroup") names, each and those above it up to the root:
 * of version 2, and of version 1 those that have the controller ("cpu", "memory"). mount: where they are mounted
 * ("/sys/fs/cgroup"). UINT64_MAX when there is none.
 */
uint64_t wfs_cgroup_least(const char *cgroup_file, const char *mount, const char *controller, wfs_cgroup_limit *limit);

/* The first line of a file in a group's folder. */
bool wfs_cgroup_line(const char *folder, const char *name, char *line, int size);

#endif
