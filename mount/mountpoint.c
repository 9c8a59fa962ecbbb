#include "mountpoint.h"

#include "base/buf.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

void wfs_mount_info_done(struct wfs_mount_info *m)
{
    free(m->path);
    free(m->type);
    free(m->source);
    memset(m, 0, sizeof *m);
}

bool wfs_mount_is_weightfs(const struct wfs_mount_info *m)
{
    return strcmp(m->type, "fuse.weightfs") == 0;
}

/* The folder's own path, with the last part put behind it unseen: what a dead mount answers nothing about. */
static int resolve_parent(const char *path, char **ret)
{
    WFS_CLEANUP(wfs_free) char *for_dir = strdup(path), *for_base = strdup(path), *parent = NULL;
    const char *base;

    if (!for_dir || !for_base)
        return -ENOMEM;
    base = basename(for_base);
    parent = realpath(dirname(for_dir), NULL);
    if (!parent)
        return -errno;
    if (asprintf(ret, "%s%s%s", parent, parent[1] ? "/" : "", base) < 0)
        return -ENOMEM;
    return 0;
}

int wfs_mountpoint_resolve(const char *path, char **ret, struct wfs_error *err)
{
    char *full = realpath(path, NULL);
    int r = 0;

    if (!full) {
        int why = errno;

        r = why == ENOTCONN || why == EIO || why == EACCES || why == ECONNABORTED ? resolve_parent(path, &full) : -why;
    }
    if (r < 0)
        return wfs_error_set(err, -r, "%s: %s", path, strerror(-r));
    *ret = full;
    return 0;
}

/* Undoes mountinfo's octal escapes ("\040") in place. */
static char *unescape(char *text)
{
    char *out = text;

    for (const char *p = text; *p;) {
        if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' && p[3] <= '7') {
            *out++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
            p += 4;
        } else {
            *out++ = *p++;
        }
    }
    *out = 0;
    return text;
}

/* One line of mountinfo (see proc(5)): "36 35 98:0 /root /mnt opts [tags…] - type source superopts". Changes line. */
static bool parse_line(char *line, const char *path, struct wfs_mount_info *ret)
{
    char *rest = line, *word = NULL, *device = NULL, *mounted_on = NULL, *dash, *type, *source, *user;
    unsigned major, minor;

    for (int i = 0; i < 5; i++) {
        word = strsep(&rest, " ");
        if (i == 2)
            device = word;
        mounted_on = word;
    }
    if (!rest || !device || sscanf(device, "%u:%u", &major, &minor) != 2 || strcmp(unescape(mounted_on), path) != 0)
        return false;
    dash = strstr(rest, " - ");
    if (!dash)
        return false;
    rest = dash + 3;
    type = strsep(&rest, " ");
    source = strsep(&rest, " ");
    wfs_mount_info_done(ret); /* a later line lies on top of an earlier one */
    ret->path = strdup(path);
    ret->type = strdup(unescape(type));
    ret->source = strdup(source ? unescape(source) : "");
    ret->major = major;
    ret->minor = minor;
    user = rest ? strstr(rest, "user_id=") : NULL;
    if (!user || sscanf(user, "user_id=%u", &ret->user) != 1)
        ret->user = 0;
    return true;
}

int wfs_mountpoint_parse(const char *mountinfo, const char *path, struct wfs_mount_info *ret)
{
    WFS_CLEANUP(wfs_free) char *copy = strdup(mountinfo);
    struct wfs_mount_info found = { 0 };
    char *rest = copy, *line;
    bool any = false;

    if (!copy)
        return -ENOMEM;
    while ((line = strsep(&rest, "\n")))
        any |= parse_line(line, path, &found);
    if (!any)
        return 0;
    if (!found.path || !found.type || !found.source) {
        wfs_mount_info_done(&found);
        return -ENOMEM;
    }
    *ret = found;
    return 1;
}

int wfs_mountpoint_find(const char *path, struct wfs_mount_info *ret)
{
    WFS_CLEANUP(wfs_close) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf text = WFS_BUF_INIT;

    if (fd < 0)
        return -errno;
    for (;;) {
        void *room = wfs_buf_reserve(&text, 65536);
        ssize_t n = room ? read(fd, room, 65536) : 0;

        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        text.len += (size_t)n;
    }
    wfs_buf_u8(&text, 0);
    return text.failed ? -ENOMEM : wfs_mountpoint_parse((const char *)text.data, path, ret);
}

bool wfs_fusermount_find(char *out, unsigned long size)
{
    static const char usual[] = "/usr/bin:/bin:/usr/local/bin:/usr/sbin:/sbin";
    const char *env = getenv("PATH");
    WFS_CLEANUP(wfs_free) char *folders = NULL;
    char *rest, *folder;

    if (asprintf(&folders, "%s:%s", env ? env : "", usual) < 0)
        return false;
    rest = folders;
    while ((folder = strsep(&rest, ":"))) {
        if (folder[0] != '/' || (unsigned long)snprintf(out, size, "%s/fusermount3", folder) >= size)
            continue;
        if (access(out, X_OK) == 0)
            return true;
    }
    return false;
}

static int run_fusermount(const char *path, bool lazy, struct wfs_error *err)
{
    char program[PATH_MAX], *args[] = { program, "-u", "-q", lazy ? "-z" : "-q", "--", (char *)path, NULL };
    int status;
    pid_t pid;

    if (!wfs_fusermount_find(program, sizeof program))
        return wfs_error_set(err, EPERM, "unmounting without being root needs fusermount3, which is not in PATH "
                                         "(package fuse3)");
    pid = fork();
    if (pid < 0)
        return wfs_error_set(err, errno, "fork: %s", strerror(errno));
    if (pid == 0) {
        execv(program, args);
        _exit(127);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return wfs_error_set(err, EBUSY, "%s: fusermount3 could not unmount it", path);
}

bool wfs_mountpoint_is_dead(const char *path)
{
    struct statx stx;

    return statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stx) < 0 &&
           (errno == ENOTCONN || errno == ECONNABORTED);
}

int wfs_mountpoint_abort(const char *path)
{
    if (umount2(path, UMOUNT_NOFOLLOW | MNT_FORCE | MNT_DETACH) == 0)
        return 0;
    return wfs_mountpoint_detach(path, true, NULL);
}

int wfs_mountpoint_detach(const char *path, bool lazy, struct wfs_error *err)
{
    if (umount2(path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
        return 0;
    if (errno == EPERM && geteuid() != 0)
        return run_fusermount(path, lazy, err);
    return wfs_error_set(err, errno, "%s: %s", path, strerror(errno));
}
