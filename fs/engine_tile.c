/* Making one tile: source reads, a look at the source, the pipeline, publication. */
#include "engine_private.h"
#include "base/clock.h"
#include "store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One block being made. It holds copies and references of all it needs, as read-ahead may outlive its object. */
struct fill {
    struct wfs_job job; /* first: the pool hands it back */
    struct wfs_engine *e;
    struct object_state *state;
    struct wfs_source *source;
    struct wfs_source_file *file;
    bool holds_fd; /* of file */
    bool drops;    /* asks the kernel not to keep the source's pages */
    struct wfs_block *block;
    struct wfs_plan plan;
    struct wfs_tensor tensor; /* plan.tensor; its name and dims may be gone: look only while state->object is there */
    size_t segment;
    uint64_t begin, end, ahead_bytes;
    struct wfs_load load; /* from the disk cache, first */
    struct wfs_runs runs;
    struct wfs_io ios[WFS_MAX_RUNS], check;
    struct statx now; /* of the source file, where looking may wait */
    uint8_t *bytes; /* the source bytes of runs, gathered */
    int64_t cause;  /* why it failed: a segment or an enum cause; err.code is 0 when there is nothing to tell */
    struct wfs_error err;
};

uint64_t wfs_tile_need(const struct wfs_plan *p, const struct wfs_tiling *t, const struct tile_place *at)
{
    uint64_t begin, end;

    wfs_pipeline_part(p, t, at->tile, at->part, &begin, &end);
    return wfs_cache_charge(wfs_pipeline_out_bytes(p, end - begin)) + wfs_pipeline_source_bytes(p, end - begin);
}

struct wfs_key wfs_tile_key(const struct wfs_object *o, const struct tile_place *at)
{
    struct wfs_key key = { o->id, (uint64_t)at->part << 60 | (uint64_t)at->segment << 32 | at->tile };

    assert(at->tile <= UINT32_MAX); /* WFS_PLAN_MAX_ELEMS sees to it */
    assert(at->segment < 1 << 28 && at->part <= WFS_TILE_MAX_PARTS);
    return key;
}

static size_t out_bytes(const struct fill *f)
{
    return (size_t)wfs_pipeline_out_bytes(&f->plan, f->end - f->begin);
}

static size_t source_bytes(const struct fill *f)
{
    return (size_t)wfs_pipeline_source_bytes(&f->plan, f->runs.n_elems);
}

/* Reports a failure of this tile with its tensor's name in front. */
static void tell(struct fill *f)
{
    bool alive;

    if (!f->err.code)
        return;
    pthread_mutex_lock(&f->state->lock);
    alive = f->state->object != NULL;
    if (alive)
        wfs_error_wrap(&f->err, "tensor '%s'", f->tensor.name);
    pthread_mutex_unlock(&f->state->lock);
    if (alive)
        wfs_engine_tell(f->e, f->state, f->cause, &f->err);
}

static int prepare(struct wfs_job *job)
{
    struct fill *f = (struct fill *)job;
    uint8_t *at;
    int fd;

    if (wfs_load_prepare(&f->load, job, f->e->cache, f->block, out_bytes(f)))
        return 0;
    fd = wfs_source_fd_get(f->source, f->file, &f->err);
    if (fd < 0) {
        f->cause = fd == -ESTALE ? CAUSE_CHANGED : (int64_t)f->segment;
        return fd;
    }
    f->holds_fd = true;
    wfs_transform_runs(&f->plan, f->begin, f->end, &f->runs);
    f->bytes = at = wfs_cache_buffer_get(f->e->cache, source_bytes(f));
    if (!f->bytes)
        return -ENOMEM;
    f->drops = f->e->options.drop_pages && !atomic_load(&f->e->drop_refused);
    for (size_t i = 0; i < f->runs.n; i++) {
        struct wfs_io *io = &f->ios[i];

        io->fd = fd;
        io->waits = !f->file->local;
        io->drop = f->drops;
        io->offset = f->tensor.offset + wfs_pipeline_source_bytes(&f->plan, f->runs.runs[i].first);
        io->len = (size_t)wfs_pipeline_source_bytes(&f->plan, f->runs.runs[i].n);
        io->buf = at;
        at += io->len;
    }
    job->ios = f->ios;
    job->n_ios = f->runs.n;
    if (!f->file->local) {
        f->check = (struct wfs_io){ .kind = WFS_IO_STAT, .fd = fd, .buf = &f->now };
        job->checks = &f->check;
        job->n_checks = 1;
    }
    return 0;
}

