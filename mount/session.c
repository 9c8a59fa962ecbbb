#include "session.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "disk.h"
#include "fuse_ops.h"
#include "generation.h"
#include "holders.h"
#include "mountpoint.h"
#include "preflight.h"
#include "withheld.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_log.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

enum {
    LOOP_THREADS = 8,         /* none of them ever waits; they copy answers to the kernel */
    /* then the process ends whatever still hangs, and the kernel with it every blocked reader */
    END_BY_SIGNAL_MS = 1500,
    END_BY_UNMOUNT_MS = 10000,
    SPARE_FILES = 64, /* descriptors beside the source's files */
};

struct session {
    const struct wfs_session_request *request;
    struct fuse_session *se;
    struct wfs_skin *skin;
    struct wfs_fs *fs;
    char *source;   /* its path, owned: what the control thread says may come after the filesystem is closed */
    unsigned minor; /* of the mount's device */
    char withheld[4000]; /* what the starter is told, from before mounting */
    int signal_fd, loop_ended, all_done; /* event descriptors */
    atomic_bool no_threads; /* why the mount has ended before it served */
    pthread_t control;
    pthread_mutex_t lock; /* protects that the skin is there, against the control thread */
};

/* --- libfuse's own messages: this thread's last one explains a failed mount --- */

static _Thread_local char last_fuse_message[400];

__attribute__((format(printf, 2, 0))) static void on_fuse_log(enum fuse_log_level level, const char *fmt, va_list ap)
{
    char text[1000], line[1200];
    size_t len;

    vsnprintf(text, sizeof text, fmt, ap);
    len = strlen(text);
    while (len > 0 && text[len - 1] == '\n')
        len--;
    wfs_escape(line, sizeof line, text, len);
    snprintf(last_fuse_message, sizeof last_fuse_message, "%.390s", line);
    wfs_log(level <= FUSE_LOG_WARNING ? WFS_LOG_WARNING : WFS_LOG_DEBUG, "%s", line);
}

static void on_fs_log(void *ctx, int level, const char *line)
{
    (void)ctx;
    wfs_log((enum wfs_log_level)level, "%s", line);
}

/* --- ending --- */

/* Takes the mount away from its folder, if it is still this one that is there, and ends its open requests. */
static void detach_own(const struct session *s)
{
    struct wfs_mount_info mounted;

    if (wfs_mountpoint_find(s->request->mountpoint, &mounted) != 1)
        return;
    if (mounted.major == 0 && mounted.minor == s->minor)
        wfs_mountpoint_abort(s->request->mountpoint);
    wfs_mount_info_done(&mounted);
}

/*
 * A connection that was cut from outside leaves a dead mount behind: it goes, too. One that answers is another's: the
 * device number of a mount that is gone may be given again at once.
 */
static void detach_dead(const struct session *s)
{
    if (wfs_mountpoint_is_dead(s->request->mountpoint))
        detach_own(s);
}

/*
 * Cuts every open request, so that blocked readers get an error at once. A user who is not root needs fusectl for it.
 */
static void end_mount(const struct session *s)
{
    char path[64];
    int fd;

    detach_own(s);
    snprintf(path, sizeof path, "/sys/fs/fuse/connections/%u/abort", s->minor);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (write(fd, "1", 1) < 0)
            wfs_log(WFS_LOG_DEBUG, "%s: %s", path, strerror(errno));
        close(fd);
    }
    fuse_session_exit(s->se);
}

/*
 * Closes every descriptor of /dev/fuse, and so ends every open request: the last resort, also of a user who is not
 * root. A thread that hangs in a call on the source may keep the process for long, and all descriptors with it.
 */
static void cut_connection(void)
{
    struct dirent *entry;
    DIR *dir = opendir("/proc/self/fd");

    while (dir && (entry = readdir(dir))) {
        char target[32];
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);

        target[n > 0 ? n : 0] = 0;
        if (strcmp(target, "/dev/fuse") == 0)
            syscall(SYS_close, atoi(entry->d_name)); /* others are reading from it: that they stop is the point */
    }
}

