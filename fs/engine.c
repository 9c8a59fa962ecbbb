#include "engine_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PREAD_PIECE = 1 << 20,
    /* What a worker takes itself: scratch, ring, and the stack that packing and the codebooks' searches touch. */
    WORKER_BYTES = 160 * 1024,
    FREE_WORKERS = 16, /* whose memory is not counted */
};

/* What of cache_size the block cache does not get. It stays at least half. */
static uint64_t set_aside(const struct wfs_engine_options *options)
{
    uint64_t n = options->n_workers ? options->n_workers : wfs_pool_default_workers();
    uint64_t bytes = options->disk_queue + (n > FREE_WORKERS ? (n - FREE_WORKERS) * WORKER_BYTES : 0);

    return bytes < options->cache_size / 2 ? bytes : options->cache_size / 2;
}

int wfs_engine_new(const struct wfs_engine_options *options, struct wfs_engine **ret, struct wfs_error *err)
{
    struct wfs_engine *e = calloc(1, sizeof *e);
    int r;

    if (!e)
        return wfs_error_set(err, ENOMEM, "engine: out of memory");
    e->options = *options;
    e->kernels = wfs_kernels_get();
    atomic_init(&e->next_id, 1);
    r = wfs_cache_new(options->cache_size, options->compress, &e->cache);
    if (r < 0)
        wfs_error_set(err, -r, "block cache: out of memory");
    else
        r = wfs_pool_new(options->n_workers, WFS_PIPELINE_SCRATCH, !options->no_io_uring, options->hooks, &e->pool,
                         err);
    if (r < 0) {
        wfs_engine_free(e);
        return r;
    }
    wfs_cache_set_aside(e->cache, set_aside(options));
    *ret = e;
    return 0;
}

bool wfs_engine_free(struct wfs_engine *e)
{
    if (!e)
        return true;
    if (!wfs_pool_free(e->pool)) /* ends what is in flight, which still uses the cache */
        return false;
    wfs_cache_free(e->cache);
    free(e);
    return true;
}

struct wfs_pool *wfs_engine_pool(struct wfs_engine *e)
{
    return e->pool;
}

