/*
 * Private to fs: the importance matrices that options name, read once when the filesystem is opened. They stay as they
 * were read, whatever becomes of their files.
 */
#ifndef WFS_FS_MATRICES_H
#define WFS_FS_MATRICES_H

#include "gguf/imatrix.h"

#include <time.h>

struct wfs_matrix {
    char *path; /* as it was typed */
    struct timespec mtime;
    struct wfs_imatrix imatrix;
};

struct wfs_matrices {
    struct wfs_matrix **items;
    size_t count;
};

void wfs_matrices_init(struct wfs_matrices *m);
void wfs_matrices_done(struct wfs_matrices *m);

/*
 * The matrix of a path, read when it is the first time that it is asked for; it lives as long as m. 0, or a negative
 * errno with a message that names the file. [waits]
 */
int wfs_matrices_get(struct wfs_matrices *m, const char *path, const struct wfs_matrix **ret, struct wfs_error *err);

/* One that was read; NULL for another path. */
const struct wfs_matrix *wfs_matrices_find(const struct wfs_matrices *m, const char *path);

#endif
