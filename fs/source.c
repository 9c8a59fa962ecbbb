#include "source.h"
#include "source_walk.h"
#include "base/cleanup.h"
#include "base/huge.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MAX_LISTINGS = 3 };

struct wfs_identity wfs_identity_of(const struct stat *st)
{
    struct wfs_identity id = { st->st_dev, st->st_ino, (uint64_t)st->st_size, st->st_mtim, st->st_ctim };

    return id;
}

static bool times_equal(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool wfs_identity_equal(const struct wfs_identity *a, const struct wfs_identity *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size && times_equal(a->mtime, b->mtime) &&
           times_equal(a->ctime, b->ctime);
}

/* Finds the folder that path names, or the folder of the file that it names (then *ret_only is the file's name). */
static int resolve(const char *path, char **ret_folder, char **ret_only, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *copy = NULL;
    struct stat st;
    char *slash;

    if (stat(path, &st) < 0)
        return wfs_error_set(err, errno, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode)) {
        *ret_folder = realpath(path, NULL);
        return *ret_folder ? 0 : wfs_error_set(err, errno, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode))
        return wfs_error_set(err, ENOTDIR, "%s: neither a folder nor a regular file", path);
    copy = strdup(path);
    if (!copy)
        return wfs_error_set(err, ENOMEM, "%s: out of memory", path);
    slash = strrchr(copy, '/');
    *ret_only = strdup(slash ? slash + 1 : copy);
    if (slash)
        slash[slash == copy] = 0; /* "/x" is in "/" */
    *ret_folder = realpath(slash ? copy : ".", NULL);
    if (!*ret_only || !*ret_folder) {
        int code = errno;

        free(*ret_only);
        *ret_only = NULL;
        return wfs_error_set(err, code, "%s: %s", path, strerror(code));
    }
    return 0;
}