struct object_state *wfs_object_state_ref(struct object_state *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void wfs_object_state_unref(struct object_state *s)
{
    if (atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int wfs_object_init(struct wfs_object *o, struct wfs_engine *e, const struct wfs_layout *layout,
                    struct wfs_source *source, struct wfs_source_file **files, size_t n_files, const char *name)
{
    struct object_state *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    atomic_init(&s->refs, 1);
    pthread_mutex_init(&s->lock, NULL);
    s->object = o;
    o->layout = layout;
    o->source = source;
    o->files = files;
    o->n_files = n_files;
    o->store = NULL;
    o->name = name;
    o->id = atomic_fetch_add(&e->next_id, 1);
    atomic_init(&o->failures, 0);
    o->private_ = s;
    return 0;
}

/* What is in flight goes on without the object, but tells nobody. */
static struct object_state *detach(struct wfs_object *o)
{
    struct object_state *s = o->private_;

    if (!s)
        return NULL;
    pthread_mutex_lock(&s->lock);
    s->object = NULL;
    pthread_mutex_unlock(&s->lock);
    o->private_ = NULL;
    return s;
}

void wfs_object_done(struct wfs_object *o, struct wfs_engine *e)
{
    struct object_state *s = detach(o);

    if (!s)
        return;
    wfs_pool_cancel(e->pool, o->id);
    wfs_cache_drop(e->cache, &o->id, 1);
    wfs_object_state_unref(s);
}

void wfs_object_park(struct wfs_object *o, struct wfs_engine *e)
{
    struct object_state *s = detach(o);

    (void)e;
    if (s)
        wfs_object_state_unref(s);
}

void wfs_engine_drop(struct wfs_engine *e, const uint64_t *ids, size_t n_ids)
{
    wfs_cache_drop(e->cache, ids, n_ids);
}

void wfs_engine_tell(struct wfs_engine *e, struct object_state *s, int64_t cause, struct wfs_error *err)
{
    bool known;

    pthread_mutex_lock(&s->lock);
    known = !s->object || s->n_told == MAX_TOLD;
    for (size_t i = 0; i < s->n_told && !known; i++)
        known = s->told[i] == (uint64_t)cause;
    if (!known) {
        s->told[s->n_told++] = (uint64_t)cause;
        atomic_fetch_add(&s->object->failures, 1);
        wfs_error_wrap(err, "%s", s->object->name);
    }
    pthread_mutex_unlock(&s->lock);
    if (!known && e->options.on_error) /* it may wait for the system's logger, and FUSE threads take the lock */
        e->options.on_error(e->options.on_error_ctx, err);
}

struct blocking {
    struct wfs_read read;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool done;
};

static void wake_blocking(struct wfs_read *r)
{
    struct blocking *b = (struct blocking *)r; /* its first member */

    pthread_mutex_lock(&b->lock);
    b->done = true;
    pthread_cond_signal(&b->cond);
    pthread_mutex_unlock(&b->lock);
}

static int pread_piece(struct wfs_engine *e, struct wfs_object *o, uint64_t offset, uint8_t *buf, size_t len)
{
    struct blocking b = { .read = { .object = o, .offset = offset, .len = len, .done = wake_blocking } };
    int r;

    pthread_mutex_init(&b.lock, NULL);
    pthread_cond_init(&b.cond, NULL);
    wfs_engine_read(e, &b.read);
    pthread_mutex_lock(&b.lock);
    while (!b.done)
        pthread_cond_wait(&b.cond, &b.lock);
    pthread_mutex_unlock(&b.lock);
    r = b.read.result;
    for (int i = 0; r == 0 && i < b.read.n_iov; i++) {
        memcpy(buf, b.read.iov[i].iov_base, b.read.iov[i].iov_len);
        buf += b.read.iov[i].iov_len;
    }
    wfs_engine_read_done(e, &b.read);
    pthread_cond_destroy(&b.cond);
    pthread_mutex_destroy(&b.lock);
    return r;
}

int wfs_engine_pread(struct wfs_engine *e, struct wfs_object *o, uint64_t offset, void *buf, size_t len)
{
    if (offset > o->layout->size || len > o->layout->size - offset)
        return -EINVAL;
    for (size_t done = 0; done < len;) {
        size_t now = len - done < PREAD_PIECE ? len - done : PREAD_PIECE;
        int r = pread_piece(e, o, offset + done, (uint8_t *)buf + done, now);

        if (r < 0)
            return r;
        done += now;
    }
    return 0;
}

void wfs_engine_stats(struct wfs_engine *e, struct wfs_engine_stats *ret)
{
    struct wfs_cache_stats c;
    uint64_t loaded, not_made;

    wfs_cache_stats(e->cache, &c);
    loaded = atomic_load(&e->tiles_loaded);
    not_made = c.packed_hits + loaded; /* an unpacked tile is not made again */
    *ret = (struct wfs_engine_stats){
        .cache_limit = e->options.cache_size,
        .cache_bytes = c.bytes,
        .cache_peak_bytes = c.peak_bytes,
        .lz4_bytes = c.packed_bytes,
        .lz4_unpacked_bytes = c.packed_from_bytes,
        .lz4_hits = c.packed_hits,
        .tiles_made = c.filled > not_made ? c.filled - not_made : 0, /* counted a moment apart */
        .tiles_loaded = loaded,
        .tile_hits = c.hits,
        .tile_misses = c.misses,
        .tile_waits = c.waits,
        .tiles_evicted = c.evicted + c.packed_evicted,
        .readahead_tiles = c.ahead_filled,
        .readahead_wasted = c.ahead_wasted,
        .source_bytes_read = wfs_pool_bytes_read(e->pool),
        .bytes_served = atomic_load(&e->bytes_served),
        .read_errors = atomic_load(&e->read_errors),
        .reads_open = atomic_load(&e->reads_open),
        .workers = wfs_pool_workers(e->pool),
        .drop_pages = e->options.drop_pages,
        .drop_refused = atomic_load(&e->drop_refused),
        .io_uring = wfs_pool_uses_io_uring(e->pool),
        .io_reason = wfs_pool_io_reason(e->pool),
        .kernels = e->kernels->isa,
    };
}
