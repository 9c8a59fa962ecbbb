/* A view's files: opened on first use, proved, and opened again when another has taken them away. */
#include "disk_private.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>

enum { MAX_OPEN = 128 /* views with files: two descriptors each */ };

void wfs_disk_name(const struct wfs_disk_view *v, const char *ending, char ret[64])
{
    snprintf(ret, 64, "%s.%s", v->hex, ending);
}

int wfs_disk_read_at(int fd, uint64_t offset, void *buf, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        done += (size_t)n;
    }
    return 0;
}

int wfs_disk_write_at(int fd, uint64_t offset, const void *buf, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, (const char *)buf + done, len - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    return 0;
}

/* ---- references ---- */

struct wfs_disk_files *wfs_disk_files_ref(struct wfs_disk_files *f)
{
    atomic_fetch_add(&f->refs, 1);
    return f;
}

void wfs_disk_files_put(struct wfs_disk_files *f)
{
    struct wfs_disk *d;

    if (!f || atomic_fetch_sub(&f->refs, 1) != 1)
        return;
    d = f->disk;
    pthread_mutex_lock(&d->lock);
    f->next = d->closing;
    d->closing = f;
    pthread_cond_signal(&d->work);
    pthread_mutex_unlock(&d->lock);
}

void wfs_disk_files_close(struct wfs_disk *d)
{
    struct wfs_disk_files *f;

    pthread_mutex_lock(&d->lock);
    f = WFS_STEAL(d->closing);
    pthread_mutex_unlock(&d->lock);
    while (f) {
        struct wfs_disk_files *next = f->next;

        wfs_close(&f->data);
        wfs_close(&f->sums);
        free(f);
        f = next;
    }
}

int wfs_disk_files_data(const struct wfs_disk_files *f)
{
    return f->data;
}

int wfs_disk_files_sums(const struct wfs_disk_files *f)
{
    return f->sums;
}

void wfs_disk_files_drop(struct wfs_disk_view *v)
{
    struct wfs_disk *d = v->disk;
    struct wfs_disk_files *files;

    pthread_mutex_lock(&d->lock);
    pthread_mutex_lock(&v->lock);
    files = WFS_STEAL(v->files);
    v->verified = false;
    pthread_mutex_unlock(&v->lock);
    d->n_open -= files != NULL;
    pthread_mutex_unlock(&d->lock);
    wfs_disk_files_put(files);
}

/* ---- opening ---- */

static uint64_t sums_size(const struct wfs_disk_view *v)
{
    return wfs_disk_record_offset(v->shape.n_tiles + 1);
}

/* Gives what is written under a passing name its own, unless another was first. */
static int name_it(int folder, const char *passing, const char *name)
{
    int r = linkat(folder, passing, folder, name, 0) < 0 ? -errno : 0;

    if (r == 0 || r == -EEXIST) {
        unlinkat(folder, passing, 0);
        return 0;
    }
    /* No hard links here: of two who come at the same time, one writes into the void for a while. */
    r = renameat(folder, passing, folder, name) < 0 ? -errno : 0;
    if (r < 0)
        unlinkat(folder, passing, 0);
    return r;
}

static int make_sums(struct wfs_disk_view *v, const char *name)
{
    int folder = v->disk->folder, fd WFS_CLEANUP(wfs_close) = -1, r;
    struct wfs_disk_head head = { .key = v->shape.key, .size = v->shape.size, .n_tiles = v->shape.n_tiles,
                                  .host_only = v->shape.host_only };
    uint8_t bytes[WFS_DISK_HEAD];
    char passing[64];
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) < 0)
        number = wfs_now_ns();
    snprintf(passing, sizeof passing, "%s.%016llx.tmp", v->hex, (unsigned long long)number);
    snprintf(head.model, sizeof head.model, "%s", v->shape.model);
    snprintf(head.name, sizeof head.name, "%s", v->shape.name);
    wfs_disk_head_put(&head, bytes);
    fd = wfs_disk_open_at(folder, passing, O_RDWR | O_CREAT | O_EXCL);
    if (fd < 0)
        return fd;
    r = wfs_disk_write_at(fd, 0, bytes, sizeof bytes);
    if (r == 0 && ftruncate(fd, (off_t)sums_size(v)) < 0)
        r = -errno;
    if (r == 0)
        return name_it(folder, passing, name);
    unlinkat(folder, passing, 0);
    return r;
}

