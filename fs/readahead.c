/*
 * Read-ahead by region: whoever reads on near where a read ended before is a stream, whichever handle or process it
 * comes from. Tiles in front of a stream are made at low priority, so that all workers are busy while its reader takes
 * one piece after the other. Extents in front of it are brought into the page cache: the kernel would read ahead in the
 * source file by itself, but only by 128 KiB.
 */
#include "engine_private.h"

#include <stdlib.h>

enum {
    MIB = 1 << 20,
    FIRST_WINDOW = 2 * MIB,
    WINDOW_PER_WORKER = 4 * MIB,
    WINDOW_MAX = 1024 * MIB, /* it is one request of the ring, where it lies in an extent */
    SLACK_MIN = 64 * 1024,
    SLACK_MAX = 8 * MIB,
    SLACK_READS = 8, /* requests of one reader arrive out of order, by about as many as are in flight */
    PROOF = 2,       /* reads that go on before it counts as sequential */
    FORGET_READS = 10000, /* of others, since its last: it is over */
};

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Locked. When a stream may be forgotten for a new one, the lowest first: reads at random push no proven one out. */
static uint64_t worth(const struct object_state *s, const struct stream *t)
{
    bool proven = t->reads >= PROOF && s->n_reads - t->last_used < FORGET_READS;

    return proven ? UINT64_MAX / 2 + t->last_used : t->last_used;
}

/* Locked. The stream that the read goes on with, or the one of the least worth, begun anew. */
static struct stream *find_stream(struct object_state *s, uint64_t offset, uint64_t len)
{
    uint64_t slack = len * SLACK_READS, nearest = UINT64_MAX;
    struct stream *found = NULL, *oldest = &s->streams[0];

    slack = slack < SLACK_MIN ? SLACK_MIN : slack > SLACK_MAX ? SLACK_MAX : slack;
    for (int i = 0; i < N_STREAMS; i++) {
        struct stream *t = &s->streams[i];
        uint64_t away = distance(t->next, offset);

        if (t->last_used > 0 && away <= slack && away < nearest) {
            nearest = away;
            found = t;
        }
        if (worth(s, t) < worth(s, oldest))
            oldest = t;
    }
    if (found) {
        found->reads++;
        return found;
    }
    *oldest = (struct stream){ .next = offset, .born = s->n_reads + 1 };
    return oldest;
}

static uint64_t next_window(const struct wfs_engine *e, uint64_t window)
{
    uint64_t most = (uint64_t)wfs_pool_workers(e->pool) * WINDOW_PER_WORKER, part = e->options.cache_size / 16;

    most = most < WINDOW_MAX ? most : WINDOW_MAX;
    most = part < most ? part : most;
    window = window ? window * 2 : FIRST_WINDOW;
    return window < most ? window : most;
}

struct advice {
    struct wfs_job job; /* first: the pool hands it back */
    struct wfs_io io;
    struct wfs_source *source;
    struct wfs_source_file *file; /* whose descriptor is held */
};

static void free_advice(struct wfs_job *job, void *scratch)
{
    struct advice *a = (struct advice *)job;

    (void)scratch;
    wfs_source_fd_put(a->source, a->file);
    wfs_source_close(a->source);
    if (!a->io.abandoned)
        free(a);
}

/* Nobody waits for advice, and when it fails nothing is lost. */
static void advise(struct wfs_engine *e, struct wfs_object *o, const struct wfs_segment *seg, uint64_t from,
                   uint64_t to)
{
    struct wfs_source_file *file = o->files[seg->extent.file];
    int fd = wfs_source_fd_get_open(o->source, file);
    struct advice *a = fd >= 0 ? calloc(1, sizeof *a) : NULL;

    if (fd >= 0 && !a)
        wfs_source_fd_put(o->source, file);
    if (!a)
        return;
    a->io = (struct wfs_io){
        .kind = WFS_IO_ADVISE, .fd = fd, .offset = seg->extent.offset + (from - seg->begin), .len = to - from
    };
    a->source = wfs_source_ref(o->source);
    a->file = file;
    a->job.ios = &a->io;
    a->job.n_ios = 1;
    a->job.key[0] = o->id;
    a->job.priority = WFS_READAHEAD;
    a->job.run = free_advice;
    wfs_pool_submit(e->pool, &a->job);
}

/* Asks for the bytes of [from, to). Returns where it had to stop. */
static uint64_t ask(struct wfs_engine *e, struct wfs_object *o, uint64_t from, uint64_t to)
{
    const struct wfs_layout *l = o->layout;

    for (size_t i = from < to ? wfs_layout_find(l, from) : 0; from < to; i++) {
        const struct wfs_segment *seg = &l->segments[i];
        struct wfs_tiling tiling;

        if (seg->kind != WFS_SEGMENT_TENSOR) {
            uint64_t stop = seg->end < to ? seg->end : to;

            if (seg->kind == WFS_SEGMENT_EXTENT)
                advise(e, o, seg, from, stop);
            from = stop;
            continue;
        }
        tiling = wfs_pipeline_tiling(seg->plan);
        while (from < to && from < seg->end) {
            struct tile_place at = { i, wfs_pipeline_tile_at(seg->plan, &tiling, from - seg->begin), 0 };
            uint64_t begin, end, need, size;
            struct wfs_block *b;
            int r;

            wfs_pipeline_tile(&tiling, at.tile, &begin, &end);
            size = wfs_pipeline_out_bytes(seg->plan, end - begin);
            need = wfs_tile_need(seg->plan, &tiling, &at);
            r = wfs_cache_get_ahead(e->cache, wfs_tile_key(o, &at), size, need, &b);
            if (r < 0)
                return from;
            if (r == WFS_CACHE_FILL)
                wfs_tile_fill(e, o, &at, b, WFS_READAHEAD, need);
            from = seg->begin + wfs_pipeline_out_bytes(seg->plan, end);
        }
    }
    return from;
}

bool wfs_readahead_meet(struct wfs_object *o, uint64_t offset, uint64_t len, struct ahead *ret)
{
    struct object_state *s = o->private_;
    bool proven;

    pthread_mutex_lock(&s->lock);
    ret->stream = find_stream(s, offset, len);
    ret->stream->last_used = ++s->n_reads;
    if (offset + len > ret->stream->next)
        ret->stream->next = offset + len;
    ret->born = ret->stream->born;
    proven = ret->stream->reads >= PROOF;
    pthread_mutex_unlock(&s->lock);
    return proven;
}

void wfs_readahead(struct wfs_engine *e, struct wfs_object *o, const struct ahead *a)
{
    struct object_state *s = o->private_;
    uint64_t from = 0, to = 0, stop;
    struct stream *t = a->stream;

    pthread_mutex_lock(&s->lock);
    if (t->born == a->born && t->reads >= PROOF && !t->asking) {
        t->window = next_window(e, t->window);
        from = t->ahead > t->next ? t->ahead : t->next;
        to = t->next + t->window < o->layout->size ? t->next + t->window : o->layout->size;
        t->asking = from < to;
    }
    pthread_mutex_unlock(&s->lock);
    if (from >= to)
        return;
    stop = ask(e, o, from, to);
    pthread_mutex_lock(&s->lock);
    if (t->born == a->born) {
        t->ahead = stop;
        t->asking = false;
    }
    pthread_mutex_unlock(&s->lock);
}
