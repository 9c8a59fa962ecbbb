#include "mount.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "commands.h"
#include "preflight.h"
#include "session.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

static int start_log(const struct wfs_mount_request *request, struct wfs_error *err)
{
    const char *path = request->options->log;

    if (path && !wfs_log_to_file(path))
        return wfs_error_set(err, errno, "option log=%s: %s", path,
                             errno == ENXIO ? "a pipe or socket that nobody reads" : strerror(errno));
    if (!path && !request->foreground)
        wfs_log_to_syslog("weightfs");
    if (request->debug)
        wfs_log_set_level(WFS_LOG_DEBUG);
    return 0;
}

int wfs_mount_run(const struct wfs_mount_request *request)
{
    WFS_CLEANUP(wfs_free) char *mountpoint = NULL;
    struct wfs_daemon daemon = { .pipe_fd = -1 };
    struct wfs_error err = { 0 };
    int r = wfs_preflight(request->source, request->mountpoint, request->options, &mountpoint, &err);

    if (r == 0 && wfs_preflight_has_entries(mountpoint))
        fprintf(stderr, "%s: note: %s is not empty; what it holds is hidden until the mount ends\n",
                request->program, mountpoint);
    if (r == 0 && request->options->fs.disk_cache_size && !request->options->fs.disk_cache)
        fprintf(stderr, "%s: note: disk_cache_size= counts for nothing without disk_cache=DIR\n", request->program);
    if (r == 0 && !request->fake)
        r = start_log(request, &err);
    if (r == 0 && !request->fake && !request->foreground) {
        r = wfs_daemon_start(&daemon);
        if (r < 0)
            wfs_error_set(&err, -r, "cannot start a process: %s", strerror(-r));
    }
    if (r == 0 && !request->fake) {
        struct wfs_session_request session = { request->source, mountpoint, request->options, &daemon, request->debug,
                                               request->failed_code };

        prctl(PR_SET_NAME, "weightfs"); /* also when started as mount.weightfs */
        r = wfs_session_serve(&session, &err);
    }
    if (r == 0)
        return WFS_EXIT_OK;
    fprintf(stderr, "%s: %s\n", request->program, err.msg);
    wfs_daemon_failed(&daemon, request->failed_code);
    return request->failed_code;
}

enum { OPTIONS, FOREGROUND, DEBUG };

static const struct wfs_flag flags[] = {
    [OPTIONS] = { "options", 'o', WFS_FLAG_OPTIONS, "LIST\toptions as key=value,key=value (those below, and "
                                                    "mount(8)'s)" },
    [FOREGROUND] = { "foreground", 'f', WFS_FLAG_PLAIN, "stay in the foreground; messages go to standard error" },
    [DEBUG] = { "debug", 'd', WFS_FLAG_PLAIN, "the same, and print every request of the kernel" },
    { 0 },
};

static int run(const struct wfs_command *command, struct wfs_arguments *args)
{
    struct wfs_mount_request request = {
        .program = "weightfs mount",
        .source = args->positional[0],
        .mountpoint = args->positional[1],
        .options = &args->options,
        .foreground = args->flag[FOREGROUND] || args->flag[DEBUG],
        .debug = args->flag[DEBUG] != NULL,
        .failed_code = WFS_EXIT_FAILED,
    };

    (void)command;
    return wfs_mount_run(&request);
}

static const char *const positionals[] = { "SOURCE", "MOUNTPOINT", NULL };

const struct wfs_command wfs_command_mount = {
    .name = "mount",
    .summary = "show a model folder at a mountpoint, with all its views",
    .positionals = positionals,
    .flags = flags,
    .takes_options = true,
    .about = "Shows the model folder SOURCE at the folder MOUNTPOINT, read-only: its own files,\n"
             "model.safetensors, one .npy per tensor below tensors/, and GGUF files that are made as\n"
             "they are read. Returns when the mount serves.",
    .examples = "  weightfs mount ~/models/Llama-3.2-1B /mnt/llama\n"
                "  weightfs mount -o cache_size=2G,views=*.gguf ~/models/Llama-3.2-1B /mnt/llama\n"
                "  weightfs umount /mnt/llama\n"
                "In /etc/fstab:\n"
                "  /srv/models/llama  /mnt/llama  weightfs  allow_other,cache_size=2G  0 0\n",
    .run = run,
};
