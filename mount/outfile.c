#include "outfile.h"

#include "base/cleanup.h"
#include "human.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* --- what a signal takes away; set while one file is open --- */

static char pending_name[NAME_MAX + 1];
static volatile sig_atomic_t pending_dir = -1;
static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static void on_signal(int number)
{
    if (pending_dir >= 0)
        unlinkat(pending_dir, pending_name, 0);
    signal(number, SIG_DFL);
    raise(number);
}

static void watch(int dir_fd, const char *name)
{
    struct sigaction action = { .sa_handler = on_signal };

    snprintf(pending_name, sizeof pending_name, "%s", name);
    pending_dir = dir_fd;
    for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++) {
        struct sigaction old;

        /* One that the starter had ignored (nohup) stays so. */
        if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending_signals[i], &action, NULL);
    }
}

/* --- the source is never touched --- */

static bool is_source_file(const struct stat *st, const struct wfs_source *source)
{
    for (size_t i = 0; source && i < source->n_files; i++) {
        if (source->files[i].identity.dev == st->st_dev && source->files[i].identity.ino == st->st_ino)
            return true;
    }
    return false;
}

/* Walks up from the folder: a new file in the source would be part of the model. */
static bool is_inside_source(int dir_fd, const char *source_path)
{
    WFS_CLEANUP(wfs_close) int at = dup(dir_fd);
    struct stat root, here, above;

    if (stat(source_path, &root) < 0)
        return false;
    if (!S_ISDIR(root.st_mode))
        return false;
    while (at >= 0 && fstat(at, &here) == 0) {
        int up;

        if (here.st_dev == root.st_dev && here.st_ino == root.st_ino)
            return true;
        up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = up;
        if (at < 0 || fstat(at, &above) < 0 || (above.st_dev == here.st_dev && above.st_ino == here.st_ino))
            return false;
    }
    return false;
}

/* --- opening --- */

static int no_space(const struct wfs_outfile *o, struct wfs_error *err)
{
    char needed[32], have[32];
    struct statvfs st;
    uint64_t bytes = 0;
    struct stat file;

    if (fstat(o->fd, &file) == 0 && !S_ISREG(file.st_mode)) /* a device's folder has nothing to do with its room */
        return wfs_error_set(err, ENOSPC, "%s: No space left on device", o->shown);
    if (fstatvfs(o->dir_fd >= 0 ? o->dir_fd : o->fd, &st) == 0)
        bytes = (uint64_t)st.f_bavail * st.f_frsize;
    return wfs_error_set(err, ENOSPC, "%s: No space left on device: %s needed in all, %s free", o->shown,
                         wfs_human_bytes(o->size, needed, sizeof needed), wfs_human_bytes(bytes, have, sizeof have));
}

static int open_in_place(struct wfs_outfile *o, const char *path, const struct wfs_source *source,
                         struct wfs_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    struct stat st;

    o->shown = standard ? "standard output" : path;
    o->fd = standard ? dup(STDOUT_FILENO) : open(path, O_WRONLY | O_CLOEXEC);
    if (o->fd < 0 || fstat(o->fd, &st) < 0)
        return wfs_error_set(err, errno, "%s: %s", o->shown, strerror(errno));
    if (is_source_file(&st, source))
        return wfs_error_set(err, EPERM, "%s is a file of the source, which is never written to", o->shown);
    return 0;
}

