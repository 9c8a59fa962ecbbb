/*
 * The descriptors of a source's files. A folder may have more files than a process may have descriptors, and a deleted
 * file's disk space comes back only when its last descriptor is closed, so they are kept only while they are good for
 * something. A file that is opened again is proved to be the one that was listed, as the first time.
 */
#include "source.h"
#include "source_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MIN_OPEN = 16, BATCH = 64 };

size_t wfs_source_max_open(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return MIN_OPEN;
    /* The other half is for an older generation that still has readers, and for everything else. */
    return limit.rlim_cur / 2 > MIN_OPEN ? (size_t)(limit.rlim_cur / 2) : MIN_OPEN;
}

bool wfs_filesystem_is_local(const struct statfs *st)
{
    static const long local[] = {
        EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC,
        OVERLAYFS_SUPER_MAGIC, SQUASHFS_MAGIC, EROFS_SUPER_MAGIC_V1, 0x2fc12fc1 /* ZFS */,
    };

    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        if ((long)st->f_type == local[i])
            return true;
    }
    return false;
}

bool wfs_fd_is_local(int fd)
{
    struct statfs st;

    return fstatfs(fd, &st) == 0 && wfs_filesystem_is_local(&st);
}

/* Closes the descriptors that nobody uses. */
static void close_idle(struct wfs_source *s)
{
    int fds[BATCH];
    size_t i = 0;

    while (i < s->n_files) {
        size_t n = 0;

        pthread_mutex_lock(&s->lock);
        for (; i < s->n_files && n < BATCH; i++) {
            struct wfs_source_file *f = &s->files[i];

            if (f->fd < 0 || f->users > 0)
                continue;
            fds[n++] = f->fd;
            f->fd = -1;
            s->n_open--;
        }
        pthread_mutex_unlock(&s->lock);
        for (size_t k = 0; k < n; k++)
            close(fds[k]); /* may wait on a hanging source: not under the lock */
    }
}

static int open_file(struct wfs_source *s, struct wfs_source_file *f)
{
    struct wfs_source_parent parent = WFS_SOURCE_PARENT_INIT;
    const char *base;
    int dir = wfs_source_parent(&parent, s, f->path, &base);
    int fd = dir < 0 ? dir : wfs_source_open_at(s, dir, base, f->is_link);

    wfs_source_parent_done(&parent);
    return fd;
}

/* Opens a file and proves it. */
static int open_listed(struct wfs_source *s, struct wfs_source_file *f, struct wfs_error *err)
{
    struct wfs_identity now;
    struct stat st;
    int fd = open_file(s, f), flags;

    if (fd == -EMFILE || fd == -ENFILE) {
        close_idle(s);
        fd = open_file(s, f);
    }
    if (fd < 0)
        return wfs_error_set(err, -fd, "%s/%s: cannot be opened: %s", s->path, f->path, strerror(-fd));
    if (fstat(fd, &st) < 0) {
        int code = errno;

        close(fd);
        return wfs_error_set(err, code, "%s/%s: %s", s->path, f->path, strerror(code));
    }
    now = wfs_identity_of(&st);
    if (!wfs_identity_equal(&now, &f->identity)) {
        close(fd);
        return wfs_error_set(err, ESTALE, "%s/%s: the file has changed since it was listed", s->path, f->path);
    }
    /* With O_NONBLOCK, io_uring answers EAGAIN on file systems that cannot promise not to wait, instead of handing over
     * to a thread. */
    flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    return fd;
}

int wfs_source_fd_get(struct wfs_source *s, struct wfs_source_file *f, struct wfs_error *err)
{
    bool retired, full, local;
    int fd, mine;

    pthread_mutex_lock(&s->lock);
    retired = s->retired;
    fd = f->fd;
    full = s->n_open >= s->max_open;
    if (!retired) {
        f->users++;
        s->n_users++;
    }
    pthread_mutex_unlock(&s->lock);
    if (retired)
        return wfs_error_set(err, ESTALE, "%s/%s: the source has changed", s->path, f->path);
    if (fd >= 0)
        return fd;
    if (full)
        close_idle(s);
    mine = open_listed(s, f, err);
    if (mine < 0) {
        wfs_source_fd_put(s, f);
        return mine;
    }
    local = wfs_fd_is_local(mine);
    pthread_mutex_lock(&s->lock);
    if (f->fd < 0) {
        f->fd = mine;
        f->local = local;
        s->n_open++;
    }
    fd = f->fd;
    pthread_mutex_unlock(&s->lock);
    if (fd != mine)
        close(mine); /* another thread was first */
    return fd;
}

int wfs_source_fd_get_open(struct wfs_source *s, struct wfs_source_file *f)
{
    int fd;

    pthread_mutex_lock(&s->lock);
    fd = s->retired ? -1 : f->fd;
    if (fd >= 0) {
        f->users++;
        s->n_users++;
    }
    pthread_mutex_unlock(&s->lock);
    return fd;
}

/* Locked. What a retired source may close now that f has one user less. */
static void take_unused(struct wfs_source *s, struct wfs_source_file *f, int ret[2])
{
    if (f->users == 0 && f->fd >= 0) {
        ret[0] = f->fd;
        f->fd = -1;
        s->n_open--;
    }
    if (s->n_users == 0) {
        ret[1] = s->dir_fd;
        s->dir_fd = -1;
    }
}

void wfs_source_fd_put(struct wfs_source *s, struct wfs_source_file *f)
{
    int unused[2] = { -1, -1 };

    pthread_mutex_lock(&s->lock);
    f->users--;
    s->n_users--;
    if (s->retired)
        take_unused(s, f, unused);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < 2; i++) {
        if (unused[i] >= 0)
            close(unused[i]);
    }
}

void wfs_source_retire(struct wfs_source *s)
{
    int dir = -1;

    pthread_mutex_lock(&s->lock);
    s->retired = true;
    if (s->n_users == 0) {
        dir = s->dir_fd;
        s->dir_fd = -1;
    }
    pthread_mutex_unlock(&s->lock);
    close_idle(s);
    if (dir >= 0)
        close(dir);
}
