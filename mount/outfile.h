/*
 * A file that is written whole or not at all: until it is complete and on disk it has no name (O_TMPFILE), so that
 * nothing stays of it however the process ends. Where a filesystem cannot do that it is under another name beside its
 * place, and a signal that ends the process takes it away (SIGKILL does not).
 */
#ifndef WFS_MOUNT_OUTFILE_H
#define WFS_MOUNT_OUTFILE_H

#include "base/error.h"
#include "fs/source.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct wfs_outfile {
    int fd, dir_fd;
    char *name, *temp; /* basenames in dir_fd; owned; both NULL when written in place (standard output, a device, a
                        * fifo), temp while the file has no name */
    const char *shown; /* for messages; the caller's */
    uint64_t size;     /* that it will have */
    bool force;
};

#define WFS_OUTFILE_INIT { -1, -1, NULL, NULL, NULL, 0, false }

/*
 * Opens path ("-": standard output) for size bytes. Refused: what exists already, unless force; a file of the source,
 * or a place inside the source's folder (source_path), always; a disk that has no room. source may be NULL. path is
 * kept.
 */
int wfs_outfile_open(struct wfs_outfile *o, const char *path, bool force, uint64_t size, const char *source_path,
                     const struct wfs_source *source, struct wfs_error *err);

int wfs_outfile_write(struct wfs_outfile *o, const struct iovec *iov, int n_iov, struct wfs_error *err);

/* Puts the file at its place. On failure it is gone. */
int wfs_outfile_commit(struct wfs_outfile *o, struct wfs_error *err);

void wfs_outfile_done(struct wfs_outfile *o); /* takes away what was not committed */

#endif