static int split(struct wfs_outfile *o, const char *path, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *for_dir = strdup(path), *for_base = strdup(path);
    size_t len = strlen(path);

    if (!for_dir || !for_base)
        return wfs_error_set(err, ENOMEM, "out of memory");
    if (len == 0 || path[len - 1] == '/')
        return wfs_error_set(err, EISDIR, "%s is a folder; name a file", path);
    o->dir_fd = open(dirname(for_dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (o->dir_fd < 0)
        return wfs_error_set(err, errno, "%s: the folder cannot be opened: %s", path, strerror(errno));
    o->name = strdup(basename(for_base));
    return o->name ? 0 : wfs_error_set(err, ENOMEM, "out of memory");
}

/* The name by which /proc knows an open file, which is how a file without a name gets one. */
static const char *name_in_proc(int fd, char *out, size_t size)
{
    snprintf(out, size, "/proc/self/fd/%d", fd);
    return out;
}

/* False where the filesystem has no files without names, or /proc is not there to name them later. */
static bool make_nameless(struct wfs_outfile *o)
{
    char path[40];

    o->fd = openat(o->dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (o->fd >= 0 && access(name_in_proc(o->fd, path, sizeof path), F_OK) < 0)
        wfs_close(&o->fd);
    return o->fd >= 0;
}

/* next: makes the file and returns 0, or -1 with errno; EEXIST: another name is tried. */
static int with_temp_name(struct wfs_outfile *o, int (*next)(struct wfs_outfile *o))
{
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        free(o->temp);
        /* A long name is cut, so that the temporary one fits in 255 bytes. */
        if (asprintf(&o->temp, ".%.200s.%d-%u.part", o->name, (int)getpid(), attempt) < 0) {
            o->temp = NULL;
            errno = ENOMEM;
            return -1;
        }
        watch(-1, o->temp);
        if (next(o) == 0) {
            watch(o->dir_fd, o->temp);
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    free(o->temp);
    o->temp = NULL;
    return -1;
}

static int create_temp(struct wfs_outfile *o)
{
    o->fd = openat(o->dir_fd, o->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return o->fd < 0 ? -1 : 0;
}

static int link_temp(struct wfs_outfile *o)
{
    char path[40];

    return linkat(AT_FDCWD, name_in_proc(o->fd, path, sizeof path), o->dir_fd, o->temp, AT_SYMLINK_FOLLOW);
}

static int make_file(struct wfs_outfile *o, struct wfs_error *err)
{
    if (make_nameless(o) || with_temp_name(o, create_temp) == 0)
        return 0;
    return wfs_error_set(err, errno, "%s: cannot be written: %s", o->shown, strerror(errno));
}

int wfs_outfile_open(struct wfs_outfile *o, const char *path, bool force, uint64_t size, const char *source_path,
                     const struct wfs_source *source, struct wfs_error *err)
{
    struct stat st;
    bool exists;
    int r;

    *o = (struct wfs_outfile)WFS_OUTFILE_INIT;
    o->shown = path;
    o->force = force;
    o->size = size;
    if (strcmp(path, "-") == 0)
        return open_in_place(o, path, source, err);
    exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return wfs_error_set(err, EISDIR, "%s is a folder; name a file", path);
    if (exists && is_source_file(&st, source))
        return wfs_error_set(err, EPERM, "%s is a file of the source, which is never written to", path);
    if (exists && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)))
        return open_in_place(o, path, source, err);
    r = split(o, path, err);
    if (r < 0)
        return r;
    if (is_inside_source(o->dir_fd, source_path))
        return wfs_error_set(err, EPERM, "%s would be inside the source, which is never written to; name a file "
                                         "elsewhere with -o",
                             path);
    if (!force && fstatat(o->dir_fd, o->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return wfs_error_set(err, EEXIST, "%s exists already; --force overwrites it", path);
    r = make_file(o, err);
    if (r < 0)
        return r;
    /* Reserves the room where the filesystem can; others find out when they write. */
    if (size > 0 && fallocate(o->fd, 0, 0, (off_t)size) < 0 && errno == ENOSPC)
        return no_space(o, err);
    return 0;
}

/* --- writing --- */

int wfs_outfile_write(struct wfs_outfile *o, const struct iovec *iov, int n_iov, struct wfs_error *err)
{
    for (int i = 0; i < n_iov; i++) {
        const char *at = iov[i].iov_base;
        size_t left = iov[i].iov_len;

        while (left > 0) {
            ssize_t n = write(o->fd, at, left);

            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0 && errno == ENOSPC)
                return no_space(o, err);
            if (n < 0)
                return wfs_error_set(err, errno, "%s: writing failed: %s", o->shown, strerror(errno));
            at += n;
            left -= (size_t)n;
        }
    }
    return 0;
}

/* A file without a name gets its own when nobody has that; else a temporary one, which can take the other's place. */
static int name_it(struct wfs_outfile *o)
{
    char path[40];

    if (linkat(AT_FDCWD, name_in_proc(o->fd, path, sizeof path), o->dir_fd, o->name, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    return errno == EEXIST && o->force ? with_temp_name(o, link_temp) : -1;
}

/* Without force, a file that came meanwhile is not overwritten. */
static int put_in_place(const struct wfs_outfile *o)
{
    if (o->force)
        return renameat(o->dir_fd, o->temp, o->dir_fd, o->name);
    if (renameat2(o->dir_fd, o->temp, o->dir_fd, o->name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    /* A filesystem without that flag: a link does not replace either. */
    if (linkat(o->dir_fd, o->temp, o->dir_fd, o->name, 0) < 0)
        return -1;
    return unlinkat(o->dir_fd, o->temp, 0);
}

int wfs_outfile_commit(struct wfs_outfile *o, struct wfs_error *err)
{
    int fd;

    if (!o->name) {
        fd = wfs_steal_fd(&o->fd);
        return close(fd) == 0 ? 0 : wfs_error_set(err, errno, "%s: %s", o->shown, strerror(errno));
    }
    if (fsync(o->fd) < 0)
        return wfs_error_set(err, errno, "%s: writing failed: %s", o->shown, strerror(errno));
    if (!o->temp && name_it(o) < 0)
        return wfs_error_set(err, errno, "%s: %s", o->shown, strerror(errno));
    fd = wfs_steal_fd(&o->fd);
    if (close(fd) < 0)
        return wfs_error_set(err, errno, "%s: writing failed: %s", o->shown, strerror(errno));
    if (o->temp && put_in_place(o) < 0)
        return wfs_error_set(err, errno, "%s: %s", o->shown, strerror(errno));
    pending_dir = -1;
    free(o->temp);
    o->temp = NULL;
    fsync(o->dir_fd); /* the name, too; a filesystem that cannot is no failure */
    return 0;
}

void wfs_outfile_done(struct wfs_outfile *o)
{
    wfs_close(&o->fd);
    if (o->temp && pending_dir >= 0)
        unlinkat(o->dir_fd, o->temp, 0);
    pending_dir = -1;
    wfs_close(&o->dir_fd);
    free(o->name);
    free(o->temp);
    o->name = o->temp = NULL;
}
