/*
 * A file is known by its stamps, and a stamp is as coarse as the clock of its file system: two writes within one tick
 * have the same. What was written so shortly before it was listed may be written again unseen. And a write is stamped
 * when it begins: what it has not reached yet, or a mapping stores later into pages that are dirty already, changes
 * under the same stamps. So what was written lately and is still open for writing has not settled, either.
 */
#include "source_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>

enum { FINE_NS = 20000000 }; /* kernels stamp by their tick: 10 ms at the most, and some room */
/* Whole seconds: ext4 with small inodes, ext3; every other one: vfat. */
static const int64_t COARSE_NS = INT64_C(2000000000) + FINE_NS;
/* Who has a file open for writing and has not written for so long is not believed to be in the middle of it. */
static const int64_t LATELY_NS = INT64_C(600000000000), WRITER_NS = INT64_C(2000000000);
enum { WRITTEN_AT_ONCE = 65536 }; /* bytes: done long before the stamp is old */

static int64_t ns_between(const struct timespec *from, const struct timespec *to)
{
    int64_t s = (int64_t)to->tv_sec - from->tv_sec;

    if (s > 1000 || s < -1000) /* not near; and no product too large */
        return s * 1000000;
    return s * 1000000000 + (to->tv_nsec - from->tv_nsec);
}

int64_t wfs_stamp_open_ns(const struct timespec *stamp, const struct timespec *now)
{
    int64_t age = ns_between(stamp, now), open = stamp->tv_nsec ? FINE_NS : COARSE_NS;

    if (age < -open) /* another machine's clock: nothing can be told from it */
        return 0;
    return age < open ? open - age : 0;
}

static void take_later(int64_t *open, const struct timespec *stamp, const struct timespec *now)
{
    int64_t ns = wfs_stamp_open_ns(stamp, now);

    if (ns > *open)
        *open = ns;
}

int64_t wfs_source_open_ns(const struct wfs_source *s, const struct timespec *now)
{
    int64_t open = 0;

    if (!s->only)
        take_later(&open, &s->root.mtime, now);
    for (size_t i = 0; i < s->n_dirs; i++)
        take_later(&open, &s->dirs[i].mtime, now);
    for (size_t i = 0; i < s->n_files; i++)
        take_later(&open, &s->files[i].identity.ctime, now);
    return open;
}

static struct timespec time_after(const struct timespec *t, int64_t ns)
{
    int64_t sum = t->tv_nsec + ns;

    return (struct timespec){ t->tv_sec + (time_t)(sum / 1000000000), (long)(sum % 1000000000) };
}

/*
 * Whether somebody has the file open for writing: then nobody is given a lease to read it. False when it cannot be told
 * (a file of another owner). A writer that comes meanwhile waits for the moment that the lease is held, and we are sent
 * a signal: one that does nothing.
 */
static bool is_open_for_writing(int fd)
{
    bool open;

    if (fcntl(fd, F_SETSIG, SIGURG) < 0)
        return false;
    open = fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return open;
}

/* Notes when it is looked again whether writers have ended, if there are any. */
static void note_writers(struct wfs_source *s)
{
    struct timespec now;
    int64_t longest = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    for (size_t i = 0; i < s->n_files; i++) {
        struct wfs_source_file *f = &s->files[i];
        int64_t age = ns_between(&f->identity.ctime, &now), ns = age / 4 > WRITER_NS ? age / 4 : WRITER_NS;
        int fd;

        if (f->identity.size < WRITTEN_AT_ONCE || age > LATELY_NS || ns <= longest)
            continue;
        fd = wfs_source_fd_get(s, f, NULL);
        if (fd < 0)
            continue;
        if (wfs_source_file_is_local(s, f) && is_open_for_writing(fd)) /* NFS refuses leases for reasons of its own */
            longest = ns;
        wfs_source_fd_put(s, f);
    }
    if (longest > 0)
        s->unsettled_until = time_after(&now, longest);
}

bool wfs_source_settle(struct wfs_source *s)
{
    struct timespec now, until;
    int64_t open;

    clock_gettime(CLOCK_REALTIME, &now);
    open = wfs_source_open_ns(s, &now);
    if (open == 0) {
        note_writers(s);
        return false;
    }
    until = time_after(&now, open);
    if (open > 2 * FINE_NS) {
        s->unsettled_until = until;
        return false;
    }
    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 0, (long)open }, NULL);
    if (wfs_source_changed(s) != -ESTALE) {
        note_writers(s);
        return false;
    }
    s->unsettled_until = until; /* past: for the caller that does not list it again */
    return true;
}

bool wfs_source_has_settled(const struct wfs_source *s)
{
    struct timespec now;

    if (s->unsettled_until.tv_sec == 0)
        return false;
    clock_gettime(CLOCK_REALTIME, &now);
    return ns_between(&s->unsettled_until, &now) >= 0;
}
