#include "base/cleanup.h"
#include "commands.h"
#include "gguf_difference.h"
#include "human.h"
#include "locate.h"
#include "opened.h"
#include "progress.h"
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* The file beside the view, and where they differ first. */
struct comparison {
    struct wfs_opened *opened;
    const struct wfs_node *node;
    struct wfs_object *object;
    uint64_t view_size, file_size;
    const char *path;
    int fd;
    uint64_t difference; /* offset, UINT64_MAX = none so far */
};

static int read_all(struct comparison *c, uint64_t offset, uint8_t *buf, size_t len, struct wfs_error *err)
{
    while (len > 0) {
        ssize_t n = pread(c->fd, buf, len, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return wfs_error_set(err, n < 0 ? errno : EIO, "%s: %s at offset %" PRIu64, c->path,
                                 n < 0 ? strerror(errno) : "ends early", offset);
        buf += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

/* The first differing byte of len bytes, or len. */
static size_t mismatch(const uint8_t *a, const uint8_t *b, size_t len)
{
    size_t i = 0;

    if (memcmp(a, b, len) == 0)
        return len;
    while (a[i] == b[i])
        i++;
    return i;
}

/* One piece of the view (as iovecs) against the file's bytes. */
static void compare_piece(struct comparison *c, const struct iovec *iov, int n, uint64_t offset, const uint8_t *file,
                          size_t len)
{
    size_t at = 0;

    for (int i = 0; i < n && at < len && c->difference == UINT64_MAX; i++) {
        size_t part = iov[i].iov_len < len - at ? iov[i].iov_len : len - at;
        size_t equal = mismatch(iov[i].iov_base, file + at, part);

        if (equal < part)
            c->difference = offset + at + equal;
        at += part;
    }
}

static int compare(struct comparison *c, uint64_t budget, struct wfs_error *err)
{
    uint64_t common = c->view_size < c->file_size ? c->view_size : c->file_size, offset;
    WFS_CLEANUP(wfs_free) uint8_t *file = NULL;
    struct wfs_stream *stream;
    struct wfs_progress progress;
    const struct iovec *iov;
    size_t len, cap = 0;
    int r, n;

    if (wfs_stream_new(wfs_fs_engine(c->opened->fs), c->object, common, budget, &stream) < 0)
        return wfs_error_set(err, ENOMEM, "out of memory");
    wfs_progress_begin(&progress, stderr, wfs_node_path(c->node), common);
    while ((r = wfs_stream_next(stream, &iov, &n, &offset, &len)) > 0 && c->difference == UINT64_MAX) {
        if (cap < len) {
            free(file);
            file = malloc(len);
            cap = file ? len : 0;
        }
        r = file ? read_all(c, offset, file, len, err) : wfs_error_set(err, ENOMEM, "out of memory");
        if (r < 0)
            break;
        compare_piece(c, iov, n, offset, file, len);
        wfs_progress_update(&progress, offset + len);
    }
    wfs_progress_end(&progress);
    if (r < 0 && err->code == 0)
        wfs_opened_read_error(c->opened, wfs_node_path(c->node), r, err);
    wfs_stream_free(stream);
    return r < 0 ? r : 0;
}

/* What differs in the headers of two GGUF files, behind ": "; "" when that cannot be told. */
static const char *header_difference(struct comparison *c, char *out, size_t size)
{
    enum { ROOM = 1 << 20 }; /* the file's header may be longer than the view's */
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf view = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_free) uint8_t *file = NULL;
    struct wfs_error unsaid;
    size_t len;

    out[0] = 0;
    wfs_locate_header(c->object->layout, &view);
    if (view.failed || c->difference >= view.len)
        return out;
    len = c->file_size < view.len + ROOM ? (size_t)c->file_size : view.len + ROOM;
    file = malloc(len);
    memcpy(out, ": ", 3);
    if (!file || read_all(c, 0, file, len, &unsaid) < 0 ||
        !wfs_gguf_difference(view.data, view.len, file, len, out + 2, size - 2))
        out[0] = 0;
    return out;
}

/* Says the result; true when equal. */
static bool report(struct comparison *c)
{
    char where[1400], key[1100], size[32];
    struct wfs_model_info info = { 0 };

    if (c->difference == UINT64_MAX && c->view_size == c->file_size) {
        printf("equal: view %s and file %s, %" PRIu64 " bytes (%s)\n", wfs_node_path(c->node), c->path, c->view_size,
               wfs_human_bytes(c->view_size, size, sizeof size));
        return true;
    }
    if (c->view_size != c->file_size)
        printf("the sizes differ: %s has %" PRIu64 " bytes, %s has %" PRIu64 "\n", wfs_node_path(c->node),
               c->view_size, c->path, c->file_size);
    if (c->difference == UINT64_MAX) {
        printf("%s is equal as far as the shorter one goes\n", c->path);
        return false;
    }
    wfs_generation_model_info(c->opened->generation, &info);
    wfs_locate(c->object, info.model, c->difference, where, sizeof where);
    printf("view %s and file %s differ at offset %" PRIu64 ": %s%s\n", wfs_node_path(c->node), c->path, c->difference,
           where, header_difference(c, key, sizeof key));
    return false;
}

static int verify(struct wfs_opened *opened, const struct wfs_arguments *args, struct wfs_error *err)
{
    struct comparison c = { .opened = opened, .path = args->positional[2], .fd = -1, .difference = UINT64_MAX };
    WFS_CLEANUP(wfs_close) int fd = -1;
    struct stat st, view = { 0 };
    int r = wfs_opened_find(opened, args->positional[1], &c.node, &c.object, err);

    if (r < 0)
        return r;
    if (!c.object)
        return wfs_error_set(err, EINVAL, "%s is made anew for each reader; there is nothing to compare",
                             wfs_node_path(c.node));
    fd = open(c.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for its writer */
    if (fd < 0 || fstat(fd, &st) < 0)
        return wfs_error_set(err, errno, "%s: %s", c.path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return wfs_error_set(err, EISDIR, "%s: %s", c.path, strerror(EISDIR));
    if (!S_ISREG(st.st_mode)) /* it has no size to compare, and is not read at offsets */
        return wfs_error_set(err, EINVAL, "%s: not a regular file: it cannot be compared", c.path);
    wfs_node_stat(c.node, &view);
    c.fd = fd;
    c.view_size = (uint64_t)view.st_size;
    c.file_size = (uint64_t)st.st_size;
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    r = compare(&c, args->options.fs.cache_size / 4, err);
    if (r < 0)
        return r;
    return report(&c) ? WFS_EXIT_OK : WFS_EXIT_FAILED;
}

static int run(const struct wfs_command *command, struct wfs_arguments *args)
{
    return wfs_opened_run(command, args, verify);
}

static const char *const positionals[] = { "SOURCE", "VIEW", "FILE", NULL };

const struct wfs_command wfs_command_verify = {
    .name = "verify",
    .summary = "compare a file with the view it should be equal to",
    .positionals = positionals,
    .takes_options = true,
    .about = "Compares FILE, byte for byte, with VIEW of the model folder SOURCE. When they differ, says\n"
             "at which offset first and in which tensor or key, and exits with 1.",
    .examples = "  weightfs verify ~/models/Llama-3.2-1B model-q4_k_m.gguf ~/old/llama-3.2-1b-q4_k_m.gguf\n",
    .run = run,
};
