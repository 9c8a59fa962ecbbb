/* Reaching what is below the source's folder: by descriptor, and never through this program's own mount. */
#include "source_walk.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MAX_LINKS = 40 };

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

/* Which device it is on, without asking the file system, which may be this program. 0 when that cannot be told. */
static uint64_t device_of(int fd)
{
    struct statx st;

    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0)
        return 0;
    return makedev(st.stx_dev_major, st.stx_dev_minor);
}

/* Puts a link's target in front of what is left of the path. False when that is too long or cannot be read. */
static bool follow(int link_fd, char path[PATH_MAX], const char *rest)
{
    char target[PATH_MAX], joined[PATH_MAX];
    ssize_t n = readlinkat(link_fd, "", target, sizeof target - 1);

    if (n <= 0)
        return false;
    target[n] = 0;
    if (snprintf(joined, sizeof joined, "%s/%s", target, rest) >= (int)sizeof joined)
        return false;
    strcpy(path, joined);
    return true;
}

/* Goes the way of a path part by part, and looks before each step whether the next one would be into our own mount. */
static bool steps_into_own(const struct wfs_source *s, int dir_fd, const char *name)
{
    WFS_CLEANUP(wfs_close) int at = -1; /* where we are; -1: dir_fd */
    char path[PATH_MAX];
    int n_links = 0;

    if (snprintf(path, sizeof path, "%s", name) >= (int)sizeof path)
        return false;
    for (char *part = path; *part;) {
        size_t len = strcspn(part, "/");
        char *rest = part + len + strspn(part + len, "/"), own[NAME_MAX + 1];
        WFS_CLEANUP(wfs_close) int next = -1;
        struct stat st;

        if (len > NAME_MAX)
            return false;
        memcpy(own, len ? part : "/", len ? len : 1); /* nothing in front of a slash: an absolute path */
        own[len ? len : 1] = 0;
        next = openat(at < 0 ? dir_fd : at, own, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return false;
        if (device_of(next) == s->own_dev)
            return true;
        if (fstat(next, &st) < 0)
            return false;
        if (S_ISLNK(st.st_mode)) {
            if (++n_links > MAX_LINKS || !follow(next, path, rest))
                return false;
            part = path;
            continue;
        }
        wfs_close(&at);
        at = wfs_steal_fd(&next);
        part = rest;
    }
    return false;
}

static bool leads_into_own(const struct wfs_source *s, int dir_fd, const char *name)
{
    struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_XDEV };
    int fd;

    if (s->own_dev == 0)
        return false;
    fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof how);
    if (fd >= 0)
        close(fd); /* no mount on the way, so not ours either */
    else if (errno == EXDEV || errno == ENOSYS || errno == EPERM)
        return steps_into_own(s, dir_fd, name);
    return false;
}

int wfs_source_stat(const struct wfs_source *s, int dir_fd, const char *name, bool is_link, struct stat *ret)
{
    if (is_link && leads_into_own(s, dir_fd, name))
        return -EXDEV;
    return fstatat(dir_fd, name, ret, is_link ? 0 : AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

int wfs_source_open_at(const struct wfs_source *s, int dir_fd, const char *name, bool is_link)
{
    int fd;

    if (is_link && leads_into_own(s, dir_fd, name))
        return -EXDEV;
    fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (is_link ? 0 : O_NOFOLLOW));
    return fd < 0 ? -errno : fd;
}
