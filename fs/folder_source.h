/* Private to fs: a source as the folder of small files that parsers are handed. */
#ifndef WFS_FS_FOLDER_SOURCE_H
#define WFS_FS_FOLDER_SOURCE_H

#include "folder.h"
#include "source.h"

struct wfs_folder_source {
    struct wfs_folder folder; /* what to hand over */
    struct wfs_source *source;
    const char **names;
};

/* The source outlives it. 0 or -ENOMEM. */
int wfs_folder_source_init(struct wfs_folder_source *f, struct wfs_source *source);
void wfs_folder_source_done(struct wfs_folder_source *f);

#endif
