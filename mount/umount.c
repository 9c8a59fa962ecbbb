#include "base/cleanup.h"
#include "commands.h"
#include "holders.h"
#include "mountpoint.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAIT_MS = 5000 };

enum { LAZY };

static const struct wfs_flag flags[] = {
    [LAZY] = { "lazy", 'l', WFS_FLAG_PLAIN, "take it away now, and end it when nobody uses it any more" },
    { 0 },
};

static int busy(const char *path, struct wfs_error *err)
{
    char who[1200];

    if (wfs_holders_describe(path, who, sizeof who) == 0)
        snprintf(who, sizeof who, "somebody who cannot be seen from here (as root more can)");
    return wfs_error_set(err, EBUSY, "%s is busy: in use by %s. End that first, or `weightfs umount -l %s` to take "
                                     "it away now and "
                         "end it when they are done", path, who, path);
}

/* So that the source and the memory are free when umount returns; not for long if the daemon takes its time. */
static void wait_for_daemon(pid_t pid)
{
    WFS_CLEANUP(wfs_close) int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    struct pollfd gone = { fd, POLLIN, 0 };

    if (fd >= 0 && poll(&gone, 1, WAIT_MS) == 0)
        fprintf(stderr, "weightfs umount: note: the mount is gone, but its process (pid %ld) has not ended yet\n",
                (long)pid);
}

static int unmount(const char *mountpoint, bool lazy, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *path = NULL;
    WFS_CLEANUP(wfs_mount_info_done) struct wfs_mount_info mounted = { 0 };
    pid_t daemon;
    int r = wfs_mountpoint_resolve(mountpoint, &path, err);

    if (r < 0)
        return r;
    r = wfs_mountpoint_find(path, &mounted);
    if (r < 0)
        return wfs_error_set(err, -r, "/proc/self/mountinfo: %s", strerror(-r));
    if (r == 0)
        return wfs_error_set(err, EINVAL, "nothing is mounted on %s", path);
    if (!wfs_mount_is_weightfs(&mounted))
        return wfs_error_set(err, EINVAL, "what is mounted on %s is not weightfs but %s (of %s)", path, mounted.type,
                             mounted.source);
    if (geteuid() != 0 && mounted.user != getuid())
        return wfs_error_set(err, EPERM, "%s: not permitted: user %u mounted it%s; only %s can unmount it", path,
                             mounted.user, mounted.user == 0 ? " (root)" : "",
                             mounted.user == 0 ? "root" : "that user or root");
    daemon = wfs_holders_find_daemon(mounted.minor);
    r = wfs_mountpoint_detach(path, lazy, err);
    if (r == -EBUSY)
        return busy(path, err);
    if (r == 0 && !lazy)
        wait_for_daemon(daemon);
    return r;
}

static int run(const struct wfs_command *command, struct wfs_arguments *args)
{
    struct wfs_error err = { 0 };

    if (unmount(args->positional[0], args->flag[LAZY] != NULL, &err) == 0)
        return WFS_EXIT_OK;
    wfs_complain(command, &err);
    return WFS_EXIT_FAILED;
}

static const char *const positionals[] = { "MOUNTPOINT", NULL };

const struct wfs_command wfs_command_umount = {
    .name = "umount",
    .summary = "end a mount, also a dead one",
    .positionals = positionals,
    .flags = flags,
    .about = "Ends the weightfs mount at MOUNTPOINT and waits for its process to end. Works on a mount\n"
             "whose process died. One that is in use stays, and who uses it is said.",
    .examples = "  weightfs umount /mnt/llama\n"
                "  weightfs umount -l /mnt/llama      also when it is in use\n",
    .run = run,
};
