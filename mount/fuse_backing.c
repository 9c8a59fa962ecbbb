/*
 * Passthrough (Linux 6.9, libfuse 3.17, CAP_SYS_ADMIN): a file of the mount that is a file on disk as a whole is read
 * by the kernel from there, at that file's speed and from its pages. Each open says which file that is, by an id that
 * stands for an open file. An inode has one id as long as anybody has it open, closed behind the last. Without all
 * that, and where a file does not allow it, everything is read through the mount; so are files on filesystems that may
 * wait for somebody (FUSE, NFS): in the kernel's own open of such a file a reader hangs with it, and no signal lets it
 * go.
 *
 * The bytes of a generation: an id refers to the open file of that generation, so a file that is replaced stays what it
 * was for those who have it open. What is written into the file in place they see at once, as with the file itself.
 */
#include "fuse_skin.h"

#include "base/cleanup.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#if defined FUSE_CAP_PASSTHROUGH && defined FUSE_DEV_IOC_BACKING_OPEN
#define HAVE_PASSTHROUGH true
#else
#define HAVE_PASSTHROUGH false
#endif

/* What all that have an inode open share. */
struct wfs_backing {
    struct wfs_backing *next; /* in its bucket */
    fuse_ino_t ino;
    unsigned n_handles; /* not fewer than the kernel counts; protected by lock */
    int32_t id;         /* 0: read through the mount */
    struct wfs_skin *skin;
    struct wfs_job job; /* closes the id */
};

enum { N_BUCKETS = 1024 };
enum state { OFF, UNKNOWN, ON };

struct wfs_backings {
    struct fuse_session *session;
    bool local;           /* the source's files can be read that way */
    bool stacked;         /* the source's filesystem lies on another one itself */
    pthread_mutex_t lock; /* a leaf; protects what follows */
    enum state state;
    struct wfs_backing *buckets[N_BUCKETS];
};

/* --- what the kernel is asked --- */

#if HAVE_PASSTHROUGH

/* The id of an open file, or a negative errno. Waits for nobody. */
static int open_id(struct wfs_backings *b, int fd)
{
    struct fuse_backing_map map = { .fd = fd };
    int id = ioctl(fuse_session_fd(b->session), FUSE_DEV_IOC_BACKING_OPEN, &map);

    if (id == 0) /* which no open could name */
        return -ENOSYS;
    return id < 0 ? -errno : id;
}

/* The file's last reference may be dropped here, and that may wait. */
static void close_id(struct wfs_backings *b, int32_t id)
{
    uint32_t value = (uint32_t)id;

    if (ioctl(fuse_session_fd(b->session), FUSE_DEV_IOC_BACKING_CLOSE, &value) < 0)
        wfs_log(WFS_LOG_DEBUG, "passthrough: closing an id: %s", strerror(errno));
}

static bool negotiate(const struct wfs_backings *b, struct fuse_conn_info *conn)
{
    if (!(conn->capable & FUSE_CAP_PASSTHROUGH))
        return false;
    conn->want |= FUSE_CAP_PASSTHROUGH;
    /* A mount that may lie on stacked files cannot be a layer of an overlay itself: only where the source needs it. */
    conn->max_backing_stack_depth = b->stacked ? 1 : 0;
    return true;
}

static void reply_with(const struct wfs_backing *e, struct fuse_file_info *fi)
{
    fi->backing_id = e->id;
}

#else

static int open_id(struct wfs_backings *b, int fd)
{
    (void)b, (void)fd;
    return -ENOSYS;
}

static void close_id(struct wfs_backings *b, int32_t id)
{
    (void)b, (void)id;
}

static bool negotiate(const struct wfs_backings *b, struct fuse_conn_info *conn)
{
    (void)b, (void)conn;
    return false;
}

static void reply_with(const struct wfs_backing *e, struct fuse_file_info *fi)
{
    (void)e, (void)fi;
}

#endif

static const char *why_not(int error)
{
    switch (-error) {
    case EPERM:
        return "it takes CAP_SYS_ADMIN";
    case ELOOP:
        return "the source's filesystem is stacked too deep";
    case EOPNOTSUPP:
    case EINVAL:
        return "the source's filesystem does not allow it";
    case ENOMEM:
        return "out of memory";
    default:
        return "the kernel refuses it";
    }
}

/* --- at the start --- */

static void set_state(struct wfs_skin *skin, enum state state, const char *reason)
{
    struct wfs_backings *b = skin->backings;

    pthread_mutex_lock(&b->lock);
    b->state = state;
    pthread_mutex_unlock(&b->lock);
    wfs_fs_set_passthrough(skin->fs, state == ON, reason);
    wfs_log(WFS_LOG_DEBUG, "passthrough: %s", state == ON ? "yes" : reason);
}

void wfs_passthrough_prepare(struct wfs_skin *skin, const struct wfs_options *options)
{
    struct wfs_backings *b;

    if (!HAVE_PASSTHROUGH || options->no_passthrough) {
        wfs_fs_set_passthrough(skin->fs, false, options->no_passthrough ? "passthrough=no"
                                                                        : "built with a libfuse before 3.17");
        return;
    }
    b = calloc(1, sizeof *b);
    if (!b) {
        wfs_fs_set_passthrough(skin->fs, false, why_not(-ENOMEM));
        return;
    }
    pthread_mutex_init(&b->lock, NULL);
    b->state = UNKNOWN;
    skin->backings = b;
    wfs_fs_set_passthrough(skin->fs, false, "not known yet");
    b->local = wfs_fs_source_is_local(skin->fs, &b->stacked);
}

void wfs_backings_negotiate(struct wfs_skin *skin, struct fuse_conn_info *conn)
{
    if (skin->backings && !negotiate(skin->backings, conn))
        set_state(skin, OFF, "this kernel does not have it (Linux 6.9 does)");
}

