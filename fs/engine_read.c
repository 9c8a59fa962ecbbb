/*
 * The read loop: a byte range of a layout becomes pieces. Literal bytes and zeros are pointed at, tiles are pinned in
 * the cache, source extents are read into a buffer of the read's own. When the last piece is there the read is done.
 */
#include "engine_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    ZEROS = 64 * 1024,
    /* A read at random of so little has parts of tiles made for it: a page of q4_K takes a quarter of the time. */
    SMALL_READ = 16 * 1024,
};

static const uint8_t zeros[ZEROS];

struct reading;

/* A source file's attributes after it was read. */
struct look {
    struct statx now;
    uint32_t file; /* of the object */
};

struct tile_piece {
    struct wfs_waiter waiter; /* first: the cache hands it back */
    struct reading *rd;
    size_t iov; /* which piece of the read it is */
    size_t from; /* its first byte within the tile */
    struct tile_place at;
    uint64_t tile_bytes;
};

struct reading {
    struct wfs_job job; /* first: the extents' job, if there are any */
    struct wfs_room room;
    struct wfs_engine *e;
    struct wfs_read *r;
    struct object_state *state;
    atomic_size_t pending; /* pieces that are not there yet, and one while the read is being set up */
    atomic_int error;      /* the first */
    size_t n_iov, n_tiles, n_ios;
    size_t n_fds; /* ios whose descriptor is held */
    struct iovec *iov;
    bool *is_extent; /* n_iov: which pieces lie in extents, one behind the other */
    struct tile_piece *tiles;
    struct wfs_block **blocks; /* pinned, n_tiles; NULL where not */
    struct wfs_io *ios;
    uint32_t *io_files; /* n_ios: which file of the object */
    uint8_t *extents;   /* the extents' bytes, in the order of the view */
    size_t extents_size;
    struct look *looks; /* one for each run of ios of one file; NULL where fstat answers at once */
    struct wfs_io *look_ios;
    bool may_have_parts; /* of tiles, where the whole is not there */
    bool abandoned; /* the kernel may still write into extents and looks */
    uint8_t *flat;  /* the whole read copied, when it had more pieces than may be */
    struct iovec flat_iov;
};

/* ---- the end ---- */

static void finish(struct reading *rd)
{
    struct wfs_read *r = rd->r;
    int error = atomic_load(&rd->error);

    if (error == 0 && rd->n_iov > WFS_MAX_IOV) {
        rd->flat = wfs_cache_buffer_get(rd->e->cache, r->len);
        if (rd->flat) {
            uint8_t *at = rd->flat;

            for (size_t i = 0; i < rd->n_iov; i++) {
                memcpy(at, rd->iov[i].iov_base, rd->iov[i].iov_len);
                at += rd->iov[i].iov_len;
            }
            rd->flat_iov = (struct iovec){ rd->flat, r->len };
            r->iov = &rd->flat_iov;
            r->n_iov = 1;
        } else {
            error = -ENOMEM;
        }
    } else if (error == 0) {
        r->iov = rd->iov;
        r->n_iov = (int)rd->n_iov;
    }
    r->result = error;
    if (error < 0)
        atomic_fetch_add_explicit(&rd->e->read_errors, 1, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&rd->e->bytes_served, r->len, memory_order_relaxed);
    atomic_fetch_sub_explicit(&rd->e->reads_open, 1, memory_order_relaxed);
    r->done(r);
}

static void drop_pending(struct reading *rd)
{
    if (atomic_fetch_sub(&rd->pending, 1) == 1)
        finish(rd);
}

static void set_error(struct reading *rd, int error)
{
    int none = 0;

    atomic_compare_exchange_strong(&rd->error, &none, error);
}

void wfs_engine_read_done(struct wfs_engine *e, struct wfs_read *r)
{
    struct reading *rd = r->private_;

    r->private_ = NULL;
    r->iov = NULL;
    r->n_iov = 0;
    if (!rd)
        return;
    if (!rd->abandoned) {
        wfs_cache_buffer_put(e->cache, rd->extents, rd->extents_size);
        free(rd->looks);
    }
    free(rd->look_ios); /* the pool and its rings are through with it */
    wfs_cache_buffer_put(e->cache, rd->flat, rd->flat_iov.iov_len);
    if (rd->room.bytes > 0)
        (r->passing ? wfs_cache_release_passed : wfs_cache_release)(e->cache, rd->blocks, rd->n_tiles, rd->room.bytes);
    wfs_object_state_unref(rd->state);
    free(rd);
}