/* Whether the file is this view's: 0, -EBADMSG when it is not, or another errno. */
static int prove_sums(const struct wfs_disk_view *v, int fd)
{
    uint8_t bytes[WFS_DISK_HEAD];
    struct wfs_disk_head head;
    struct stat st;
    int r;

    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t)st.st_size != sums_size(v))
        return -EBADMSG;
    r = wfs_disk_read_at(fd, 0, bytes, sizeof bytes);
    if (r < 0)
        return r == -ENODATA ? -EBADMSG : r;
    if (!wfs_disk_head_get(bytes, &head) || memcmp(&head.key, &v->shape.key, sizeof head.key) != 0 ||
        head.size != v->shape.size || head.n_tiles != v->shape.n_tiles)
        return -EBADMSG;
    return 0;
}

/* What is under our names and is not ours goes away: it can only be an accident. */
static bool is_foreign(int r)
{
    return r == -EBADMSG || r == -ELOOP || r == -EBADF || r == -EPERM || r == -EISDIR || r == -ENXIO || r == -EMLINK;
}

static void take_away(struct wfs_disk_view *v, const char *name)
{
    atomic_fetch_add(&v->disk->damaged, 1);
    unlinkat(v->disk->folder, name, 0);
}

static int open_sums(struct wfs_disk_view *v, bool writable)
{
    char name[64];
    int r = -ENOENT;

    wfs_disk_name(v, "sums", name);
    for (int i = 0; i < 3; i++) {
        int fd = wfs_disk_open_at(v->disk->folder, name, writable ? O_RDWR : O_RDONLY);

        r = fd < 0 ? fd : prove_sums(v, fd);
        if (r == 0)
            return fd;
        wfs_close(&fd);
        if (!writable)
            return r;
        if (is_foreign(r))
            take_away(v, name);
        else if (r != -ENOENT)
            return r;
        r = make_sums(v, name);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : -EBADF; /* what is in the way does not go: a folder, say */
}

static int open_sized(struct wfs_disk_view *v, const char *name, int flags, bool grow)
{
    int fd WFS_CLEANUP(wfs_close) = wfs_disk_open_at(v->disk->folder, name, flags);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if ((flags & O_ACCMODE) == O_RDWR && st.st_nlink > 1) /* it would be written to somebody's file elsewhere */
        return -EMLINK;
    if ((uint64_t)st.st_size != v->shape.size) {
        if (!grow)
            return -EBADMSG;
        if (ftruncate(fd, (off_t)v->shape.size) < 0)
            return -errno;
    }
    return wfs_steal_fd(&fd);
}

static int open_whole(struct wfs_disk_view *v, bool writable)
{
    char name[64];
    int fd;

    wfs_disk_name(v, "whole", name);
    fd = open_sized(v, name, writable ? O_RDWR : O_RDONLY, false);
    if (fd < 0 && writable && is_foreign(fd)) {
        take_away(v, name);
        return -ENOENT;
    }
    return fd;
}

/* The tiles: in the whole file, or in the part. */
static int open_data(struct wfs_disk_view *v, struct wfs_disk_files *f)
{
    int part, again;
    char name[64];

    f->data = open_whole(v, f->writable);
    f->whole = f->data >= 0;
    if (f->whole || f->data != -ENOENT)
        return f->data < 0 ? f->data : 0;
    wfs_disk_name(v, "part", name);
    part = open_sized(v, name, f->writable ? O_RDWR : O_RDONLY, f->writable);
    if (part < 0 && f->writable && (part == -ENOENT || is_foreign(part))) {
        if (part != -ENOENT)
            take_away(v, name);
        part = open_sized(v, name, O_RDWR | O_CREAT, true);
        again = open_whole(v, true); /* another may have completed it between the two looks */
        if (again >= 0) {
            wfs_close(&part);
            unlinkat(v->disk->folder, name, 0);
            f->whole = true;
            part = again;
        }
    }
    f->data = part;
    return part < 0 ? part : 0;
}

static struct wfs_disk_files *open_files(struct wfs_disk_view *v, int *ret_why)
{
    struct wfs_disk_files *f = calloc(1, sizeof *f);

    *ret_why = -ENOMEM;
    if (!f)
        return NULL;
    atomic_init(&f->refs, 1);
    f->disk = v->disk;
    f->data = -1;
    f->writable = wfs_disk_is(v->disk, WFS_DISK_ON);
    f->sums = open_sums(v, f->writable);
    *ret_why = f->sums < 0 ? f->sums : open_data(v, f);
    if (*ret_why == 0)
        return f;
    f->sums = f->sums < 0 ? -1 : f->sums;
    f->data = f->data < 0 ? -1 : f->data;
    wfs_disk_files_put(f);
    return NULL;
}

static void cannot_open(struct wfs_disk *d, int why)
{
    if (why == -ENOSPC || why == -EDQUOT || why == -EROFS || why == -EACCES || why == -EFBIG)
        wfs_disk_degrade(d, WFS_DISK_READ_ONLY, "a file cannot be made", -why);
    else if (why != -ENOENT && why != -ENOMEM && why != -EMFILE && why != -ENFILE && !is_foreign(why))
        wfs_disk_degrade(d, WFS_DISK_OFF, "a file cannot be opened", -why);
}

/* Locked (the disk). The view whose files were opened first, when there are many. */
static struct wfs_disk_view *one_too_many(struct wfs_disk *d)
{
    struct wfs_disk_view *oldest = NULL;

    for (struct wfs_disk_view *v = d->n_open > MAX_OPEN ? d->views : NULL; v; v = v->next) {
        bool open;

        pthread_mutex_lock(&v->lock);
        open = v->files != NULL;
        pthread_mutex_unlock(&v->lock);
        if (open && (!oldest || v->opened_use < oldest->opened_use))
            oldest = v;
    }
    return oldest ? wfs_disk_view_ref(oldest) : NULL;
}

static void keep_files(struct wfs_disk_view *v, struct wfs_disk_files *f)
{
    struct wfs_disk *d = v->disk;
    struct wfs_disk_view *old;

    pthread_mutex_lock(&d->lock);
    pthread_mutex_lock(&v->lock);
    v->opening = false;
    v->failed_ns = f ? 0 : wfs_now_ns();
    pthread_cond_broadcast(&v->opened);
    if (f) {
        v->files = wfs_disk_files_ref(f);
        v->scan = true; /* all may be there already */
        v->opened_use = ++d->opens;
    }
    pthread_mutex_unlock(&v->lock);
    d->n_open += f != NULL;
    d->unfinished = d->unfinished || f;
    old = one_too_many(d);
    if (f)
        pthread_cond_signal(&d->work);
    pthread_mutex_unlock(&d->lock);
    if (old) {
        wfs_disk_files_drop(old);
        wfs_disk_view_unref(old);
    }
}

void wfs_disk_files_open(struct wfs_disk_view *v)
{
    struct wfs_disk_files *f = NULL;
    int why = 0;

    if (wfs_disk_is(v->disk, WFS_DISK_READ_ONLY))
        f = open_files(v, &why);
    if (!f && why < 0)
        cannot_open(v->disk, why);
    keep_files(v, f);
    wfs_disk_files_put(f);
}

/* ---- records ---- */

uint64_t wfs_disk_record_offset(uint64_t index)
{
    return WFS_DISK_HEAD + index * WFS_DISK_RECORD;
}

bool wfs_disk_record_is_empty(const uint8_t record[WFS_DISK_RECORD])
{
    static const uint8_t empty[WFS_DISK_RECORD];

    return memcmp(record, empty, sizeof empty) == 0;
}

int wfs_disk_record_now(const struct wfs_disk_files *f, uint64_t index, uint8_t ret[WFS_DISK_RECORD])
{
    struct iovec iov = { ret, WFS_DISK_RECORD };
    ssize_t n = preadv2(f->sums, &iov, 1, (off_t)wfs_disk_record_offset(index), RWF_NOWAIT);

    if (n != WFS_DISK_RECORD)
        return -EAGAIN;
    return !wfs_disk_record_is_empty(ret);
}

bool wfs_disk_check(struct wfs_disk_view *v, uint64_t index, const uint8_t record[WFS_DISK_RECORD], const void *bytes,
                    size_t len)
{
    struct wfs_disk *d = v->disk;
    uint8_t sum[WFS_DISK_RECORD];
    bool good;

    wfs_disk_sum(&v->shape.key, index, bytes, len, sum);
    good = memcmp(sum, record, sizeof sum) == 0;
    atomic_fetch_add_explicit(good ? &d->hits : &d->damaged, 1, memory_order_relaxed);
    if (good) {
        atomic_fetch_add_explicit(&d->bytes_read, len, memory_order_relaxed);
        atomic_store_explicit(&v->used, true, memory_order_relaxed);
    }
    return good;
}

void wfs_disk_note_miss(struct wfs_disk_view *v)
{
    atomic_fetch_add_explicit(&v->disk->misses, 1, memory_order_relaxed);
}

/* What the disk says when the range is read again: 0, -ENODATA (the file ends before), or the disk's error. */
static int read_again(int fd, uint64_t offset, size_t len)
{
    uint8_t buf[16384];
    int r = 0;

    for (size_t at = 0; at < len && r == 0; at += sizeof buf)
        r = wfs_disk_read_at(fd, offset + at, buf, len - at < sizeof buf ? len - at : sizeof buf);
    return r;
}

void wfs_disk_read_failed(struct wfs_disk_view *v, int fd, uint64_t offset, size_t len, int result)
{
    if (result == -ECANCELED)
        return;
    if (result != -ESTALE) /* a network filesystem: the file is another by now */
        result = read_again(fd, offset, len);
    if (result == 0 || result == -ENODATA || result == -ESTALE) { /* cut by somebody: mended when it is opened again */
        atomic_fetch_add(&v->disk->damaged, 1);
        wfs_disk_files_drop(v);
    } else {
        wfs_disk_degrade(v->disk, WFS_DISK_OFF, "a read failed", -result);
    }
}

/* ---- views ---- */

int wfs_disk_view_new(struct wfs_disk *d, const struct wfs_disk_shape *shape, struct wfs_disk_view **ret)
{
    pthread_condattr_t monotonic;
    struct wfs_disk_view *v;

    if (shape->n_tiles > WFS_DISK_MAX_TILES || shape->size > INT64_MAX)
        return -EFBIG;
    v = calloc(1, sizeof *v);
    if (!v)
        return -ENOMEM;
    v->shape = *shape;
    v->shape.model = strndup(shape->model, WFS_DISK_LABEL);
    v->shape.name = strndup(shape->name, WFS_DISK_LABEL);
    if (!v->shape.model || !v->shape.name) {
        free((char *)v->shape.model);
        free((char *)v->shape.name);
        free(v);
        return -ENOMEM;
    }
    atomic_init(&v->refs, 1);
    v->disk = d;
    wfs_disk_hex(&shape->key, v->hex);
    pthread_mutex_init(&v->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&v->opened, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_lock(&d->lock);
    v->next = d->views;
    if (v->next)
        v->next->prev = v;
    d->views = v;
    pthread_mutex_unlock(&d->lock);
    *ret = v;
    return 0;
}

struct wfs_disk_view *wfs_disk_view_ref(struct wfs_disk_view *v)
{
    atomic_fetch_add(&v->refs, 1);
    return v;
}

void wfs_disk_view_unref(struct wfs_disk_view *v)
{
    struct wfs_disk *d;

    if (!v)
        return;
    d = v->disk;
    pthread_mutex_lock(&d->lock); /* the disk's thread takes references of what it finds in the list */
    if (atomic_fetch_sub(&v->refs, 1) != 1) {
        pthread_mutex_unlock(&d->lock);
        return;
    }
    *(v->prev ? &v->prev->next : &d->views) = v->next;
    if (v->next)
        v->next->prev = v->prev;
    d->n_open -= v->files != NULL;
    pthread_mutex_unlock(&d->lock);
    wfs_disk_files_put(v->files);
    v->shape.content->free(v->shape.ctx);
    pthread_cond_destroy(&v->opened);
    pthread_mutex_destroy(&v->lock);
    free((char *)v->shape.model);
    free((char *)v->shape.name);
    free(v);
}
