/* Whole files: looking whether every tile is there, filling in what is in no tile, and proving all of it. */
#include "disk_private.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { RECORDS = 4096 /* read at once */ };

static struct wfs_disk_files *files_of(struct wfs_disk_view *v)
{
    struct wfs_disk_files *f;

    pthread_mutex_lock(&v->lock);
    f = v->files ? wfs_disk_files_ref(v->files) : NULL;
    pthread_mutex_unlock(&v->lock);
    return f;
}

static bool has_every_record(const struct wfs_disk_view *v, const struct wfs_disk_files *f, uint8_t *buf)
{
    for (uint64_t at = 0; at < v->shape.n_tiles;) {
        uint64_t left = v->shape.n_tiles - at, n = left < RECORDS ? left : RECORDS;

        if (wfs_disk_read_at(f->sums, wfs_disk_record_offset(at), buf, (size_t)n * WFS_DISK_RECORD) < 0)
            return false;
        for (uint64_t i = 0; i < n; i++) {
            if (wfs_disk_record_is_empty(buf + i * WFS_DISK_RECORD))
                return false;
        }
        at += n;
    }
    return true;
}

/* Forgets a tile that is not what its record says: the next reader makes it anew. */
static void forget(struct wfs_disk_view *v, const struct wfs_disk_files *f, uint64_t index)
{
    static const uint8_t empty[WFS_DISK_RECORD];

    atomic_fetch_add(&v->disk->damaged, 1);
    if (f->writable)
        wfs_disk_write_at(f->sums, wfs_disk_record_offset(index), empty, sizeof empty);
}

/* A walk through a view: its tiles, and between them the rest. */
struct walk {
    struct wfs_disk_view *view;
    const struct wfs_disk_files *files;
    uint8_t *buf; /* WFS_DISK_PIECE */
    size_t room;  /* of buf: it grows to the largest tile */
    XXH3_state_t *rest;
    bool fill; /* the rest is asked of the owner and written; else it is read */
};

static int walk_tile(struct walk *w, uint64_t index, uint64_t offset, uint64_t len)
{
    uint8_t record[WFS_DISK_RECORD], sum[WFS_DISK_RECORD];
    int r;

    if (len > w->room) {
        free(w->buf);
        w->buf = len <= SIZE_MAX / 2 ? malloc((size_t)len) : NULL;
        w->room = w->buf ? (size_t)len : 0;
        if (!w->buf)
            return -ENOMEM;
    }
    r = wfs_disk_read_at(w->files->sums, wfs_disk_record_offset(index), record, sizeof record);
    if (r == 0)
        r = wfs_disk_read_at(w->files->data, offset, w->buf, (size_t)len);
    if (r < 0)
        return r;
    wfs_disk_sum(&w->view->shape.key, index, w->buf, (size_t)len, sum);
    if (memcmp(record, sum, sizeof sum) == 0)
        return 0;
    if (!wfs_disk_record_is_empty(record))
        forget(w->view, w->files, index);
    return -EBADMSG;
}

static int walk_rest(struct walk *w, uint64_t from, uint64_t to)
{
    const struct wfs_disk_shape *s = &w->view->shape;

    while (from < to) {
        size_t n = to - from < w->room ? (size_t)(to - from) : w->room;
        int r = w->fill ? s->content->rest(s->ctx, from, w->buf, n) : wfs_disk_read_at(w->files->data, from, w->buf, n);

        if (r == 0 && w->fill)
            r = wfs_disk_write_at(w->files->data, from, w->buf, n);
        if (r < 0)
            return r;
        XXH3_128bits_update(w->rest, w->buf, n);
        from += n;
        wfs_disk_pump(w->view->disk);
        if (wfs_disk_ending(w->view->disk))
            return -ECANCELED;
    }
    return 0;
}

static int walk_all(struct walk *w)
{
    const struct wfs_disk_shape *s = &w->view->shape;
    uint64_t at = 0, offset, len;
    int r = 0;

    for (uint64_t i = 0; i < s->n_tiles && r == 0; i++) {
        s->content->place(s->ctx, i, &offset, &len);
        r = walk_rest(w, at, offset);
        if (r == 0)
            r = walk_tile(w, i, offset, len);
        at = offset + len;
        wfs_disk_pump(w->view->disk);
        if (wfs_disk_ending(w->view->disk))
            return -ECANCELED;
    }
    return r < 0 ? r : walk_rest(w, at, s->size);
}

/* 0 and the checksum of the rest when every tile is right. */
static int walk(struct wfs_disk_view *v, const struct wfs_disk_files *f, bool fill, uint8_t ret_rest[WFS_DISK_RECORD])
{
    struct walk w = { .view = v, .files = f, .buf = malloc(WFS_DISK_PIECE), .room = WFS_DISK_PIECE,
                      .rest = XXH3_createState(), .fill = fill };
    XXH128_canonical_t sum;
    int r = -ENOMEM;

    if (w.buf && w.rest) {
        XXH3_128bits_reset_withSeed(w.rest, wfs_disk_seed(&v->shape.key, v->shape.n_tiles));
        r = walk_all(&w);
        XXH128_canonicalFromHash(&sum, XXH3_128bits_digest(w.rest));
        memcpy(ret_rest, sum.digest, WFS_DISK_RECORD);
    }
    XXH3_freeState(w.rest);
    free(w.buf);
    return r;
}

