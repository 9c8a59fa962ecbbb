#include "source_walk.h"
#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEPTH = 8, MAX_ENTRIES = 100000, MAX_LEFT_OUT = 100, MAX_DANGLING = 4096 };

struct walk {
    struct wfs_source *s;
    size_t files_cap, dirs_cap, dangling_cap;
    struct wfs_error *err;
};

static int out_of_memory(struct walk *w)
{
    return wfs_error_set(w->err, ENOMEM, "%s: out of memory", w->s->path);
}

static int leave_out(struct walk *w, const char *path, const char *reason)
{
    struct wfs_source *s = w->s;

    if (s->n_left_out == MAX_LEFT_OUT)
        return 0;
    if (!s->left_out) {
        s->left_out = calloc(MAX_LEFT_OUT, sizeof *s->left_out);
        if (!s->left_out)
            return out_of_memory(w);
    }
    if (asprintf(&s->left_out[s->n_left_out], "%s: %s", path, reason) < 0)
        return out_of_memory(w);
    s->n_left_out++;
    return 0;
}

/* Makes room for one more element; counts both kinds against the limit. */
static int make_room(struct walk *w, void **array, size_t n, size_t *cap, size_t size)
{
    if (w->s->n_files + w->s->n_dirs >= MAX_ENTRIES)
        return wfs_error_set(w->err, E2BIG, "%s: more than %d files and folders", w->s->path, MAX_ENTRIES);
    if (n == *cap) {
        size_t more = *cap ? *cap * 2 : 32;
        void *grown = reallocarray(*array, more, size);

        if (!grown)
            return out_of_memory(w);
        *array = grown;
        *cap = more;
    }
    return 0;
}

static int add_file(struct walk *w, const char *path, bool is_link, const struct stat *st)
{
    struct wfs_source *s = w->s;
    int r = make_room(w, (void **)&s->files, s->n_files, &w->files_cap, sizeof *s->files);
    struct wfs_source_file *f;

    if (r < 0)
        return r;
    f = &s->files[s->n_files];
    *f = (struct wfs_source_file){
        .path = strdup(path), .identity = wfs_identity_of(st), .is_link = is_link, .fd = -1,
    };
    if (!f->path)
        return out_of_memory(w);
    s->n_files++;
    return 0;
}

static int leave_out_dangling(struct walk *w, const char *path)
{
    struct wfs_source *s = w->s;
    int r;

    if (s->n_dangling < MAX_DANGLING) {
        r = make_room(w, (void **)&s->dangling, s->n_dangling, &w->dangling_cap, sizeof *s->dangling);
        if (r < 0)
            return r;
        s->dangling[s->n_dangling] = strdup(path);
        if (!s->dangling[s->n_dangling])
            return out_of_memory(w);
        s->n_dangling++;
    }
    return leave_out(w, path, "a dangling link");
}

static int add_dir(struct walk *w, const char *path, const struct stat *st)
{
    struct wfs_source *s = w->s;
    int r = make_room(w, (void **)&s->dirs, s->n_dirs, &w->dirs_cap, sizeof *s->dirs);

    if (r < 0)
        return r;
    s->dirs[s->n_dirs].path = strdup(path);
    if (!s->dirs[s->n_dirs].path)
        return out_of_memory(w);
    s->dirs[s->n_dirs].mtime = st->st_mtim;
    s->n_dirs++;
    return 0;
}

static int walk_dir(struct walk *w, int fd, const char *path, unsigned depth);

