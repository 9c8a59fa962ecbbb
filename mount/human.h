/* Numbers as people read them. */
#ifndef WFS_MOUNT_HUMAN_H
#define WFS_MOUNT_HUMAN_H

#include <stddef.h>
#include <stdint.h>

/* "4.37 GiB", "512 B": binary units, three digits. Returns out. */
const char *wfs_human_bytes(uint64_t bytes, char *out, size_t size);

/* "1.24 B" parameters, "362 M", "12": decimal units, three digits. Returns out. */
const char *wfs_human_count(uint64_t count, char *out, size_t size);

/* How many columns of a terminal a text in UTF-8 takes. */
size_t wfs_human_width(const char *text);

/* "4s", "3m12s", "2h05m". Returns out. */
const char *wfs_human_seconds(double seconds, char *out, size_t size);

#endif