static void signal_event(int fd)
{
    uint64_t one = 1;

    while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/*
 * The kernel reads ahead 128 KiB unless its backing device says more; needs root and sysfs, and is worth having only.
 */
static void raise_readahead(const struct session *s)
{
    char path[64], text[16];
    int fd, n;

    snprintf(path, sizeof path, "/sys/class/bdi/0:%u/read_ahead_kb", s->minor);
    n = snprintf(text, sizeof text, "%d", WFS_MAX_READ / 1024);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, (size_t)n) != n)
        wfs_log(WFS_LOG_DEBUG, "read-ahead stays as it is: %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* To the starter's standard error while it is still ours; to the log all the same, for fstab's mounts and -f. */
static void tell_withheld(struct session *s)
{
    for (char *rest = s->withheld, *line; (line = strsep(&rest, "\n")) && *line;) {
        if (s->request->daemon->pipe_fd >= 0)
            fprintf(stderr, "weightfs: %s\n", line);
        wfs_log(WFS_LOG_WARNING, "%s: %s", s->request->mountpoint, line);
    }
}

/* The log has it already. */
static void tell_disk(const struct session *s)
{
    struct wfs_disk *disk = wfs_fs_disk(s->fs);
    struct wfs_disk_stats stats;

    if (!disk || s->request->daemon->pipe_fd < 0)
        return;
    wfs_disk_stats(disk, &stats);
    if (stats.state != WFS_DISK_ON)
        fprintf(stderr, "weightfs: the disk cache %s is %s until the next mount: %s\n",
                s->request->options->fs.disk_cache, wfs_disk_state_name(stats.state), stats.reason);
}

/* On the control thread: the mount may have ended already. */
static void start_passthrough(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->skin)
        wfs_passthrough_start(s->skin, s->se);
    pthread_mutex_unlock(&s->lock);
}

/* Whether the mount answers: 0 or -1 with errno. Where it has ended already it is the folder below that does. */
static int look_at_own(const struct session *s)
{
    struct stat st;

    if (stat(s->request->mountpoint, &st) < 0)
        return -1;
    errno = ENOTCONN;
    return st.st_dev == makedev(0, s->minor) ? 0 : -1;
}

/*
 * The control thread: tells the starter when the mount serves (a stat of the root is answered), then waits for a signal
 * or the end of the loop, and sees to it that the end does not take long.
 */
static void *control_main(void *arg)
{
    struct session *s = arg;
    struct pollfd events[] = { { s->signal_fd, POLLIN, 0 }, { s->loop_ended, POLLIN, 0 } };
    struct pollfd done = { s->all_done, POLLIN, 0 };
    bool end_now = false;
    char name[16];

    wfs_holders_thread_name(s->minor, name, sizeof name);
    pthread_setname_np(pthread_self(), name);
    if (look_at_own(s) == 0) {
        raise_readahead(s);
        start_passthrough(s);
        end_now = wfs_daemon_serving(s->request->daemon) < 0;
        wfs_log(WFS_LOG_INFO, "%s serves %s", s->request->mountpoint, s->source);
    } else {
        /* A mount that cannot be seen serves nobody, and the starter waits for a word. */
        const char *why = atomic_load(&s->no_threads) ? "no thread could be started to serve it" : strerror(errno);

        fprintf(stderr, "weightfs: mounted, but %s cannot be looked at: %s\n", s->request->mountpoint, why);
        wfs_log(WFS_LOG_ERROR, "%s cannot be looked at: %s", s->request->mountpoint, why);
        wfs_daemon_failed(s->request->daemon, s->request->failed_code);
        end_now = true;
    }
    wfs_skin_finish(s->skin);
    while (!end_now && poll(events, 2, -1) < 0 && errno == EINTR)
        ;
    if ((events[0].revents & POLLIN) && !events[1].revents) {
        struct signalfd_siginfo info;

        end_now = read(s->signal_fd, &info, sizeof info) == (ssize_t)sizeof info;
        wfs_log(WFS_LOG_INFO, "%s: ending, told so by signal %u", s->request->mountpoint, info.ssi_signo);
    }
    if (end_now)
        end_mount(s);
    if (poll(&done, 1, end_now ? END_BY_SIGNAL_MS : END_BY_UNMOUNT_MS) <= 0) {
        wfs_log(WFS_LOG_WARNING, "%s: work was still under way at the end", s->request->mountpoint);
        cut_connection();
        _exit(0);
    }
    return NULL;
}

