#include "folder_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 30 };

static int read_file(void *ctx, const char *name, struct wfs_blob *ret, struct wfs_error *err)
{
    struct wfs_folder_source *f = ctx;
    struct wfs_source_file *file = wfs_source_find(f->source, name);
    int r;

    if (!file)
        return 0;
    r = wfs_source_slurp(f->source, file, MAX_FILE_BYTES, ret, err);
    return r < 0 ? r : 1;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int wfs_folder_source_init(struct wfs_folder_source *f, struct wfs_source *source)
{
    size_t n = 0;

    f->source = source;
    f->names = malloc((source->n_files + source->n_dirs + 1) * sizeof *f->names);
    if (!f->names)
        return -ENOMEM;
    for (size_t i = 0; i < source->n_files; i++) {
        if (!strchr(source->files[i].path, '/'))
            f->names[n++] = source->files[i].path;
    }
    for (size_t i = 0; i < source->n_dirs; i++) {
        if (source->dirs[i].path[0] && !strchr(source->dirs[i].path, '/'))
            f->names[n++] = source->dirs[i].path;
    }
    qsort(f->names, n, sizeof *f->names, compare_names);
    f->folder = (struct wfs_folder){ .ctx = f, .read = read_file, .names = f->names, .n_names = n,
                                     .path = source->path };
    return 0;
}

void wfs_folder_source_done(struct wfs_folder_source *f)
{
    free(f->names);
    f->names = NULL;
}
