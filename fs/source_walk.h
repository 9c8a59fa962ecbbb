/* Private to fs/source: listing a source, and reaching what is below it without crossing into another mount. */
#ifndef WFS_FS_SOURCE_WALK_H
#define WFS_FS_SOURCE_WALK_H

#include "source.h"

/* Fills files, dirs and left_out of a source whose folder is open. */
int wfs_source_walk(struct wfs_source *s, struct wfs_error *err);

/*
 * Opens a subfolder (O_DIRECTORY | O_CLOEXEC) without following a link or entering another mount. The descriptor or a
 * negative errno.
 */
int wfs_source_open_below(int dir_fd, const char *path, int flags);

/* Remembers the last subfolder opened: files come sorted, so one descriptor serves a run of them. */
struct wfs_source_parent {
    char *path; /* NULL = none */
    int fd;
};

#define WFS_SOURCE_PARENT_INIT { NULL, -1 }

/*
 * The descriptor (O_PATH, owned by p) of the folder that holds a relative path, and the last part of the path. The way
 * there follows no link and enters no other mount (-EXDEV, -ELOOP): this program's own mount may lie below the source.
 */
int wfs_source_parent(struct wfs_source_parent *p, const struct wfs_source *s, const char *path, const char **ret_base);
void wfs_source_parent_done(struct wfs_source_parent *p);

/*
 * How many descriptors of a source's files may be open before idle ones are closed: half of what the process may have.
 */
size_t wfs_source_max_open(void);

/*
 * stat of an entry of a folder, links followed when it is one. 0 or a negative errno: -EXDEV when the link leads into
 * this program's own mount, which is not entered: the answer would have to come from who asks.
 */
int wfs_source_stat(const struct wfs_source *s, int dir_fd, const char *name, bool is_link, struct stat *ret);

/* Opens an entry for reading, the same way. A descriptor or a negative errno. */
int wfs_source_open_at(const struct wfs_source *s, int dir_fd, const char *name, bool is_link);

/*
 * How long from now a write could still give the same stamp (ns), 0 = it could not: any write is seen. Of a stamp, and
 * of everything that a source has listed.
 */
int64_t wfs_stamp_open_ns(const struct timespec *stamp, const struct timespec *now);
int64_t wfs_source_open_ns(const struct wfs_source *s, const struct timespec *now);

/*
 * Before anything is read of a source that was just listed. With fine stamps (ns) it waits, 40 ms at most, until every
 * write is seen; true when what was listed has changed by then: list it again. With coarse ones (whole seconds), and of
 * files that somebody has open for writing and has written to lately, it notes in unsettled_until when that will be.
 */
bool wfs_source_settle(struct wfs_source *s);

/* Whether that time has come: what was read before may be older than what is there under the same stamps. */
bool wfs_source_has_settled(const struct wfs_source *s);

/* stat of a subfolder, reached the same way. 0 or a negative errno. */
int wfs_source_stat_dir(const struct wfs_source *s, const char *path, struct stat *ret);

#endif
