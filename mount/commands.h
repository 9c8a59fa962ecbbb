/* The table of subcommands: one file each. */
#ifndef WFS_MOUNT_COMMANDS_H
#define WFS_MOUNT_COMMANDS_H

#include "arguments.h"

extern const struct wfs_command wfs_command_mount, wfs_command_umount, wfs_command_ls, wfs_command_info,
    wfs_command_export, wfs_command_verify, wfs_command_warm, wfs_command_stats, wfs_command_cache_key,
    wfs_command_cache_ls, wfs_command_cache_prune;

#endif