/* ---- tiles ---- */

static void tile_there(struct tile_piece *t, struct wfs_block *b)
{
    struct reading *rd = t->rd;

    rd->blocks[t - rd->tiles] = b;
    rd->iov[t->iov].iov_base = (uint8_t *)wfs_block_data(b) + t->from;
}

static void tile_ready(struct wfs_waiter *w, int result, struct wfs_block *b)
{
    struct tile_piece *t = (struct tile_piece *)w;

    if (result < 0)
        set_error(t->rd, result);
    else
        tile_there(t, b);
    drop_pending(t->rd);
}

static void get_tile(struct reading *rd, struct tile_piece *t, enum wfs_priority priority)
{
    struct wfs_object *o = rd->r->object;
    struct wfs_key key = wfs_tile_key(o, &t->at);
    struct wfs_block *b;
    bool ahead;
    int answer;

    t->waiter.ready = tile_ready;
    atomic_fetch_add(&rd->pending, 1);
    answer = wfs_cache_get(rd->e->cache, key, t->tile_bytes, t->from, t->from + rd->iov[t->iov].iov_len, &t->waiter, &b,
                           &ahead);
    if (answer == WFS_CACHE_FILL) {
        wfs_tile_fill(rd->e, o, &t->at, b, priority, 0);
    } else if (answer == WFS_CACHE_EXPAND) {
        wfs_tile_expand(rd->e, o, &t->at, b, priority);
    } else if (answer == WFS_CACHE_WAIT) {
        if (ahead || priority == WFS_FOREGROUND) /* it may wait as read-ahead, or as a stream's */
            wfs_pool_promote(rd->e->pool, key.object, key.index + 1, priority);
    } else {
        if (answer < 0)
            set_error(rd, answer);
        else
            tile_there(t, b);
        drop_pending(rd);
    }
}

/* ---- extents ---- */

/* Where fstat may wait, the files are looked at by requests of the job's own. */
static int prepare_looks(struct reading *rd)
{
    struct wfs_object *o = rd->r->object;
    bool local = true;
    size_t n = 0;

    for (size_t i = 0; i < rd->n_ios; i++) {
        local = local && o->files[rd->io_files[i]]->local;
        n += i == 0 || rd->io_files[i] != rd->io_files[i - 1];
    }
    if (local)
        return 0;
    rd->looks = calloc(n, sizeof *rd->looks);
    rd->look_ios = calloc(n, sizeof *rd->look_ios);
    if (!rd->looks || !rd->look_ios)
        return -ENOMEM;
    n = 0;
    for (size_t i = 0; i < rd->n_ios; i++) {
        if (i > 0 && rd->io_files[i] == rd->io_files[i - 1])
            continue;
        rd->looks[n].file = rd->io_files[i];
        rd->look_ios[n] = (struct wfs_io){ .kind = WFS_IO_STAT, .fd = rd->ios[i].fd, .buf = &rd->looks[n].now };
        n++;
    }
    rd->job.checks = rd->look_ios;
    rd->job.n_checks = n;
    return 0;
}

static int prepare_extents(struct wfs_job *job)
{
    struct reading *rd = (struct reading *)job;
    struct wfs_object *o = rd->r->object;
    uint8_t *extents = wfs_cache_buffer_get(rd->e->cache, rd->extents_size);
    struct wfs_error err = { 0 };

    if (!extents)
        return -ENOMEM;
    rd->extents = extents;
    for (size_t i = 0; i < rd->n_ios; i++) {
        int fd = wfs_source_fd_get(o->source, o->files[rd->io_files[i]], &err);

        if (fd < 0) {
            wfs_engine_tell(rd->e, rd->state, fd == -ESTALE ? CAUSE_CHANGED : CAUSE_EXTENT, &err);
            return fd;
        }
        rd->n_fds++;
        rd->ios[i].fd = fd;
        rd->ios[i].waits = !o->files[rd->io_files[i]]->local;
        rd->ios[i].buf = extents;
        extents += rd->ios[i].len;
    }
    job->ios = rd->ios;
    job->n_ios = rd->n_ios;
    return prepare_looks(rd);
}

