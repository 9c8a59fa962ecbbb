/* The small files of a model folder (config.json, tokenizer.json, README.md …), handed to parsers as bytes. */
#ifndef WFS_FOLDER_H
#define WFS_FOLDER_H

#include "base/blob.h"
#include "base/error.h"

#include <stdbool.h>

struct wfs_folder {
    void *ctx;
    /*
     * Reads a whole file of the folder (a path relative to it, subfolders allowed). 1 and a blob that the caller
     * frees; 0 when there is no such regular file; a negative errno with err set when it cannot be read or is larger
     * than 1 GiB.
     */
    int (*read)(void *ctx, const char *name, struct wfs_blob *ret, struct wfs_error *err);
    /* The names (basenames, sorted) of the regular files and of the folders directly in it; owned by the folder. */
    const char *const *names;
    size_t n_names;
    const char *path; /* the absolute path as the reference converter would see it: its last part is the model's name */
};

#endif
