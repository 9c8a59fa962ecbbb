#include "preflight.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "disk_place.h"
#include "mountpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

enum {
    TAKE_TRIES = 200, /* 10 ms apart */
    MAX_LOOKED_AT = 1000, /* entries of a folder, for a hint */
};

static int check_device(struct wfs_error *err)
{
    WFS_CLEANUP(wfs_close) int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(10, 229))
        return 0;
    if (fd >= 0)
        return wfs_error_set(err, ENODEV, "/dev/fuse is not the FUSE device (character device 10, 229)");
    switch (errno) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
        return wfs_error_set(err, ENODEV, "there is no /dev/fuse: load the kernel module (modprobe fuse); in a "
                                          "container, start it with "
                             "--device /dev/fuse --cap-add SYS_ADMIN");
    case EACCES:
    case EPERM:
        return wfs_error_set(err, EPERM, "/dev/fuse cannot be opened (%s): its mode should be 0666; a container needs "
                             "--device /dev/fuse --cap-add SYS_ADMIN", strerror(errno));
    default:
        return wfs_error_set(err, errno, "/dev/fuse: %s", strerror(errno));
    }
}

bool wfs_preflight_allows_other(const char *fuse_conf)
{
    for (const char *line = fuse_conf; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        line += strspn(line, " \t");
        if (strncmp(line, "user_allow_other", 16) == 0 && line[16 + strspn(line + 16, " \t\r")] <= '\n')
            return true;
        if (!*line)
            break;
    }
    return false;
}

/* What only matters for a user who is not root. */
static int check_user(const struct wfs_options *options, struct wfs_error *err)
{
    char path[PATH_MAX], conf[8192] = "";
    WFS_CLEANUP(wfs_close) int fd = -1;

    if (geteuid() == 0)
        return 0;
    if (!wfs_fusermount_find(path, sizeof path))
        return wfs_error_set(err, EPERM, "mounting without being root needs fusermount3, which is not in PATH: "
                                         "install the package fuse3");
    if (!options->allow_other)
        return 0;
    fd = open("/etc/fuse.conf", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = read(fd, conf, sizeof conf - 1);

        conf[n > 0 ? n : 0] = 0;
    }
    if (wfs_preflight_allows_other(conf))
        return 0;
    return wfs_error_set(err, EPERM, "option allow_other is for root, or needs the line user_allow_other in "
                                     "/etc/fuse.conf");
}

