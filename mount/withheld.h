/* What a new mount tells its starter: which views it does not offer, as far as that is known by then. */
#ifndef WFS_MOUNT_WITHHELD_H
#define WFS_MOUNT_WITHHELD_H

#include "fs.h"

#include <stddef.h>

/*
 * Writes a few lines (each ending in a newline) about what the current generation withholds into ret; "" when nothing
 * is. Waits 50 ms at most for the GGUF views, and not at all where the tokenizer is so large that they take longer;
 * says nothing when they are not settled.
 */
void wfs_withheld_describe(struct wfs_fs *fs, char *ret, size_t size);

#endif
