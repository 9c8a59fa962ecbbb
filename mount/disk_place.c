#include "disk_place.h"

#include "base/cleanup.h"
#include "mountpoint.h"

#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_within(const char *path, const char *folder)
{
    size_t len = strlen(folder);

    return strncmp(path, folder, len) == 0 && (path[len] == 0 || path[len] == '/' || folder[len - 1] == '/');
}

/* Of DIR or, as it may be made, of the folder that it would be in. */
static int resolve(const char *dir, char **ret, struct wfs_error *err)
{
    char *path = realpath(dir, NULL), *copy WFS_CLEANUP(wfs_free) = NULL, *base WFS_CLEANUP(wfs_free) = NULL;
    char *parent WFS_CLEANUP(wfs_free) = NULL;
    const char *above;

    *ret = path;
    if (path)
        return 0;
    if (errno != ENOENT)
        return wfs_error_set(err, errno, "disk_cache=%s: %s", dir, strerror(errno));
    copy = strdup(dir);
    base = strdup(dir);
    if (!copy || !base)
        return wfs_error_nomem(err);
    above = dirname(copy);
    parent = realpath(above, NULL);
    if (!parent) /* it may be a disk that is not mounted: nothing is made in its place */
        return wfs_error_set(err, errno, "disk_cache=%s: it would be made in %s: %s", dir, above, strerror(errno));
    return asprintf(ret, "%s%s%s", parent, parent[1] ? "/" : "", basename(base)) < 0 ? wfs_error_nomem(err) : 0;
}

/* Whether a folder on the way to path is where a weightfs is mounted. */
static bool is_in_weightfs(const char *path)
{
    char *part WFS_CLEANUP(wfs_free) = strdup(path);

    for (char *slash = part ? part + strlen(part) : NULL; slash && slash > part; slash = strrchr(part, '/')) {
        struct wfs_mount_info mounted;
        bool ours;

        *slash = 0;
        if (!part[0] || wfs_mountpoint_find(part, &mounted) != 1)
            continue;
        ours = wfs_mount_is_weightfs(&mounted);
        wfs_mount_info_done(&mounted);
        if (ours)
            return true;
    }
    return false;
}

int wfs_disk_place_check(const char *dir, const char *source, const char *mountpoint, struct wfs_error *err)
{
    char *path WFS_CLEANUP(wfs_free) = NULL, *from WFS_CLEANUP(wfs_free) = realpath(source, NULL);
    int r = resolve(dir, &path, err);
    struct stat st;

    if (r < 0)
        return r;
    if (is_in_weightfs(path))
        return wfs_error_set(err, EINVAL, "disk_cache=%s is within a weightfs mount", dir);
    if (mountpoint && is_within(path, mountpoint))
        return wfs_error_set(err, EINVAL, "disk_cache=%s is within the mountpoint %s", dir, mountpoint);
    if (from && stat(from, &st) == 0 && !S_ISDIR(st.st_mode)) /* then its folder is what is listed */
        dirname(from);
    if (from && is_within(path, from))
        return wfs_error_set(err, EINVAL, "disk_cache=%s is within the source %s", dir, source);
    return 0;
}
