#include "matrices.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void wfs_matrices_init(struct wfs_matrices *m)
{
    *m = (struct wfs_matrices){ 0 };
}

static void free_matrix(struct wfs_matrix *matrix)
{
    if (!matrix)
        return;
    wfs_imatrix_done(&matrix->imatrix);
    free(matrix->path);
    free(matrix);
}

void wfs_matrices_done(struct wfs_matrices *m)
{
    for (size_t i = 0; i < m->count; i++)
        free_matrix(m->items[i]);
    free(m->items);
    wfs_matrices_init(m);
}

/* All of a regular file, and when it was changed. The caller frees. */
static int slurp(const char *path, uint8_t **ret, size_t *ret_len, struct timespec *ret_mtime, struct wfs_error *err)
{
    int fd WFS_CLEANUP(wfs_close) = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO does not hang us */
    uint8_t *bytes WFS_CLEANUP(wfs_free) = NULL;
    struct stat st;
    size_t at = 0;

    if (fd < 0 || fstat(fd, &st) < 0)
        return wfs_error_set(err, errno, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return wfs_error_set(err, EINVAL, "not a regular file");
    bytes = malloc((size_t)st.st_size + 1);
    if (!bytes)
        return wfs_error_set(err, ENOMEM, "out of memory for a file of %lld bytes", (long long)st.st_size);
    while (at < (size_t)st.st_size) {
        ssize_t n = read(fd, bytes + at, (size_t)st.st_size - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return wfs_error_set(err, n < 0 ? errno : EIO, "%s",
                                 n < 0 ? strerror(errno) : "it shrank while it was read");
        at += (size_t)n;
    }
    *ret = WFS_STEAL(bytes);
    *ret_len = at;
    *ret_mtime = st.st_mtim;
    return 0;
}

/* A path that is not absolute counts from the working folder, which in a file of recipes is not plain to see. */
static int say_where(const char *path, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *cwd = getcwd(NULL, 0);
    struct wfs_error before = *err;

    return cwd ? wfs_error_set(err, before.code, "%s (looked for at %s/%s)", before.msg, cwd, path) : -before.code;
}

static int load(struct wfs_matrix *matrix, struct wfs_error *err)
{
    uint8_t *bytes = NULL;
    size_t len = 0;
    int r = slurp(matrix->path, &bytes, &len, &matrix->mtime, err);

    if (r == 0)
        r = wfs_imatrix_parse(bytes, len, &matrix->imatrix, err);
    free(bytes);
    if (r == 0)
        return 0;
    wfs_error_wrap(err, "importance matrix %s", matrix->path);
    return r == -ENOENT && matrix->path[0] != '/' ? say_where(matrix->path, err) : r;
}

const struct wfs_matrix *wfs_matrices_find(const struct wfs_matrices *m, const char *path)
{
    for (size_t i = 0; i < m->count; i++) {
        if (strcmp(m->items[i]->path, path) == 0)
            return m->items[i];
    }
    return NULL;
}

int wfs_matrices_get(struct wfs_matrices *m, const char *path, const struct wfs_matrix **ret, struct wfs_error *err)
{
    struct wfs_matrix *matrix, **grown;
    int r;

    *ret = wfs_matrices_find(m, path);
    if (*ret)
        return 0;
    matrix = calloc(1, sizeof *matrix);
    grown = realloc(m->items, (m->count + 1) * sizeof *grown);
    if (grown)
        m->items = grown;
    if (matrix)
        matrix->path = strdup(path);
    if (!grown || !matrix || !matrix->path) {
        free_matrix(matrix);
        return wfs_error_set(err, ENOMEM, "out of memory");
    }
    r = load(matrix, err);
    if (r < 0) {
        free_matrix(matrix);
        return r;
    }
    m->items[m->count++] = matrix;
    *ret = matrix;
    return 0;
}