/* 0, or the first error among the looks at the files that were read. */
static int check_files(struct reading *rd, struct wfs_source_file **ret_file)
{
    struct wfs_object *o = rd->r->object;
    int r;

    for (size_t i = 0; i < rd->job.n_checks; i++) {
        *ret_file = o->files[rd->looks[i].file];
        r = rd->look_ios[i].result < 0 ? rd->look_ios[i].result : wfs_source_check_statx(*ret_file, &rd->looks[i].now);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < rd->n_ios && rd->job.n_checks == 0; i++) {
        if (i > 0 && rd->io_files[i] == rd->io_files[i - 1])
            continue;
        *ret_file = o->files[rd->io_files[i]];
        r = wfs_source_check(o->source, *ret_file);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_extents(struct reading *rd)
{
    struct wfs_object *o = rd->r->object;
    struct wfs_source_file *file = NULL;
    struct wfs_error err = { 0 };
    int r;

    for (size_t i = 0; i < rd->n_ios; i++) {
        if (rd->ios[i].result == -ECANCELED) /* given up: the source hangs, so do not ask it anything */
            return -ECANCELED;
    }
    r = check_files(rd, &file);
    if (r == -ECANCELED)
        return r;
    if (r < 0) {
        wfs_error_set(&err, -r, "%s: %s", file->path,
                      r == -ESTALE ? "the file has changed since it was mounted" : strerror(-r));
        wfs_engine_tell(rd->e, rd->state, CAUSE_CHANGED, &err);
        return r;
    }
    for (size_t i = 0; i < rd->n_ios; i++) {
        r = rd->ios[i].result;
        if (r == 0)
            continue;
        wfs_error_set(&err, -r, "%s: read of %zu bytes at %llu: %s", o->files[rd->io_files[i]]->path,
                      rd->ios[i].len, (unsigned long long)rd->ios[i].offset, strerror(-r));
        wfs_engine_tell(rd->e, rd->state, CAUSE_EXTENT, &err);
        return r;
    }
    return 0;
}

/* Extents have no address before their buffer is there. */
static void place_extents(struct reading *rd)
{
    uint8_t *extents = rd->extents;

    for (size_t i = 0; i < rd->n_iov; i++) {
        if (rd->is_extent[i]) {
            rd->iov[i].iov_base = extents;
            extents += rd->iov[i].iov_len;
        }
    }
}

static void run_extents(struct wfs_job *job, void *scratch)
{
    struct reading *rd = (struct reading *)job;
    int r = job->cancelled ? -ECANCELED : job->prepared;

    (void)scratch;
    for (size_t i = 0; i < job->n_ios; i++)
        rd->abandoned = rd->abandoned || rd->ios[i].abandoned;
    for (size_t i = 0; i < job->n_checks; i++)
        rd->abandoned = rd->abandoned || job->checks[i].abandoned;
    if (r == 0)
        r = check_extents(rd);
    for (size_t i = 0; i < rd->n_fds; i++)
        wfs_source_fd_put(rd->r->object->source, rd->r->object->files[rd->io_files[i]]);
    if (r < 0)
        set_error(rd, r);
    else
        place_extents(rd);
    drop_pending(rd);
}

/* ---- the beginning ---- */

/* One step through the layout: [offset, offset + len) lies in one segment, and in one tile of it, or part of one. */
struct piece {
    const struct wfs_segment *seg;
    uint64_t from, len;           /* from: in the segment */
    struct wfs_tiling tiling;     /* of a TENSOR segment */
    struct tile_place at;         /* at.segment: of any */
    uint64_t tile_from, tile_end; /* the tile's bytes, or the part's, in the segment */
};

static void tile_piece_at(struct piece *ret, bool by_parts)
{
    const struct wfs_plan *plan = ret->seg->plan;
    uint64_t begin, end, part;

    ret->tiling = wfs_pipeline_tiling(plan);
    ret->at.tile = wfs_pipeline_tile_at(plan, &ret->tiling, ret->from);
    wfs_pipeline_tile(&ret->tiling, ret->at.tile, &begin, &end);
    part = by_parts ? wfs_pipeline_part_elems(plan, &ret->tiling) : 0;
    if (part > 0) {
        ret->at.part = 1 + (unsigned)((ret->from - wfs_pipeline_out_bytes(plan, begin)) /
                                      wfs_pipeline_out_bytes(plan, part));
        wfs_pipeline_part(plan, &ret->tiling, ret->at.tile, ret->at.part, &begin, &end);
    }
    ret->tile_from = wfs_pipeline_out_bytes(plan, begin);
    ret->tile_end = wfs_pipeline_out_bytes(plan, end);
    if (ret->len > ret->tile_end - ret->from)
        ret->len = ret->tile_end - ret->from;
}

static void piece_at(const struct wfs_layout *l, size_t segment, uint64_t offset, uint64_t end, bool by_parts,
                     struct piece *ret)
{
    const struct wfs_segment *seg = &l->segments[segment];
    uint64_t stop = end < seg->end ? end : seg->end;

    ret->at = (struct tile_place){ .segment = segment };
    ret->seg = seg;
    ret->from = offset - seg->begin;
    ret->len = stop - offset;
    if (seg->kind == WFS_SEGMENT_ZERO && ret->len > ZEROS)
        ret->len = ZEROS;
    if (seg->kind == WFS_SEGMENT_TENSOR)
        tile_piece_at(ret, by_parts);
}

struct counts {
    size_t n_iov, n_tiles, n_ios;
    uint64_t extents_size, need;
};

/* Upper bounds: neighbours that are one piece are counted apart; a tile that may be read by parts both ways. */
static void count(const struct wfs_layout *l, uint64_t offset, uint64_t end, bool by_parts, struct counts *ret)
{
    size_t segment = wfs_layout_find(l, offset);
    struct piece p;

    memset(ret, 0, sizeof *ret);
    for (; offset < end; offset += p.len) {
        if (offset == l->segments[segment].end)
            segment++;
        piece_at(l, segment, offset, end, by_parts, &p);
        ret->n_iov++;
        if (p.seg->kind == WFS_SEGMENT_TENSOR) {
            ret->n_tiles++;
            ret->need += wfs_tile_need(p.seg->plan, &p.tiling, &p.at);
            if (p.at.part > 0) {
                p.at.part = 0;
                ret->need += wfs_tile_need(p.seg->plan, &p.tiling, &p.at);
            }
        } else if (p.seg->kind == WFS_SEGMENT_EXTENT) {
            ret->n_ios++;
            ret->extents_size += p.len;
        }
    }
    ret->need += ret->extents_size;
}

static void *carve(uint8_t **at, size_t n, size_t size)
{
    void *p = *at;

    *at += (n * size + 15) / 16 * 16;
    return p;
}

static struct reading *new_reading(struct wfs_engine *e, struct wfs_read *r, const struct counts *n)
{
    size_t size = sizeof(struct reading) + n->n_iov * (sizeof(struct iovec) + sizeof(bool)) +
                  n->n_tiles * (sizeof(struct tile_piece) + sizeof(struct wfs_block *)) +
                  n->n_ios * (sizeof(struct wfs_io) + sizeof(uint32_t)) + (size_t)7 * 16;
    struct reading *rd = calloc(1, size);
    uint8_t *at = (uint8_t *)rd;

    if (!rd)
        return NULL;
    carve(&at, 1, sizeof *rd);
    rd->iov = carve(&at, n->n_iov, sizeof *rd->iov);
    rd->tiles = carve(&at, n->n_tiles, sizeof *rd->tiles);
    rd->blocks = carve(&at, n->n_tiles, sizeof *rd->blocks);
    rd->ios = carve(&at, n->n_ios, sizeof *rd->ios);
    rd->io_files = carve(&at, n->n_ios, sizeof *rd->io_files);
    rd->is_extent = carve(&at, n->n_iov, sizeof *rd->is_extent);
    rd->e = e;
    rd->r = r;
    rd->state = wfs_object_state_ref(r->object->private_);
    rd->extents_size = (size_t)n->extents_size;
    rd->room.bytes = n->need + (n->n_iov > WFS_MAX_IOV ? r->len : 0);
    atomic_init(&rd->pending, 1);
    atomic_init(&rd->error, 0);
    return rd;
}

static void add_extent(struct reading *rd, const struct piece *p)
{
    struct wfs_io *last = rd->n_ios ? &rd->ios[rd->n_ios - 1] : NULL;
    uint64_t offset = p->seg->extent.offset + p->from;
    uint32_t file = p->seg->extent.file;

    assert(file < rd->r->object->n_files);
    if (rd->n_iov > 0 && rd->is_extent[rd->n_iov - 1]) {
        rd->iov[rd->n_iov - 1].iov_len += p->len;
    } else {
        rd->is_extent[rd->n_iov] = true;
        rd->iov[rd->n_iov++].iov_len = p->len;
    }
    if (last && rd->io_files[rd->n_ios - 1] == file && last->offset + last->len == offset) {
        last->len += p->len;
        return;
    }
    rd->io_files[rd->n_ios] = file;
    rd->ios[rd->n_ios].offset = offset;
    rd->ios[rd->n_ios++].len = p->len;
}

static void add_piece(struct reading *rd, const struct piece *p)
{
    struct tile_piece *t;

    switch (p->seg->kind) {
    case WFS_SEGMENT_DATA:
        rd->iov[rd->n_iov++] = (struct iovec){ (uint8_t *)p->seg->data + p->from, p->len };
        break;
    case WFS_SEGMENT_ZERO:
        rd->iov[rd->n_iov++] = (struct iovec){ (uint8_t *)zeros, p->len };
        break;
    case WFS_SEGMENT_EXTENT:
        add_extent(rd, p);
        break;
    case WFS_SEGMENT_TENSOR:
        t = &rd->tiles[rd->n_tiles++];
        t->rd = rd;
        t->iov = rd->n_iov;
        t->at = p->at;
        t->tile_bytes = p->tile_end - p->tile_from;
        t->from = (size_t)(p->from - p->tile_from);
        rd->iov[rd->n_iov++].iov_len = p->len;
        break;
    }
}

static bool has_whole(struct reading *rd, const struct piece *p)
{
    struct tile_place whole = { .segment = p->at.segment, .tile = p->at.tile };

    return wfs_cache_has(rd->e->cache, wfs_tile_key(rd->r->object, &whole));
}

/* The room is there: asks for everything. */
static void begin(struct reading *rd)
{
    struct wfs_read *r = rd->r;
    const struct wfs_layout *l = r->object->layout;
    uint64_t offset = r->offset, end = r->offset + r->len;
    size_t segment = wfs_layout_find(l, offset);
    enum wfs_priority priority;
    struct ahead ahead;
    struct piece p;

    priority = wfs_readahead_meet(r->object, r->offset, r->len, &ahead) ? WFS_STREAM : WFS_FOREGROUND;
    for (; offset < end; offset += p.len) {
        if (offset == l->segments[segment].end)
            segment++;
        piece_at(l, segment, offset, end, priority == WFS_FOREGROUND && rd->may_have_parts, &p);
        if (p.at.part > 0 && has_whole(rd, &p))
            piece_at(l, segment, offset, end, false, &p);
        add_piece(rd, &p);
    }
    if (rd->n_ios > 0) {
        atomic_fetch_add(&rd->pending, 1);
        rd->job.priority = WFS_FOREGROUND;
        rd->job.prepare = prepare_extents;
        rd->job.run = run_extents;
        wfs_pool_submit(rd->e->pool, &rd->job);
    }
    for (size_t i = 0; i < rd->n_tiles; i++)
        get_tile(rd, &rd->tiles[i], priority);
    wfs_readahead(rd->e, r->object, &ahead);
    drop_pending(rd); /* from here on rd may be gone */
}

static void admitted(struct wfs_room *room)
{
    begin((struct reading *)((uint8_t *)room - offsetof(struct reading, room)));
}

static void fail(struct wfs_engine *e, struct wfs_read *r, int result)
{
    atomic_fetch_add_explicit(&e->read_errors, 1, memory_order_relaxed);
    r->result = result;
    r->done(r);
}

void wfs_engine_read(struct wfs_engine *e, struct wfs_read *r)
{
    const struct wfs_layout *l = r->object->layout;
    struct reading *rd;
    struct counts n;
    bool by_parts;

    r->result = 0;
    r->iov = NULL;
    r->n_iov = 0;
    r->private_ = NULL;
    if (r->offset >= l->size || r->len == 0) {
        r->len = 0;
        r->done(r);
        return;
    }
    if (r->len > l->size - r->offset)
        r->len = (size_t)(l->size - r->offset);
    /* With the disk cache a read brings whole tiles: it may have them, and keeps what is made. */
    by_parts = r->len <= SMALL_READ && !r->object->store;
    count(l, r->offset, r->offset + r->len, by_parts, &n);
    rd = new_reading(e, r, &n);
    if (!rd) {
        fail(e, r, -ENOMEM);
        return;
    }
    r->private_ = rd;
    rd->may_have_parts = by_parts;
    rd->room.admitted = admitted;
    atomic_fetch_add_explicit(&e->reads_open, 1, memory_order_relaxed);
    if (rd->room.bytes == 0 || wfs_cache_reserve(e->cache, &rd->room))
        begin(rd);
}
