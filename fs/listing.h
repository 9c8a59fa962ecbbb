/* Private to fs: the option views=LIST, which says what of the computed views readdir lists. */
#ifndef WFS_FS_LISTING_H
#define WFS_FS_LISTING_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct wfs_listing {
    char *text;      /* owned */
    char **patterns; /* owned; into text; shell patterns for paths of views, "tensors" for all in it */
    size_t n_patterns;
    bool all;
};

struct wfs_fs_options; /* fs.h */

/*
 * options->views: patterns separated by ',' or ':', "all", "none", or NULL (all). An item that can match no view, the
 * user's own (options->recipes) among them, is -EINVAL with err naming it.
 */
int wfs_listing_init(struct wfs_listing *l, const struct wfs_fs_options *options, struct wfs_error *err);
void wfs_listing_done(struct wfs_listing *l);

/*
 * Whether the view at this path is listed. An unusual one is when a pattern is its whole name: neither "all" nor a
 * wildcard means it.
 */
bool wfs_listing_has(const struct wfs_listing *l, const char *path, bool unusual);

#endif
