/* A progress line on a terminal: bytes, rate, time left. Silent when the stream is not a terminal. */
#ifndef WFS_MOUNT_PROGRESS_H
#define WFS_MOUNT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct wfs_progress {
    FILE *stream;
    const char *label;
    uint64_t total;
    double begin, drawn; /* seconds of the monotonic clock; of the last line drawn */
    bool on;
};

/* label is kept, not copied. */
void wfs_progress_begin(struct wfs_progress *p, FILE *stream, const char *label, uint64_t total);
void wfs_progress_update(struct wfs_progress *p, uint64_t done); /* draws at most ten times a second */
void wfs_progress_end(struct wfs_progress *p);                   /* clears the line */

/* The line's text, at most columns wide, for done bytes after seconds. */
void wfs_progress_format(const struct wfs_progress *p, uint64_t done, double seconds, unsigned columns, char *out,
                         size_t size);

#endif