/* The reads' outcome, and whether the file they came from is still the one that was listed. */
static int check_reads(struct fill *f)
{
    int r;

    if (f->job.cancelled)
        return -ECANCELED;
    if (f->job.prepared < 0)
        return f->job.prepared;
    for (size_t i = 0; i < f->job.n_ios; i++) {
        if (f->job.ios[i].result == -ECANCELED) /* given up: the source hangs, so do not ask it anything */
            return -ECANCELED;
    }
    if (f->job.n_checks == 0)
        r = wfs_source_check(f->source, f->file);
    else
        r = f->check.result < 0 ? f->check.result : wfs_source_check_statx(f->file, &f->now);
    if (r == -ECANCELED)
        return r;
    if (r < 0) {
        wfs_error_set(&f->err, -r, "%s: %s", f->file->path,
                      r == -ESTALE ? "the file has changed since it was mounted" : strerror(-r));
        f->cause = CAUSE_CHANGED;
        return r;
    }
    for (size_t i = 0; i < f->job.n_ios; i++) {
        r = f->ios[i].result;
        if (r < 0) {
            wfs_error_set(&f->err, -r, "%s: read of %zu bytes at %llu: %s", f->file->path, f->ios[i].len,
                          (unsigned long long)f->ios[i].offset, strerror(-r));
            f->cause = (int64_t)f->segment;
            return r;
        }
    }
    return 0;
}

static int make(struct fill *f, void *scratch)
{
    struct wfs_bad_value bad;
    void *out = wfs_block_alloc(f->e->cache, f->block);
    uint64_t began = wfs_now_ns();
    int r;

    if (!out)
        return -ENOMEM;
    r = wfs_pipeline_make(&f->plan, f->e->kernels, f->begin, f->end, f->bytes, &f->runs, out, scratch, &bad);
    wfs_block_set_cost(f->block, f->job.waited_ns + (wfs_now_ns() - began));
    if (r == 0)
        return 0;
    if (r == -EDOM) {
        const char *file_type = wfs_ggml_types[bad.refusal == WFS_REFUSED_VIA ? f->plan.via : f->plan.dst].name;

        wfs_error_set(&f->err, EIO,
                      "a value that llama-quantize refuses (NaN, infinite or too large as %s) at element %llu, "
                      "row %llu", file_type, (unsigned long long)bad.elem,
                      (unsigned long long)(bad.elem / f->plan.row_elems));
    } else {
        wfs_error_set(&f->err, EIO, "cannot be made into %s: %s", wfs_ggml_types[f->plan.dst].name, strerror(-r));
    }
    f->cause = (int64_t)f->segment;
    return -EIO;
}

static void free_fill(struct fill *f)
{
    bool abandoned = f->check.abandoned || f->load.io.abandoned; /* the kernel may yet write into f */

    wfs_object_state_unref(f->state);
    if (f->holds_fd)
        wfs_source_fd_put(f->source, f->file);
    wfs_source_close(f->source);
    if (!abandoned)
        free(f);
}

static void tend_when_idle(struct wfs_engine *e);

static void tend(struct wfs_job *job, void *scratch)
{
    struct wfs_engine *e = (struct wfs_engine *)((char *)job - offsetof(struct wfs_engine, tend));
    bool more = !job->cancelled && wfs_cache_tend(e->cache, true);

    (void)scratch;
    atomic_store(&e->tending, false);
    if (more)
        tend_when_idle(e);
}

/* One block at a time, when nothing else has been to do for a while. */
static void tend_when_idle(struct wfs_engine *e)
{
    if (atomic_exchange(&e->tending, true))
        return;
    e->tend.priority = WFS_IDLE;
    e->tend.run = tend;
    wfs_pool_submit(e->pool, &e->tend);
}

