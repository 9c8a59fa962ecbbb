/*
 * The source folder on disk, opened once per generation: a folder descriptor, the files in it and what identifies their
 * content (device, inode, size, mtime, ctime). Everything is reached by descriptor (openat below the folder), so a
 * mount over the source changes nothing. Links may lead out of the folder (the HF cache is made of them); what they
 * lead to must be a regular file.
 */
#ifndef WFS_FS_SOURCE_H
#define WFS_FS_SOURCE_H

#include "base/blob.h"
#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct wfs_identity {
    uint64_t dev, ino, size;
    struct timespec mtime, ctime;
};

struct wfs_identity wfs_identity_of(const struct stat *st);
bool wfs_identity_equal(const struct wfs_identity *a, const struct wfs_identity *b);

/*
 * One regular file. Its descriptor is opened on first use and kept for the next, but closed when nobody uses it and
 * descriptors are wanted for other files, or nobody will read this source again.
 */
struct wfs_source_file {
    char *path; /* relative to the folder ("onnx/model.onnx") */
    struct wfs_identity identity;
    bool is_link; /* or was when it was listed */
    /* Protected by the source's lock; while one holds the descriptor they stay. */
    int fd;         /* -1 = not open */
    unsigned users; /* who hold it, or are opening it */
    bool local;     /* once opened: on a file system of this machine, where fstat answers at once */
};

struct wfs_source_dir {
    char *path; /* relative; "" is the folder itself */
    struct timespec mtime;
};

struct wfs_source {
    char *path; /* absolute, as the reference would see it (realpath of what the user named) */
    int dir_fd;
    struct wfs_source_file *files; /* sorted by path as bytes; regular files after following links */
    size_t n_files;
    struct wfs_source_dir *dirs; /* sorted; subfolders (links to folders are not followed) */
    size_t n_dirs;
    struct wfs_identity root; /* of the folder: a new or renamed file changes its mtime */
    bool local;               /* the folder is on a filesystem that waits for nobody */
    char *only;               /* NULL, or the one file that is shown (its name was given instead of the folder's) */
    char **left_out;          /* "name: reason" of what is not shown, the first 100 */
    size_t n_left_out;
    char **dangling; /* relative paths of links that lead nowhere yet (a hub's cache while it downloads), not all */
    size_t n_dangling;
    /* CLOCK_REALTIME; until then a write can leave all stamps as they are. Then it counts as changed. 0 = no. */
    struct timespec unsettled_until;
    atomic_uint refs;
    atomic_uint_fast64_t own_dev; /* st_dev of this program's mount, into which no link is followed; 0 = none */

    pthread_mutex_t lock; /* a leaf; protects what follows and the files' descriptors */
    size_t n_open;        /* files that have a descriptor */
    size_t max_open;      /* when so many are open, those that nobody uses are closed */
    size_t n_users;       /* of all files */
    bool retired;
};

/*
 * Opens the folder at path (or, when base is not NULL, the same folder again by base's descriptor: a new generation)
 * and walks it: at most 100,000 entries, else -E2BIG. When path names a regular file, the source is its folder with
 * only that file in it. Fifos, sockets, devices, dangling links, links to folders or into this program's own mount,
 * folders below the eighth level, those that cannot be read or on which something is mounted (this mount perhaps) and
 * hidden state (".git", ".cache") are left out, silently but for left_out. Where something was written less than 20 ms
 * ago it waits, so that no later write has the same stamps. [may block on a hanging source, as all functions here but
 * find and close]
 */
int wfs_source_open(const char *path, const struct wfs_source *base, struct wfs_source **ret, struct wfs_error *err);

/* Another reference: work in flight keeps the descriptors. Close drops one; the last closes. */
struct wfs_source *wfs_source_ref(struct wfs_source *s);
void wfs_source_close(struct wfs_source *s);

/* The path of the folder, or of the one file when it was opened by that: the caller's to free; NULL: out of memory. */
char *wfs_source_given(const struct wfs_source *s);

/* The file with this relative path, or NULL. */
struct wfs_source_file *wfs_source_find(const struct wfs_source *s, const char *path);

/*
 * The file's descriptor, opened when needed (O_RDONLY | O_CLOEXEC, never waiting on a fifo) and proved to be the file
 * that was listed: a negative errno with err set, -ESTALE when it is another one by now or the source is retired. It is
 * the caller's to use until wfs_source_fd_put. Thread-safe.
 */
int wfs_source_fd_get(struct wfs_source *s, struct wfs_source_file *f, struct wfs_error *err);
int wfs_source_fd_get_open(struct wfs_source *s, struct wfs_source_file *f); /* -1 when it is not open; never waits */
void wfs_source_fd_put(struct wfs_source *s, struct wfs_source_file *f); /* once per successful get */

/* Whether a filesystem waits for nobody (not NFS, FUSE, Ceph, Lustre …), so that fstat answers at once. */
struct statfs; /* sys/vfs.h */
bool wfs_filesystem_is_local(const struct statfs *st);
bool wfs_fd_is_local(int fd);

/* Whether that is known of a file before it is opened: of those on the folder's own filesystem. */
static inline bool wfs_source_file_is_local(const struct wfs_source *s, const struct wfs_source_file *f)
{
    return s->local && f->identity.dev == s->root.dev;
}

/*
 * Nobody will read this source again: closes its descriptors, those in use when they are put. What asks for one from
 * now on is told -ESTALE. References stay good. Not while another thread looks whether it has changed.
 */
void wfs_source_retire(struct wfs_source *s);

/*
 * fstat on the descriptor that the caller holds: 0 when the content is still the one that was listed (of a file that
 * was deleted, too), -ESTALE, or another negative errno.
 */
int wfs_source_check(struct wfs_source *s, const struct wfs_source_file *f);

/* The same when the attributes are at hand: from WFS_IO_STAT, for sources where fstat may wait. */
int wfs_source_check_statx(const struct wfs_source_file *f, const struct statx *now);

/*
 * Looks whether the folder as listed is still what is on disk (every file's identity by path, the folders' mtimes). 0,
 * -ESTALE, or why it cannot be seen. A dangling link that leads somewhere now is a change. -ESTALE, too, once after a
 * listing whose stamps were too fresh and too coarse to show a write that came right after it.
 */
int wfs_source_changed(struct wfs_source *s);

/*
 * Reads a range of a file / a whole file of at most max bytes (-EFBIG), for opening a model; the engine's reads go
 * through the pool. A file that ends early is -EIO, one that changed meanwhile -ESTALE.
 */
int wfs_source_pread(struct wfs_source *s, struct wfs_source_file *f, uint64_t offset, void *buf, size_t len,
                     struct wfs_error *err);
int wfs_source_slurp(struct wfs_source *s, struct wfs_source_file *f, uint64_t max, struct wfs_blob *ret,
                     struct wfs_error *err);

#endif
