/* The disk as a whole: its folder, its state, its end. */
#include "disk_private.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#define STRINGIFY(x) #x
#define TEXT(x) STRINGIFY(x)
#define FOLDER "weightfs-" TEXT(WFS_DISK_FORMAT)

enum { STOP_MS = 1000, HANG_MS = 400 };

#define DEFAULT_LIMIT ((uint64_t)64 << 30)

void wfs_disk_hex(const struct wfs_disk_key *key, char ret[33])
{
    for (int i = 0; i < 16; i++)
        snprintf(ret + (size_t)2 * i, 3, "%02x", key->bytes[i]);
}

/* ---- the folder ---- */

static bool is_trusted(uid_t owner)
{
    return owner == geteuid() || owner == 0;
}

static int check_folder(const char *path, int fd, struct wfs_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return wfs_error_set(err, errno, "%s/" FOLDER ": %s", path, strerror(errno));
    if (!is_trusted(st.st_uid))
        return wfs_error_set(err, EPERM, "%s/" FOLDER ": belongs to user %u, who could put anything into it; it is for "
                                         "that user", path, (unsigned)st.st_uid);
    if (st.st_mode & S_IWOTH)
        return wfs_error_set(err, EPERM, "%s/" FOLDER ": everybody can write to it (mode %03o)", path,
                             (unsigned)st.st_mode & 0777);
    return 0;
}

int wfs_disk_folder_open(const char *path, bool make, struct wfs_error *err)
{
    int dir WFS_CLEANUP(wfs_close) = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd WFS_CLEANUP(wfs_close) = -1, r;

    if (dir < 0 && errno == ENOENT && make && (mkdir(path, 0700) == 0 || errno == EEXIST)) {
        dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* another may have made it */
        if (dir < 0 && errno == ENOENT)
            return wfs_error_set(err, ENOENT, "%s is a link to what does not exist", path);
    }
    if (dir < 0)
        return wfs_error_set(err, errno, "%s: %s", path, strerror(errno));
    fd = openat(dir, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && make) {
        if (mkdirat(dir, FOLDER, 0700) < 0 && errno != EEXIST)
            return wfs_error_set(err, errno, "%s/" FOLDER ": %s", path, strerror(errno));
        fd = openat(dir, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0 && errno == ENOENT)
        return wfs_error_set(err, ENOENT, "%s is no disk cache: there is no folder " FOLDER " in it", path);
    if (fd < 0)
        return wfs_error_set(err, errno, "%s/" FOLDER ": %s", path, strerror(errno));
    r = check_folder(path, fd, err);
    return r < 0 ? r : wfs_steal_fd(&fd);
}

int wfs_disk_open_at(int folder, const char *name, int flags)
{
    int fd WFS_CLEANUP(wfs_close) = -1, now;
    struct stat st, dir;

    if (fstat(folder, &dir) < 0)
        return -errno;
    /* A FIFO would make a plain open wait. Who may read the folder may read what is made in it. */
    fd = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600 | (dir.st_mode & 0044));
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EBADF;
    if (!is_trusted(st.st_uid) && st.st_uid != dir.st_uid)
        return -EPERM;
    now = fcntl(fd, F_GETFL); /* with O_NONBLOCK io_uring answers EAGAIN instead of waiting */
    if (now >= 0)
        fcntl(fd, F_SETFL, now & ~O_NONBLOCK);
    return wfs_steal_fd(&fd);
}

/* ---- state ---- */

const char *wfs_disk_state_name(enum wfs_disk_state state)
{
    static const char *const names[] = { "on", "read-only", "off" };

    return names[state];
}

bool wfs_disk_is(const struct wfs_disk *d, enum wfs_disk_state worst)
{
    return atomic_load_explicit(&d->state, memory_order_relaxed) <= (int)worst;
}

void wfs_disk_degrade(struct wfs_disk *d, enum wfs_disk_state state, const char *what, int code)
{
    char line[800], reason[sizeof d->reason], path[300];
    bool worse;

    snprintf(reason, sizeof reason, "%s: %s", what, strerror(code));
    pthread_mutex_lock(&d->lock);
    worse = atomic_load(&d->state) < (int)state;
    if (worse) {
        memcpy(d->reason, reason, sizeof reason);
        atomic_store(&d->state, state);
    }
    pthread_mutex_unlock(&d->lock);
    if (!worse || !d->options.on_log)
        return;
    wfs_escape(path, sizeof path, d->options.path, strlen(d->options.path));
    snprintf(line, sizeof line, "disk cache %s: %s (%s)", path,
             state == WFS_DISK_OFF ? "switched off until the next mount"
                                   : "nothing is written until the next mount, what is there is read", reason);
    d->options.on_log(d->options.log_ctx, line);
}

static bool is_passing(int code)
{
    return code == ENOSPC || code == EDQUOT || code == EIO || code == EROFS || code == ESTALE;
}