static int open_folder(struct wfs_source *s, const char *path, const struct wfs_source *base, struct wfs_error *err)
{
    struct stat st;

    if (base) {
        s->path = strdup(base->path);
        s->only = base->only ? strdup(base->only) : NULL;
        if (!s->path || (base->only && !s->only))
            return wfs_error_set(err, ENOMEM, "%s: out of memory", base->path);
        s->dir_fd = openat(base->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } else {
        int r = resolve(path, &s->path, &s->only, err);

        if (r < 0)
            return r;
        s->dir_fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (s->dir_fd < 0 || fstat(s->dir_fd, &st) < 0)
        return wfs_error_set(err, errno, "%s: %s", s->path, strerror(errno));
    s->root = wfs_identity_of(&st);
    s->local = wfs_fd_is_local(s->dir_fd);
    return 0;
}

static int list(const char *path, const struct wfs_source *base, struct wfs_source **ret, struct wfs_error *err)
{
    struct wfs_source *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return wfs_error_set(err, ENOMEM, "%s: out of memory", base ? base->path : path);
    s->dir_fd = -1;
    atomic_init(&s->refs, 1);
    pthread_mutex_init(&s->lock, NULL);
    s->max_open = wfs_source_max_open();
    atomic_init(&s->own_dev, base ? atomic_load(&base->own_dev) : 0);
    r = open_folder(s, path, base, err);
    if (r == 0)
        r = wfs_source_walk(s, err);
    if (r < 0) {
        wfs_source_close(s);
        return r;
    }
    *ret = s;
    return 0;
}

int wfs_source_open(const char *path, const struct wfs_source *base, struct wfs_source **ret, struct wfs_error *err)
{
    struct wfs_source *s = NULL;
    int r;

    /* What is written all the time is listed a last time: the next look lists it again anyway. */
    for (int i = 0; i < MAX_LISTINGS; i++) {
        wfs_source_close(s);
        r = list(path, base, &s, err);
        if (r < 0)
            return r;
        if (!wfs_source_settle(s))
            break;
    }
    *ret = s;
    return 0;
}

struct wfs_source *wfs_source_ref(struct wfs_source *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

char *wfs_source_given(const struct wfs_source *s)
{
    char *given;

    return asprintf(&given, "%s%s%s", s->path, s->only ? "/" : "", s->only ? s->only : "") < 0 ? NULL : given;
}

void wfs_source_close(struct wfs_source *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    for (size_t i = 0; i < s->n_files; i++) {
        if (s->files[i].fd >= 0)
            close(s->files[i].fd);
        free(s->files[i].path);
    }
    for (size_t i = 0; i < s->n_dirs; i++)
        free(s->dirs[i].path);
    for (size_t i = 0; i < s->n_left_out; i++)
        free(s->left_out[i]);
    for (size_t i = 0; i < s->n_dangling; i++)
        free(s->dangling[i]);
    free(s->files);
    free(s->dirs);
    free(s->dangling);
    free(s->left_out);
    free(s->only);
    free(s->path);
    if (s->dir_fd >= 0)
        close(s->dir_fd);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static int compare_path(const void *key, const void *file)
{
    return strcmp(key, ((const struct wfs_source_file *)file)->path);
}

struct wfs_source_file *wfs_source_find(const struct wfs_source *s, const char *path)
{
    return s->n_files ? bsearch(path, s->files, s->n_files, sizeof *s->files, compare_path) : NULL;
}

/*
 * A file that was deleted, or replaced by rename, has another ctime for it; whoever still has it open has the old bytes
 * as long as size and mtime are what they were.
 */
static int check(const struct wfs_source_file *f, struct wfs_identity now, uint64_t n_links)
{
    if (n_links == 0)
        now.ctime = f->identity.ctime;
    return wfs_identity_equal(&now, &f->identity) ? 0 : -ESTALE;
}

int wfs_source_check(struct wfs_source *s, const struct wfs_source_file *f)
{
    struct stat st;

    (void)s;
    assert(f->fd >= 0);
    if (fstat(f->fd, &st) < 0)
        return -errno;
    return check(f, wfs_identity_of(&st), st.st_nlink);
}

int wfs_source_check_statx(const struct wfs_source_file *f, const struct statx *now)
{
    struct wfs_identity id = {
        makedev(now->stx_dev_major, now->stx_dev_minor), now->stx_ino, now->stx_size,
        { now->stx_mtime.tv_sec, now->stx_mtime.tv_nsec }, { now->stx_ctime.tv_sec, now->stx_ctime.tv_nsec },
    };

    return check(f, id, now->stx_nlink);
}

int wfs_source_changed(struct wfs_source *s)
{
    struct wfs_source_parent parent = WFS_SOURCE_PARENT_INIT;
    struct wfs_identity now;
    struct stat st;
    int r = 0;

    if (wfs_source_has_settled(s))
        return -ESTALE;
    if (fstat(s->dir_fd, &st) < 0)
        return -errno;
    if (!s->only && !times_equal(st.st_mtim, s->root.mtime))
        return -ESTALE;
    for (size_t i = 0; i < s->n_dirs && r == 0; i++) {
        r = wfs_source_stat_dir(s, s->dirs[i].path, &st);
        if (r == 0 && !times_equal(st.st_mtim, s->dirs[i].mtime))
            r = -ESTALE;
    }
    for (size_t i = 0; i < s->n_files && r == 0; i++) {
        const char *base;
        int dir = wfs_source_parent(&parent, s, s->files[i].path, &base);

        r = dir < 0 ? dir : wfs_source_stat(s, dir, base, s->files[i].is_link, &st);
        if (r < 0)
            break;
        now = wfs_identity_of(&st);
        if (!wfs_identity_equal(&now, &s->files[i].identity))
            r = -ESTALE;
    }
    for (size_t i = 0; i < s->n_dangling && r == 0; i++) {
        const char *base;
        int dir = wfs_source_parent(&parent, s, s->dangling[i], &base);

        if (dir >= 0 && wfs_source_stat(s, dir, base, true, &st) == 0)
            r = -ESTALE;
    }
    wfs_source_parent_done(&parent);
    /* What was listed and is not there, or is hidden behind a mount by now, is a change like any other. */
    return r == -ENOENT || r == -ENOTDIR || r == -EXDEV || r == -ELOOP ? -ESTALE : r;
}

int wfs_source_pread(struct wfs_source *s, struct wfs_source_file *f, uint64_t offset, void *buf, size_t len,
                     struct wfs_error *err)
{
    int fd = wfs_source_fd_get(s, f, err), r = 0;
    size_t done = 0;

    if (fd < 0)
        return fd;
    while (done < len && r == 0) {
        ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(offset + done));

        if (n < 0 && errno != EINTR)
            r = wfs_error_set(err, errno, "%s/%s: read at %llu: %s", s->path, f->path,
                              (unsigned long long)(offset + done), strerror(errno));
        else if (n == 0)
            r = wfs_error_set(err, EIO, "%s/%s: the file ends at %llu, before the bytes that are needed", s->path,
                              f->path, (unsigned long long)(offset + done));
        else if (n > 0)
            done += (size_t)n;
    }
    if (r == 0 && wfs_source_check(s, f) < 0)
        r = wfs_error_set(err, ESTALE, "%s/%s: the file changed while it was read", s->path, f->path);
    wfs_source_fd_put(s, f);
    return r;
}

int wfs_source_slurp(struct wfs_source *s, struct wfs_source_file *f, uint64_t max, struct wfs_blob *ret,
                     struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) uint8_t *data = NULL;
    size_t len = (size_t)f->identity.size;
    int r;

    if (f->identity.size > max)
        return wfs_error_set(err, EFBIG, "%s/%s: %llu bytes, more than the %llu that such a file may have", s->path,
                             f->path, (unsigned long long)f->identity.size, (unsigned long long)max);
    data = wfs_huge_malloc(len + 1); /* a NUL behind it, for readers of text */
    if (!data)
        return wfs_error_set(err, ENOMEM, "%s/%s: out of memory", s->path, f->path);
    r = wfs_source_pread(s, f, 0, data, len, err);
    if (r < 0)
        return r;
    data[len] = 0;
    ret->data = WFS_STEAL(data);
    ret->len = len;
    return 0;
}