/* Whether a folder has what a model's folder has. */
static bool looks_like_model(const char *parent, const char *name)
{
    static const char *const marks[] = { "model.safetensors", "model.safetensors.index.json", "config.json" };

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        WFS_CLEANUP(wfs_free) char *path = NULL;

        if (asprintf(&path, "%s/%s/%s", parent, name, marks[i]) < 0) {
            path = NULL;
            return false;
        }
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/*
 * The first folder in parent, in order of names, that looks like a model's (any: whatever it looks like); *ret_more:
 * how many others. NULL: there is none.
 */
static char *model_within(const char *parent, bool any, size_t *ret_more)
{
    struct dirent *entry;
    DIR *dir = opendir(parent);
    char *first = NULL;

    *ret_more = 0;
    for (int n = 0; dir && n < MAX_LOOKED_AT && (entry = readdir(dir)); n++) {
        if (entry->d_name[0] == '.' || (!any && !looks_like_model(parent, entry->d_name)))
            continue;
        *ret_more += first != NULL;
        if (first && strcmp(entry->d_name, first) > 0)
            continue;
        free(first);
        first = strdup(entry->d_name);
    }
    if (dir)
        closedir(dir);
    return first;
}

const char *wfs_preflight_model_hint(const char *source, char *out, size_t size)
{
    WFS_CLEANUP(wfs_free) char *snapshots = NULL, *model = NULL;
    size_t more = 0;
    char name[300];
    bool hub;

    out[0] = 0;
    if (asprintf(&snapshots, "%s/snapshots", source) < 0) {
        snapshots = NULL;
        return out;
    }
    model = model_within(snapshots, true, &more);
    hub = model != NULL;
    if (!hub)
        model = model_within(source, false, &more);
    if (!model)
        return out;
    wfs_escape(name, sizeof name, model, strlen(model));
    if (hub)
        snprintf(out, size, " (a hub's cache folder; the model is in snapshots/%s)", name);
    else if (more == 0)
        snprintf(out, size, " (the model is in its subfolder %s)", name);
    else
        snprintf(out, size, " (it has models in subfolders, each to be mounted by itself: %s and %zu more)", name,
                 more);
    return out;
}

int wfs_preflight_source(const char *source, struct wfs_error *err)
{
    struct stat st;

    if (stat(source, &st) < 0)
        return wfs_error_set(err, errno, "source %s: %s", source, strerror(errno));
    if (S_ISDIR(st.st_mode) ? access(source, R_OK | X_OK) < 0 : access(source, R_OK) < 0)
        return wfs_error_set(err, errno, "source %s is not readable: %s", source, strerror(errno));
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return wfs_error_set(err, EINVAL, "source %s is neither a folder nor a file", source);
    if (S_ISREG(st.st_mode) && wfs_ends_with(source, ".gguf"))
        return wfs_error_set(err, EINVAL, "source %s is a GGUF file, which is not read; wanted is the model's folder or "
                                          "a .safetensors file", source);
    if (S_ISREG(st.st_mode) && !wfs_ends_with(source, ".safetensors"))
        return wfs_error_set(err, EINVAL, "source %s is not a .safetensors file; wanted is the model's folder or a "
                                          ".safetensors file", source);
    return 0;
}

/* What is mounted at the mountpoint already: a dead weightfs is taken away, a living one is refused. */
static int check_mounted(const char *path, struct wfs_error *err)
{
    struct wfs_mount_info mounted;
    int r = wfs_mountpoint_find(path, &mounted);
    bool dead;

    if (r <= 0)
        return 0;
    r = 0;
    dead = wfs_mountpoint_is_dead(path);
    if (!wfs_mount_is_weightfs(&mounted)) {
        if (dead)
            r = wfs_error_set(err, ENOTCONN, "mountpoint %s: a %s mount there is dead; unmount it first", path,
                              mounted.type);
    } else if (dead) {
        r = wfs_mountpoint_detach(path, true, err);
        if (r < 0)
            r = wfs_error_wrap(err, "a dead weightfs mount is in the way; try `weightfs umount %s`", path);
    } else {
        r = wfs_error_set(err, EBUSY, "mountpoint %s already shows %s: `weightfs umount %s` first", path,
                          mounted.source, path);
    }
    wfs_mount_info_done(&mounted);
    return r;
}

int wfs_preflight_take(const char *mountpoint, int *ret_lock, struct wfs_error *err)
{
    static const struct timespec pause = { 0, 10000000 };
    WFS_CLEANUP(wfs_close) int fd = open(mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r;

    for (int i = 0; i < TAKE_TRIES && fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&pause, NULL);
    r = check_mounted(mountpoint, err);
    if (r < 0)
        return r;
    *ret_lock = wfs_steal_fd(&fd);
    return 0;
}

static int check_mountpoint(const char *mountpoint, char **ret, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *path = NULL;
    struct stat st;
    int r = wfs_mountpoint_resolve(mountpoint, &path, err);

    if (r < 0)
        return wfs_error_set(err, -r, "mountpoint %s: %s", mountpoint,
                             r == -ENOENT ? "No such file or directory; make the folder first (mkdir)" : strerror(-r));
    r = check_mounted(path, err);
    if (r < 0)
        return r;
    if (stat(path, &st) < 0)
        return wfs_error_set(err, errno, "mountpoint %s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return wfs_error_set(err, ENOTDIR, "mountpoint %s is not a folder", path);
    *ret = WFS_STEAL(path);
    return 0;
}

int wfs_preflight(const char *source, const char *mountpoint, const struct wfs_options *options, char **ret_mountpoint,
                  struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *path = NULL;
    int r = wfs_preflight_source(source, err);

    if (r == 0)
        r = check_user(options, err);
    if (r == 0)
        r = check_device(err);
    if (r == 0)
        r = check_mountpoint(mountpoint, &path, err);
    if (r == 0 && options->fs.disk_cache)
        r = wfs_disk_place_check(options->fs.disk_cache, source, path, err);
    if (r == 0)
        *ret_mountpoint = WFS_STEAL(path);
    return r;
}

bool wfs_preflight_has_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool found = false;

    while (dir && !found && (entry = readdir(dir)))
        found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return found;
}

unsigned long wfs_preflight_raise_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1024;
    if (limit.rlim_cur < limit.rlim_max) {
        struct rlimit raised = { limit.rlim_max, limit.rlim_max };

        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit = raised;
    }
    return limit.rlim_cur;
}