/* --- starting --- */

static int open_source(struct session *s, struct wfs_error *err)
{
    struct wfs_fs_options options = s->request->options->fs;
    unsigned long limit = wfs_preflight_raise_files();
    struct wfs_model_info info;
    struct wfs_generation *g;
    int r;

    options.on_log = on_fs_log;
    r = wfs_fs_open(s->request->source, &options, &s->fs, err);
    if (r == -EMFILE)
        wfs_error_wrap(err, "the limit of %lu open files is too low; raise it (ulimit -n, LimitNOFILE=)", limit);
    if (r < 0)
        return r;
    if (limit >= 4096)
        return 0;
    /* Every shard stays open. With a small limit, say now that it does not do, not when a read fails. */
    g = wfs_fs_generation(s->fs);
    r = wfs_generation_model_info(g, &info);
    if (r == 0 && info.model && info.model->n_files + SPARE_FILES > limit)
        r = wfs_error_set(err, EMFILE, "the source has %zu files of weights and the limit of open files is %lu; "
                                       "raise it to %zu "
                          "(ulimit -n, LimitNOFILE=)", info.model->n_files, limit, info.model->n_files + SPARE_FILES);
    else
        r = 0;
    wfs_generation_unref(g);
    return r;
}

static int make_fuse_session(struct session *s, struct wfs_error *err)
{
    const struct wfs_options *options = s->request->options;
    WFS_CLEANUP(wfs_free) char *source = NULL;
    struct fuse_args args = { 0 };
    char fixed[128], *list = NULL;
    int r = -1;

    snprintf(fixed, sizeof fixed, "ro,nosuid,nodev,default_permissions,subtype=weightfs,max_read=%d%s%s%s",
             WFS_MAX_READ, options->allow_other ? ",allow_other" : "", options->no_exec ? ",noexec" : "",
             s->request->debug ? ",debug" : "");
    if (asprintf(&source, "fsname=%s", wfs_fs_source_path(s->fs)) < 0)
        return wfs_error_set(err, ENOMEM, "out of memory");
    if (fuse_opt_add_opt(&list, fixed) == 0 && fuse_opt_add_opt_escaped(&list, source) == 0 &&
        fuse_opt_add_arg(&args, "weightfs") == 0 && fuse_opt_add_arg(&args, "-o") == 0 &&
        fuse_opt_add_arg(&args, list) == 0) {
        s->se = fuse_session_new(&args, &wfs_fuse_ops, sizeof wfs_fuse_ops, s->skin);
        r = s->se ? 0 : -1;
    }
    free(list);
    fuse_opt_free_args(&args);
    return r < 0 ? wfs_error_set(err, EINVAL, "libfuse refused the session: %s", last_fuse_message) : 0;
}

static int mount_it(struct session *s, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_close) int lock = -1;
    struct wfs_mount_info mounted;
    int r = wfs_preflight_take(s->request->mountpoint, &lock, err);

    if (r < 0)
        return r;
    errno = 0;
    if (fuse_session_mount(s->se, s->request->mountpoint) != 0) {
        int why = errno ? errno : EIO;

        return wfs_error_set(err, why, "mounting on %s failed: %s", s->request->mountpoint,
                             last_fuse_message[0] ? last_fuse_message : strerror(why));
    }
    r = wfs_mountpoint_find(s->request->mountpoint, &mounted);
    if (r == 1) {
        s->minor = mounted.minor;
        wfs_fs_set_own_dev(s->fs, makedev(mounted.major, mounted.minor));
        wfs_mount_info_done(&mounted);
        return 0;
    }
    fuse_session_unmount(s->se);
    return wfs_error_set(err, EIO, "%s: mounted, but not found in /proc/self/mountinfo", s->request->mountpoint);
}

