/* How much memory there is for pages of files. */
#ifndef WFS_MOUNT_MEMORY_H
#define WFS_MOUNT_MEMORY_H

#include <stdint.h>

/*
 * Bytes that this process's reads may fill with pages of files: what the kernel calls available, and no more than the
 * memory limit of its control group. meminfo: "/proc/meminfo"; the others as wfs_cgroup_least takes them. UINT64_MAX
 * when nothing says.
 */
uint64_t wfs_memory_for_pages(const char *meminfo, const char *cgroup_file, const char *cgroups);

#endif