static int walk_subdir(struct walk *w, int fd, const char *name, const char *path, unsigned depth)
{
    struct stat st;
    int sub, r;

    if (strcmp(name, ".git") == 0 || strcmp(name, ".cache") == 0)
        return leave_out(w, path, "hidden state");
    if (depth >= MAX_DEPTH)
        return leave_out(w, path, "more than 8 levels deep");
    sub = wfs_source_open_below(fd, name, O_RDONLY);
    if (sub == -EXDEV)
        return leave_out(w, path, "another file system is mounted there");
    if (sub == -ENOENT || sub == -ELOOP || sub == -ENOTDIR)
        return 0; /* replaced while we look: the next look at the source sees it */
    if (sub == -EACCES || sub == -EPERM)
        return leave_out(w, path, "not readable");
    if (sub < 0)
        return wfs_error_set(w->err, -sub, "%s/%s: %s", w->s->path, path, strerror(-sub));
    if (fstat(sub, &st) < 0)
        r = wfs_error_set(w->err, errno, "%s/%s: %s", w->s->path, path, strerror(errno));
    else
        r = add_dir(w, path, &st);
    if (r == 0)
        r = walk_dir(w, sub, path, depth + 1);
    close(sub);
    return r;
}

static int walk_entry(struct walk *w, int fd, const struct dirent *d, const char *path, unsigned depth)
{
    bool is_link = d->d_type == DT_LNK;
    struct stat st;
    int r;

    if (d->d_type == DT_DIR) /* not looked at by stat: it may be a mount, perhaps our own */
        return walk_subdir(w, fd, d->d_name, path, depth);
    if (d->d_type == DT_UNKNOWN) {
        if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return 0;
        if (S_ISDIR(st.st_mode))
            return walk_subdir(w, fd, d->d_name, path, depth);
        is_link = S_ISLNK(st.st_mode);
    }
    r = wfs_source_stat(w->s, fd, d->d_name, is_link, &st);
    if (r == -EXDEV && is_link)
        return leave_out(w, path, "a link that leads into this mount");
    if (r == -ENOENT || r == -ELOOP || r == -ENOTDIR)
        return leave_out_dangling(w, path);
    if (r < 0)
        return leave_out(w, path, strerror(-r));
    if (S_ISDIR(st.st_mode))
        return leave_out(w, path, "a link to a folder");
    if (!S_ISREG(st.st_mode))
        return leave_out(w, path, S_ISFIFO(st.st_mode) ? "a fifo" : S_ISSOCK(st.st_mode) ? "a socket" : "a device");
    return add_file(w, path, is_link, &st);
}

static void close_dir(DIR **d)
{
    if (*d)
        closedir(*d);
}

static int walk_dir(struct walk *w, int fd, const char *path, unsigned depth)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir closes it; fd's position is not ours */
    WFS_CLEANUP(close_dir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *d;

    if (!dir) {
        int code = errno;

        if (copy >= 0)
            close(copy);
        return wfs_error_set(w->err, code, "%s/%s: %s", w->s->path, path, strerror(code));
    }
    while (errno = 0, (d = readdir(dir))) {
        char below[PATH_MAX];
        int r;

        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (depth == 0 && w->s->only && strcmp(d->d_name, w->s->only) != 0)
            continue;
        r = snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", d->d_name);
        if (r >= (int)sizeof below)
            return wfs_error_set(w->err, ENAMETOOLONG, "%s/%s: a path over %d bytes", w->s->path, path, PATH_MAX);
        r = walk_entry(w, fd, d, below, depth);
        if (r < 0)
            return r;
    }
    return errno ? wfs_error_set(w->err, errno, "%s/%s: %s", w->s->path, path, strerror(errno)) : 0;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct wfs_source_file *)a)->path, ((const struct wfs_source_file *)b)->path);
}

static int compare_dirs(const void *a, const void *b)
{
    return strcmp(((const struct wfs_source_dir *)a)->path, ((const struct wfs_source_dir *)b)->path);
}

int wfs_source_walk(struct wfs_source *s, struct wfs_error *err)
{
    struct walk w = { .s = s, .err = err };
    int r = walk_dir(&w, s->dir_fd, "", 0);

    if (r < 0)
        return r;
    if (s->n_files)
        qsort(s->files, s->n_files, sizeof *s->files, compare_files);
    if (s->n_dirs)
        qsort(s->dirs, s->n_dirs, sizeof *s->dirs, compare_dirs);
    return 0;
}
