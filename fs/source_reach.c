/* Reaching what is below the source's folder: by descriptor, and never through this program's own mount. */
#include "source_walk.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int wfs_source_open_below(int dir_fd, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW),
        .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
    };
    int fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof how);

    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) /* before Linux 5.6, or an old seccomp filter */
        fd = openat(dir_fd, path, flags | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? -errno : fd;
}

int wfs_source_parent(struct wfs_source_parent *p, const struct wfs_source *s, const char *path, const char **ret_base)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;

    *ret_base = slash ? slash + 1 : path;
    if (!slash)
        return s->dir_fd;
    if (p->path && strncmp(p->path, path, len) == 0 && p->path[len] == 0)
        return p->fd;
    wfs_source_parent_done(p);
    p->path = strndup(path, len);
    if (!p->path)
        return -ENOMEM;
    p->fd = wfs_source_open_below(s->dir_fd, p->path, O_PATH);
    if (p->fd < 0) {
        int r = p->fd;

        wfs_source_parent_done(p);
        return r;
    }
    return p->fd;
}

void wfs_source_parent_done(struct wfs_source_parent *p)
{
    free(p->path);
    p->path = NULL;
    wfs_close(&p->fd);
}

int wfs_source_stat_dir(const struct wfs_source *s, const char *path, struct stat *ret)
{
    int fd = wfs_source_open_below(s->dir_fd, path, O_PATH), r;

    if (fd < 0)
        return fd;
    r = fstat(fd, ret) < 0 ? -errno : 0;
    close(fd);
    return r;
}
