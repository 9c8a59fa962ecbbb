#include "listing.h"
#include "containers/select.h"
#include "fs.h"
#include "gguf/recipe.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENSORS "tensors"

static bool matches(const char *pattern, const char *path)
{
    size_t n = strlen(TENSORS);

    if (fnmatch(pattern, path, FNM_PATHNAME) == 0)
        return true;
    /* The folder's name stands for all in it. */
    return strncmp(path, TENSORS "/", n + 1) == 0 && fnmatch(pattern, TENSORS, FNM_PATHNAME) == 0;
}

/* Unusual types are listed by their full names only. */
static bool lists(const char *pattern, const char *path, bool unusual)
{
    return unusual ? strcmp(pattern, path) == 0 : matches(pattern, path);
}

/* Whether a pattern lists anything that there may be. */
static bool can_match(const struct wfs_fs_options *options, const char *pattern)
{
    char name[64];

    if (strncmp(pattern, TENSORS "/", strlen(TENSORS) + 1) == 0 || matches(pattern, WFS_SINGLE_NAME) ||
        matches(pattern, TENSORS))
        return true;
    for (size_t i = 0; i < wfs_gguf_n_formats; i++) {
        snprintf(name, sizeof name, "model-%s.gguf", wfs_gguf_formats[i].name);
        if (lists(pattern, name, !wfs_gguf_formats[i].usual))
            return true;
    }
    for (size_t i = 0; i < options->n_recipes; i++) {
        if (matches(pattern, options->recipes[i]->view))
            return true;
    }
    return false;
}

int wfs_listing_init(struct wfs_listing *l, const struct wfs_fs_options *options, struct wfs_error *err)
{
    const char *text = options->views;
    char *rest, *item;

    memset(l, 0, sizeof *l);
    if (!text) {
        l->all = true;
        return 0;
    }
    l->text = strdup(text);
    l->patterns = calloc(strlen(text) + 1, sizeof *l->patterns);
    if (!l->text || !l->patterns) {
        wfs_listing_done(l);
        return wfs_error_set(err, ENOMEM, "out of memory");
    }
    rest = l->text;
    while ((item = strsep(&rest, ",:"))) {
        if (strcmp(item, "all") == 0) {
            l->all = true;
        } else if (strcmp(item, "none") == 0) {
            continue;
        } else if (can_match(options, item)) {
            l->patterns[l->n_patterns++] = item;
        } else {
            wfs_error_set(err, EINVAL, "views: \"%s\" matches no view (try all, none, %s, %s, *.gguf; unusual "
                                       "GGUF types are listed by their full names only)",
                          item, WFS_SINGLE_NAME, TENSORS);
            wfs_listing_done(l);
            return -EINVAL;
        }
    }
    return 0;
}

void wfs_listing_done(struct wfs_listing *l)
{
    free(l->text);
    free(l->patterns);
    memset(l, 0, sizeof *l);
}

bool wfs_listing_has(const struct wfs_listing *l, const char *path, bool unusual)
{
    for (size_t i = 0; i < l->n_patterns; i++) {
        if (lists(l->patterns[i], path, unusual))
            return true;
    }
    return l->all && !unusual;
}