/* What DIR holds already is room that it may have: else a full one would get half of its room at the next mount. */
uint64_t wfs_disk_limit(const struct wfs_disk *d, uint64_t used)
{
    struct statvfs st;
    uint64_t half;

    if (d->options.limit)
        return d->options.limit;
    if (fstatvfs(d->folder, &st) < 0)
        return DEFAULT_LIMIT;
    half = ((uint64_t)st.f_bavail * st.f_frsize + used) / 2;
    return half < DEFAULT_LIMIT ? half : DEFAULT_LIMIT;
}

static int start_thread(struct wfs_disk *d, void *(*run)(void *disk), const char *name, pthread_t *ret, bool *ret_has,
                        struct wfs_error *err)
{
    sigset_t all, old;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(ret, NULL, run, d);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r != 0)
        return wfs_error_set(err, r, "disk cache: cannot start a thread: %s", strerror(r));
    *ret_has = true;
    pthread_setname_np(*ret, name);
    return 0;
}

/* A DIR that has nothing for us just now is off, not an error. */
static int open_folder(struct wfs_disk *d, struct wfs_error *err)
{
    struct wfs_error why = { 0 };
    int r;

    d->folder = wfs_disk_folder_open(d->options.path, true, &why);
    if (d->folder < 0 && is_passing(why.code)) {
        wfs_disk_degrade(d, WFS_DISK_OFF, "opening it", why.code);
        return 0;
    }
    if (d->folder < 0) {
        wfs_error_set(err, why.code, "disk_cache=%s", why.msg);
        return -why.code;
    }
    if (faccessat(d->folder, ".", W_OK | X_OK, AT_EACCESS) < 0)
        wfs_disk_degrade(d, WFS_DISK_READ_ONLY, "it cannot be written to", errno);
    d->limit = wfs_disk_limit(d, 0); /* until the thread has looked what is there */
    r = start_thread(d, wfs_disk_opener, "wfs-disk-open", &d->opener, &d->has_opener, err);
    return r < 0 ? r : start_thread(d, wfs_disk_thread, "wfs-disk", &d->thread, &d->has_thread, err);
}

int wfs_disk_open(const struct wfs_disk_options *options, struct wfs_disk **ret, struct wfs_error *err)
{
    struct wfs_disk *d = calloc(1, sizeof *d);
    pthread_condattr_t attr;
    int r;

    if (!d)
        return wfs_error_nomem(err);
    d->options = *options;
    d->folder = -1;
    pthread_mutex_init(&d->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&d->work, &attr);
    pthread_cond_init(&d->open_wanted, &attr);
    pthread_condattr_destroy(&attr);
    d->options.path = strdup(options->path);
    r = d->options.path ? open_folder(d, err) : wfs_error_nomem(err);
    if (r < 0) {
        wfs_disk_stop(d);
        wfs_disk_free(d);
        return r;
    }
    *ret = d;
    return 0;
}

static bool join_within(pthread_t thread, int ms)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return pthread_timedjoin_np(thread, NULL, &until) == 0;
}

/* As far as a second suffices what waits is written, and then let go. */
static bool join_thread(struct wfs_disk *d)
{
    if (join_within(d->thread, STOP_MS))
        return true;
    pthread_mutex_lock(&d->lock);
    d->abandon = true;
    pthread_mutex_unlock(&d->lock);
    return join_within(d->thread, HANG_MS);
}

bool wfs_disk_stop(struct wfs_disk *d)
{
    if (!d)
        return true;
    pthread_mutex_lock(&d->lock);
    d->stopping = true;
    pthread_cond_signal(&d->work);
    pthread_cond_signal(&d->open_wanted);
    pthread_mutex_unlock(&d->lock);
    d->has_thread = d->has_thread && !join_thread(d);
    d->has_opener = d->has_opener && !join_within(d->opener, d->has_thread ? 0 : HANG_MS);
    return !d->has_thread && !d->has_opener;
}

void wfs_disk_free(struct wfs_disk *d)
{
    if (!d)
        return;
    wfs_disk_files_close(d);
    wfs_close(&d->folder);
    pthread_cond_destroy(&d->work);
    pthread_cond_destroy(&d->open_wanted);
    pthread_mutex_destroy(&d->lock);
    free((char *)d->options.path);
    free(d);
}

void wfs_disk_stats(struct wfs_disk *d, struct wfs_disk_stats *ret)
{
    pthread_mutex_lock(&d->lock);
    *ret = (struct wfs_disk_stats){ .state = (enum wfs_disk_state)atomic_load(&d->state), .limit = d->limit };
    memcpy(ret->reason, d->reason, sizeof ret->reason);
    pthread_mutex_unlock(&d->lock);
    ret->used = atomic_load(&d->used);
    ret->hits = atomic_load(&d->hits);
    ret->misses = atomic_load(&d->misses);
    ret->damaged = atomic_load(&d->damaged);
    ret->bytes_read = atomic_load(&d->bytes_read);
    ret->tiles_written = atomic_load(&d->tiles_written);
    ret->bytes_written = atomic_load(&d->bytes_written);
    ret->dropped = atomic_load(&d->dropped);
    ret->views_completed = atomic_load(&d->views_completed);
    ret->views_evicted = atomic_load(&d->views_evicted);
}