/* Gives the file its last name. Another may have been first; or has pruned it, and begun one of that name anew. */
static int name_whole(struct wfs_disk_view *v, const struct wfs_disk_files *f)
{
    char part[64], whole[64];
    int folder = v->disk->folder;
    struct stat ours, named;

    wfs_disk_name(v, "part", part);
    wfs_disk_name(v, "whole", whole);
    if (fstat(f->data, &ours) < 0 || fstatat(folder, part, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (ours.st_dev != named.st_dev || ours.st_ino != named.st_ino)
        return -ESTALE;
    if (renameat(folder, part, folder, whole) < 0)
        return -errno;
    return fsync(folder) < 0 ? -errno : 0;
}

/* as: how the file was when its bytes were looked at; whoever writes to it later makes it another. */
static void note_verified(struct wfs_disk_view *v, struct wfs_disk_files *f, const struct stat *as)
{
    pthread_mutex_lock(&v->lock);
    v->verified = v->files == f;
    v->verified_as = *as;
    pthread_mutex_unlock(&v->lock);
}

/* The bytes are down before the name says that they are there. */
static int settle(struct wfs_disk_view *v, struct wfs_disk_files *f, const uint8_t rest[WFS_DISK_RECORD])
{
    int r = wfs_disk_write_at(f->sums, wfs_disk_record_offset(v->shape.n_tiles), rest, WFS_DISK_RECORD);

    if (r == 0 && (fsync(f->data) < 0 || fsync(f->sums) < 0))
        r = -errno;
    return r < 0 || f->whole ? r : name_whole(v, f);
}

static void complete(struct wfs_disk_view *v, struct wfs_disk_files *f)
{
    const struct wfs_disk_shape *s = &v->shape;
    uint8_t rest[WFS_DISK_RECORD];
    struct stat now;
    int r;

    if (!s->content->hold(s->ctx))
        return;
    r = walk(v, f, true, rest);
    s->content->let_go(s->ctx);
    if (r == 0) {
        r = settle(v, f, rest);
        if (r == -EIO) /* until here it may have been the source's; this one is the disk's */
            wfs_disk_degrade(v->disk, WFS_DISK_OFF, "a view cannot be completed", EIO);
    }
    if (r == 0) {
        pthread_mutex_lock(&v->lock);
        f->whole = true;
        pthread_mutex_unlock(&v->lock);
        if (fstat(f->data, &now) == 0)
            note_verified(v, f, &now);
        atomic_fetch_add(&v->disk->views_completed, 1);
    } else if (r == -ENOENT || r == -ESTALE) { /* completed or pruned by another */
        wfs_disk_files_drop(v);
    } else if (r == -ENOSPC || r == -EDQUOT || r == -EROFS) {
        wfs_disk_degrade(v->disk, WFS_DISK_READ_ONLY, "a view cannot be completed", -r);
    }
}

void wfs_disk_complete(struct wfs_disk_view *v)
{
    struct wfs_disk_files *f = files_of(v);
    uint8_t *records = malloc((size_t)RECORDS * WFS_DISK_RECORD);

    if (f && records && f->writable && !f->whole && has_every_record(v, f, records))
        complete(v, f);
    free(records);
    wfs_disk_files_put(f);
}

void wfs_disk_verify(struct wfs_disk_view *v)
{
    uint8_t rest[WFS_DISK_RECORD], record[WFS_DISK_RECORD];
    struct wfs_disk_files *f = files_of(v);
    struct stat before;
    int r = f && f->whole ? 0 : -ENOENT;

    if (r == 0 && fstat(f->data, &before) < 0)
        r = -errno;
    if (r == 0)
        r = walk(v, f, false, rest);
    if (r == 0)
        r = wfs_disk_read_at(f->sums, wfs_disk_record_offset(v->shape.n_tiles), record, sizeof record);
    if (r == 0 && memcmp(rest, record, sizeof rest) == 0)
        note_verified(v, f, &before);
    else if (r == 0 && f->writable && wfs_disk_is(v->disk, WFS_DISK_ON))
        complete(v, f); /* the tiles are right: what is between them is written anew */
    wfs_disk_files_put(f);
}

static bool is_as_verified(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int wfs_disk_view_whole(struct wfs_disk_view *v, bool verify)
{
    int fd WFS_CLEANUP(wfs_close) = -1;
    struct stat now, then = { 0 };
    bool verified;
    char name[64];

    wfs_disk_files_put(wfs_disk_files_get(v));
    pthread_mutex_lock(&v->lock);
    verified = v->verified && v->files && v->files->whole;
    then = v->verified_as;
    pthread_mutex_unlock(&v->lock);
    if (verified) {
        wfs_disk_name(v, "whole", name);
        fd = wfs_disk_open_at(v->disk->folder, name, O_RDONLY);
        if (fd >= 0 && fstat(fd, &now) == 0 && is_as_verified(&now, &then)) {
            atomic_store(&v->used, true);
            return wfs_steal_fd(&fd);
        }
    }
    pthread_mutex_lock(&v->disk->lock);
    pthread_mutex_lock(&v->lock);
    if (!v->verified || is_as_verified(&v->verified_as, &then)) { /* else it has been found right meanwhile */
        v->verified = false;
        v->verify = v->verify || verify;
    }
    pthread_mutex_unlock(&v->lock);
    v->disk->unfinished = v->disk->unfinished || verify;
    pthread_cond_signal(&v->disk->work);
    pthread_mutex_unlock(&v->disk->lock);
    return -EAGAIN;
}