static void run(struct wfs_job *job, void *scratch)
{
    struct fill *f = (struct fill *)job;
    struct wfs_engine *e = f->e;
    bool abandoned = false;
    int r = 0;

    switch (wfs_load_run(&f->load, job, f->block, out_bytes(f))) {
    case WFS_LOAD_AGAIN:
        wfs_pool_submit(e->pool, job);
        return;
    case WFS_LOAD_FOUND:
        wfs_block_set_cost(f->block, job->waited_ns);
        atomic_fetch_add_explicit(&e->tiles_loaded, 1, memory_order_relaxed);
        break;
    case WFS_LOAD_NONE:
        r = check_reads(f);
        if (r == 0)
            r = make(f, scratch);
        if (r == 0)
            wfs_load_keep(&f->load, e->cache, f->block, out_bytes(f));
    }
    if (r == -ENOMEM) {
        wfs_error_set(&f->err, ENOMEM, "out of memory");
        f->cause = CAUSE_MEMORY;
    }
    /* What read-ahead meets matters only once a reader meets it too; the reader finds the reason told when it wakes. */
    if (r < 0 && (f->ahead_bytes == 0 || wfs_cache_seal(e->cache, f->block)))
        tell(f);
    for (size_t i = 0; i < job->n_ios; i++)
        abandoned = abandoned || job->ios[i].abandoned;
    if (f->drops && !abandoned && job->n_ios > 0 && job->ios == f->ios && !f->ios[0].drop)
        atomic_store(&e->drop_refused, true);
    if (f->bytes && !abandoned)
        wfs_cache_buffer_put(e->cache, f->bytes, source_bytes(f));
    wfs_load_done(&f->load, f->block);
    wfs_cache_publish(e->cache, f->block, r, f->ahead_bytes);
    free_fill(f);
    if (r == 0 && wfs_cache_tend(e->cache, false))
        tend_when_idle(e);
}

static void run_expand(struct wfs_job *job, void *scratch)
{
    struct fill *f = (struct fill *)job;

    (void)scratch;
    wfs_load_done(&f->load, NULL);
    wfs_cache_expand(f->e->cache, f->block);
    free_fill(f);
}

static struct fill *new_fill(struct wfs_engine *e, struct wfs_object *o, const struct tile_place *at,
                             struct wfs_block *b)
{
    struct fill *f = calloc(1, sizeof *f);
    const struct wfs_plan *p = o->layout->segments[at->segment].plan;
    struct wfs_tiling tiling = wfs_pipeline_tiling(p);

    if (!f)
        return NULL;
    assert(p->tensor->file < o->n_files);
    f->e = e;
    f->state = wfs_object_state_ref(o->private_);
    f->source = wfs_source_ref(o->source);
    f->file = o->files[p->tensor->file];
    f->block = b;
    f->tensor = *p->tensor;
    f->plan = *p;
    f->plan.tensor = &f->tensor;
    f->segment = at->segment;
    wfs_load_init(&f->load, at->part ? NULL : o->store, at->segment, at->tile); /* the disk has whole tiles */
    wfs_pipeline_part(p, &tiling, at->tile, at->part, &f->begin, &f->end);
    f->job.key[0] = o->id;
    f->job.key[1] = wfs_tile_key(o, at).index + 1; /* {0, 0} would be no name */
    return f;
}

void wfs_tile_fill(struct wfs_engine *e, struct wfs_object *o, const struct tile_place *at, struct wfs_block *b,
                   enum wfs_priority priority, uint64_t ahead_bytes)
{
    struct fill *f = new_fill(e, o, at, b);

    if (!f) {
        wfs_cache_publish(e->cache, b, -ENOMEM, ahead_bytes);
        return;
    }
    f->ahead_bytes = ahead_bytes;
    f->job.priority = priority;
    f->job.prepare = prepare;
    f->job.run = run;
    wfs_pool_submit(e->pool, &f->job);
}

void wfs_tile_expand(struct wfs_engine *e, struct wfs_object *o, const struct tile_place *at, struct wfs_block *b,
                     enum wfs_priority priority)
{
    struct fill *f = new_fill(e, o, at, b);

    if (!f) {
        wfs_cache_publish(e->cache, b, -ENOMEM, 0);
        return;
    }
    f->job.priority = priority;
    f->job.run = run_expand;
    wfs_pool_submit(e->pool, &f->job);
}