void wfs_passthrough_start(struct wfs_skin *skin, struct fuse_session *session)
{
    WFS_CLEANUP(wfs_close) int fd = -1;
    struct wfs_backings *b = skin->backings;
    bool unknown;
    int id;

    if (!b)
        return;
    b->session = session;
    pthread_mutex_lock(&b->lock);
    unknown = b->state == UNKNOWN;
    pthread_mutex_unlock(&b->lock);
    if (!unknown)
        return;
    fd = memfd_create("weightfs", MFD_CLOEXEC);
    id = fd < 0 ? -errno : open_id(b, fd);
    set_state(skin, id > 0 ? ON : OFF, id > 0 ? "" : why_not(id));
    if (id > 0 && !b->local) /* the disk cache's files may be */
        wfs_fs_set_passthrough(skin->fs, false, "the source is not on a filesystem of this machine");
    if (id > 0)
        close_id(b, id);
}

void wfs_backings_free(struct wfs_skin *skin)
{
    struct wfs_backings *b = WFS_STEAL(skin->backings);

    if (!b)
        return;
    pthread_mutex_destroy(&b->lock);
    free(b);
}

/* --- opening and closing --- */

static struct wfs_backing **bucket_of(struct wfs_backings *b, fuse_ino_t ino)
{
    return &b->buckets[ino % N_BUCKETS]; /* ids of nodes count up */
}

/* Locked. */
static struct wfs_backing *find(struct wfs_backings *b, fuse_ino_t ino)
{
    struct wfs_backing *e = *bucket_of(b, ino);

    while (e && e->ino != ino)
        e = e->next;
    return e;
}

/* Locked. NULL when out of memory. */
static struct wfs_backing *add(struct wfs_skin *skin, fuse_ino_t ino)
{
    struct wfs_backing **at = bucket_of(skin->backings, ino), *e = calloc(1, sizeof *e);

    if (!e)
        return NULL;
    e->ino = ino;
    e->skin = skin;
    e->next = *at;
    *at = e;
    return e;
}

/* Locked. */
static bool enter(struct wfs_handle *h, struct wfs_backing *e)
{
    h->backing = e;
    if (e)
        e->n_handles++;
    return e != NULL;
}

bool wfs_backing_join(struct wfs_request *r)
{
    struct wfs_backings *b = r->skin->backings;
    struct wfs_backing *e;
    bool known = true;

    if (!b)
        return true;
    pthread_mutex_lock(&b->lock);
    if (b->state != OFF) {
        e = find(b, r->ino);
        /* Who opens a file now through the mount keeps others from opening it otherwise, so that is remembered, too. */
        if (!e && (b->state == UNKNOWN || !wfs_node_may_be_whole(r->handle->node)))
            e = add(r->skin, r->ino);
        known = enter(r->handle, e);
    }
    pthread_mutex_unlock(&b->lock);
    return known;
}

/* Else it is read through the mount: whoever opens it with O_DIRECT is refused passthrough, and beside it all else. */
static bool can_direct(int file)
{
    char path[40];
    int fd;

    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int wfs_backing_take(struct wfs_request *r)
{
    struct wfs_backings *b = r->skin->backings;
    struct wfs_whole whole;
    bool have = wfs_node_whole_get(r->handle->node, &whole) == 0, direct = have && can_direct(whole.fd), entered;
    struct wfs_backing *e;
    int id = 0;

    pthread_mutex_lock(&b->lock);
    e = find(b, r->ino);
    if (!e) {
        e = add(r->skin, r->ino);
        if (e && direct && b->state == ON)
            id = open_id(b, whole.fd);
        if (e && id > 0)
            e->id = id;
    }
    entered = enter(r->handle, e);
    pthread_mutex_unlock(&b->lock);
    if (have)
        wfs_whole_put(&whole);
    if (id < 0)
        wfs_fs_set_passthrough(r->skin->fs, true, why_not(id));
    return entered ? 0 : -ENOMEM;
}

void wfs_backing_reply(const struct wfs_handle *h, struct fuse_file_info *fi)
{
    const struct wfs_backing *e = h->backing;

    if (!e || e->id == 0)
        return;
    fi->keep_cache = 0; /* there are no pages of ours, and the kernel takes no other word */
    reply_with(e, fi);
    wfs_fs_count_passthrough(h->skin->fs);
}

static void run_close(struct wfs_job *job, void *scratch)
{
    struct wfs_backing *e = (struct wfs_backing *)((char *)job - offsetof(struct wfs_backing, job));
    struct wfs_skin *skin = e->skin;

    (void)scratch;
    close_id(skin->backings, e->id);
    free(e);
    wfs_skin_finish(skin);
}

void wfs_backing_leave(struct wfs_handle *h)
{
    struct wfs_backing *e = WFS_STEAL(h->backing), **at;
    struct wfs_backings *b = h->skin->backings;
    bool last;

    if (!e)
        return;
    if (!b) { /* the connection has ended, and every id with it */
        if (--e->n_handles == 0)
            free(e);
        return;
    }
    pthread_mutex_lock(&b->lock);
    last = --e->n_handles == 0;
    if (last) {
        at = bucket_of(b, e->ino);
        while (*at != e)
            at = &(*at)->next;
        *at = e->next;
    }
    pthread_mutex_unlock(&b->lock);
    if (last && e->id > 0) {
        wfs_skin_begin(h->skin);
        e->job = (struct wfs_job){ .priority = WFS_FOREGROUND, .run = run_close };
        wfs_pool_submit(wfs_engine_pool(h->skin->engine), &e->job);
    } else if (last) {
        free(e);
    }
}