/* Until the mount ends. Not 0: nobody answers, and it is still there. */
static int serve_loop(struct session *s)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    int r;

    if (!config)
        return -ENOMEM;
    fuse_loop_cfg_set_clone_fd(config, 1);
    fuse_loop_cfg_set_max_threads(config, LOOP_THREADS);
    fuse_loop_cfg_set_idle_threads(config, LOOP_THREADS);
    r = fuse_session_loop_mt(s->se, config);
    fuse_loop_cfg_destroy(config);
    return r;
}

/* Whether the kernel still takes answers. */
static bool is_connected(const struct session *s)
{
    struct pollfd device = { fuse_session_fd(s->se), 0, 0 };

    return poll(&device, 1, 0) == 0;
}

/* From a mounted session to its end. */
static int serve(struct session *s, struct wfs_error *err)
{
    int r;

    tell_withheld(s);
    tell_disk(s);
    wfs_skin_begin(s->skin); /* the control thread's start: it may still be at it when the mount ends */
    r = pthread_create(&s->control, NULL, control_main, s);
    if (r != 0) {
        wfs_skin_finish(s->skin);
        fuse_session_unmount(s->se);
        return wfs_error_set(err, r, "cannot start a thread: %s", strerror(r));
    }
    wfs_prune_start(s->skin, s->se); /* without it, old files are let go when the kernel needs the memory */
    if (serve_loop(s) != 0 && is_connected(s)) {
        atomic_store(&s->no_threads, true);
        end_mount(s); /* else all who ask wait for ever, the control thread too */
    }
    signal_event(s->loop_ended);
    wfs_prune_stop(s->skin);
    wfs_skin_wait_idle(s->skin);
    detach_dead(s);
    fuse_session_unmount(s->se);
    return 0;
}

/*
 * The C library keeps for each thread what it has freed, and raises by itself the size from which memory goes back to
 * the system: both would grow with how much was read once.
 */
static void bound_heap(void)
{
    enum { ARENAS = 4, MAPPED_FROM = 256 * 1024 };

    mallopt(M_ARENA_MAX, ARENAS);
    mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
    mallopt(M_TRIM_THRESHOLD, MAPPED_FROM);
}

static int prepare(struct session *s, struct wfs_error *err)
{
    sigset_t signals;
    int r;

    bound_heap();
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before any thread: only the descriptor gets them */
    s->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    s->loop_ended = eventfd(0, EFD_CLOEXEC);
    s->all_done = eventfd(0, EFD_CLOEXEC);
    if (s->signal_fd < 0 || s->loop_ended < 0 || s->all_done < 0)
        return wfs_error_set(err, errno, "cannot make event descriptors: %s", strerror(errno));
    fuse_set_log_func(on_fuse_log);
    r = open_source(s, err);
    if (r < 0)
        return r;
    s->source = strdup(wfs_fs_source_path(s->fs));
    if (!s->source)
        return wfs_error_set(err, ENOMEM, "out of memory");
    r = wfs_skin_new(s->fs, s->request->options, &s->skin);
    if (r < 0)
        return wfs_error_set(err, -r, "what answers the kernel cannot be started: %s", strerror(-r));
    r = make_fuse_session(s, err);
    if (r < 0)
        return r;
    /* It looks into the source by path, where the mount may be next, and nobody answers yet. */
    wfs_withheld_describe(s->fs, s->withheld, sizeof s->withheld);
    wfs_passthrough_prepare(s->skin, s->request->options);
    return mount_it(s, err);
}

int wfs_session_serve(const struct wfs_session_request *request, struct wfs_error *err)
{
    struct session s = { .request = request, .signal_fd = -1, .loop_ended = -1, .all_done = -1,
                         .lock = PTHREAD_MUTEX_INITIALIZER };
    int r = prepare(&s, err);
    bool served = r == 0;

    if (served)
        r = serve(&s, err);
    pthread_mutex_lock(&s.lock);
    wfs_skin_free(WFS_STEAL(s.skin));
    pthread_mutex_unlock(&s.lock);
    if (s.se)
        fuse_session_destroy(s.se);
    wfs_fs_close(s.fs);
    if (served && r == 0) {
        signal_event(s.all_done);
        pthread_join(s.control, NULL);
    }
    free(s.source);
    wfs_close(&s.signal_fd);
    wfs_close(&s.loop_ended);
    wfs_close(&s.all_done);
    return r;
}
