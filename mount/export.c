#include "base/cleanup.h"
#include "commands.h"
#include "opened.h"
#include "outfile.h"
#include "progress.h"
#include "stream.h"

#include <errno.h>
#include <string.h>

enum { OUTPUT, FORCE };

static const struct wfs_flag flags[] = {
    [OUTPUT] = { "output", 'o', WFS_FLAG_VALUE, "FILE\twhere to; - is standard output (VIEW's name in the current "
                                                "folder)" },
    [FORCE] = { "force", 0, WFS_FLAG_PLAIN, "overwrite FILE" },
    { 0 },
};

static int copy(struct wfs_opened *o, struct wfs_object *object, uint64_t size, uint64_t cache_size, const char *view,
                struct wfs_outfile *out, struct wfs_error *err)
{
    struct wfs_stream *stream;
    struct wfs_progress progress;
    const struct iovec *iov;
    uint64_t offset;
    int r, n;
    size_t len;

    r = wfs_stream_new(wfs_fs_engine(o->fs), object, size, cache_size / 4, &stream);
    if (r < 0)
        return wfs_error_set(err, ENOMEM, "out of memory");
    wfs_progress_begin(&progress, stderr, view, size);
    while ((r = wfs_stream_next(stream, &iov, &n, &offset, &len)) > 0) {
        r = wfs_outfile_write(out, iov, n, err);
        if (r < 0)
            break;
        wfs_progress_update(&progress, offset + len);
    }
    wfs_progress_end(&progress);
    if (r < 0 && err->code == 0)
        wfs_opened_read_error(o, view, r, err);
    wfs_stream_free(stream);
    return r;
}

/* status.json: made now, in one piece. */
static int copy_status(struct wfs_opened *o, const struct wfs_node *node, struct wfs_outfile *out,
                       struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) uint8_t *text = NULL;
    struct iovec iov;
    int r = wfs_fs_status_file(o->fs, node, &text, &iov.iov_len);

    if (r < 0)
        return wfs_error_set(err, -r, "status.json: %s", strerror(-r));
    iov.iov_base = text;
    return wfs_outfile_write(out, &iov, 1, err);
}

static int export(struct wfs_opened *o, const struct wfs_arguments *args, struct wfs_error *err)
{
    const char *view = args->positional[1], *path = args->flag[OUTPUT];
    struct wfs_outfile out = WFS_OUTFILE_INIT;
    const struct wfs_node *node;
    struct wfs_object *object;
    struct stat st = { 0 };
    int r = wfs_opened_find(o, view, &node, &object, err);

    if (r < 0)
        return r;
    wfs_node_stat(node, &st);
    r = wfs_outfile_open(&out, path ? path : wfs_node_name(node), args->flag[FORCE] != NULL, (uint64_t)st.st_size,
                         wfs_fs_source_path(o->fs), object ? object->source : NULL, err);
    if (r == 0 && object)
        r = copy(o, object, (uint64_t)st.st_size, args->options.fs.cache_size, wfs_node_path(node), &out, err);
    else if (r == 0)
        r = copy_status(o, node, &out, err);
    if (r == 0)
        r = wfs_outfile_commit(&out, err);
    wfs_outfile_done(&out);
    return r;
}

static int run(const struct wfs_command *command, struct wfs_arguments *args)
{
    return wfs_opened_run(command, args, export);
}

static const char *const positionals[] = { "SOURCE", "VIEW", NULL };

const struct wfs_command wfs_command_export = {
    .name = "export",
    .summary = "write one view to disk, without a mount",
    .positionals = positionals,
    .flags = flags,
    .takes_options = true,
    .about = "Writes VIEW, any file of the mount, to a file: whole or not at all. What exists is not\n"
             "overwritten unless --force says so; the source never is. On a terminal a line shows how\n"
             "far it is.",
    .examples = "  weightfs export ~/models/Llama-3.2-1B model-q4_k_m.gguf\n"
                "  weightfs export ~/models/Llama-3.2-1B tensors/model.norm.weight.npy -o norm.npy\n"
                "  weightfs export ~/models/Llama-3.2-1B model-q8_0.gguf -o - | sha256sum\n",
    .run = run,
};
