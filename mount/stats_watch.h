/* A mount's counters as they move: one line per interval. */
#ifndef WFS_MOUNT_STATS_WATCH_H
#define WFS_MOUNT_STATS_WATCH_H

#include "base/error.h"

#include <stdbool.h>

/* Seconds between two lines, as typed: 0.1 to 86400, with decimals. False when it is no such number. */
bool wfs_stats_interval(const char *text, double *ret);

/*
 * Prints a line about what the mount did in each interval, until it is gone (0, when it was seen at least once), or
 * standard output is closed. A negative errno with a message.
 */
int wfs_stats_watch(const char *mountpoint, double seconds, struct wfs_error *err);

#endif
