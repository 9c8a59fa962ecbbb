#include "withheld.h"

#include "base/error.h"
#include "preflight.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_MS = 50 };

struct count {
    size_t n;
    char path[300], first[1000]; /* of the first: name and reason */
    bool differ;                 /* others have other reasons */
};

static int count_withheld(void *ctx, const struct wfs_view_info *info)
{
    struct count *c = ctx;

    if (!info->reason || info->unusual)
        return 0;
    if (c->n++ == 0) {
        wfs_escape(c->path, sizeof c->path, info->path, strlen(info->path));
        snprintf(c->first, sizeof c->first, "%s", info->reason);
    }
    c->differ |= strncmp(c->first, info->reason, sizeof c->first - 1) != 0;
    return 0;
}

static void describe(struct wfs_fs *fs, struct wfs_generation *g, char *ret, size_t size)
{
    char source[1200], hint[400];
    struct wfs_model_info model;
    struct count c = { 0 };

    wfs_escape(source, sizeof source, wfs_fs_source_given(fs), strlen(wfs_fs_source_given(fs)));
    wfs_generation_model_info(g, &model);
    wfs_generation_each_view(g, count_withheld, &c);
    if (c.n == 0)
        return;
    if (model.model && c.n == 1)
        snprintf(ret, size, "%s is withheld: %s\n", c.path, c.first);
    else if (model.model)
        snprintf(ret, size, "%zu views are withheld%s%s: %s\n`weightfs ls %s`, with the same options, says more\n", c.n,
                 c.differ ? "; the first, " : "", c.differ ? c.path : "", c.first, source);
    else
        snprintf(ret, size, "no weights found in %s: only its files are shown%s\n%s\n", source,
                 wfs_preflight_model_hint(wfs_fs_source_path(fs), hint, sizeof hint), c.first);
}

void wfs_withheld_describe(struct wfs_fs *fs, char *ret, size_t size)
{
    struct wfs_generation *g = wfs_fs_generation(fs);

    ret[0] = 0;
    if (wfs_generation_settles(g, PATIENCE_MS))
        describe(fs, g, ret, size);
    wfs_generation_unref(g);
}
