/* SHA-256 of many files of a source at once, each checked to be the same file before and after. */
#ifndef WFS_MOUNT_HASH_FILES_H
#define WFS_MOUNT_HASH_FILES_H

#include "fs/source.h"

#include <stddef.h>

struct wfs_hash_job {
    struct wfs_source_file *file;
    uint8_t sha256[32];
    struct wfs_error err; /* why it could not be read; code 0 = done */
};

/*
 * Reads all of them, several at a time, with a progress line on standard error. each (may be NULL) is called for each
 * as soon as it has its digest, one call at a time. 0, or -ENOMEM; what failed is in the jobs.
 */
int wfs_hash_files(struct wfs_source *s, struct wfs_hash_job *jobs, size_t n_jobs,
                   void (*each)(void *ctx, struct wfs_hash_job *job), void *ctx);

#endif
