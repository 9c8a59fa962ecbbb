#include "store.h"
#include "generation.h"
#include "base/cleanup.h"
#include "pipeline.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A segment that is made of tiles. */
struct tiled {
    size_t segment;
    uint64_t begin, first; /* in the file; the number of its first tile in the view */
    struct wfs_tiling tiling;
    enum wfs_ggml_type type;
};

struct wfs_store {
    struct wfs_disk_view *view;
    bool waits; /* reads of its files */
    pthread_mutex_t lock; /* taken before a generation's */
    const struct wfs_node *node; /* protected by lock; NULL once it is detached */
    /* The disk's thread's, between hold and let_go: the node whose object is pinned; its generation is held, too. */
    const struct wfs_node *held;
    struct wfs_object *object;
    size_t n_tiled;
    struct tiled tiled[];
};

/* ---- the key ---- */

static void put_u64(XXH3_state_t *h, uint64_t v)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(v >> (8 * i));
    XXH3_128bits_update(h, bytes, sizeof bytes);
}

static void put_text(XXH3_state_t *h, const char *text)
{
    put_u64(h, strlen(text));
    XXH3_128bits_update(h, text, strlen(text));
}

static void put_file(XXH3_state_t *h, const struct wfs_store_about *a, uint32_t file)
{
    assert(file < a->n_files);
    put_text(h, a->digests[file].from == WFS_DIGEST_HOST ? "host" : "sha256"); /* told or computed: the same content */
    XXH3_128bits_update(h, a->digests[file].bytes, sizeof a->digests[file].bytes);
    put_u64(h, a->sizes[file]);
}

static void put_plan(XXH3_state_t *h, const struct wfs_store_about *a, const struct wfs_plan *p)
{
    struct wfs_tiling t = wfs_pipeline_tiling(p);

    put_file(h, a, p->tensor->file);
    put_u64(h, p->tensor->offset);
    put_text(h, wfs_dtypes[p->tensor->dtype].name);
    put_u64(h, p->row_elems);
    put_u64(h, p->n_rows);
    put_u64(h, p->order == WFS_ROWS_ROPE ? p->n_heads : 0);
    put_text(h, wfs_ggml_types[p->via].name);
    put_text(h, wfs_ggml_types[p->dst].name);
    put_u64(h, (uint64_t)p->validate_via << 1 | p->validate);
    put_u64(h, t.tile_elems);
    put_u64(h, t.unit_elems);
    put_u64(h, p->weights != NULL);
    if (p->weights) {
        put_u64(h, p->slice_rows);
        put_u64(h, p->n_slices);
        XXH3_128bits_update(h, p->weights, (size_t)(p->row_elems * p->n_slices) * sizeof *p->weights);
    }
}

static void put_segment(XXH3_state_t *h, const struct wfs_store_about *a, const struct wfs_segment *s)
{
    put_u64(h, s->end - s->begin);
    switch (s->kind) {
    case WFS_SEGMENT_DATA:
        put_text(h, "data");
        XXH3_128bits_update(h, s->data, (size_t)(s->end - s->begin));
        break;
    case WFS_SEGMENT_ZERO:
        put_text(h, "zero");
        break;
    case WFS_SEGMENT_EXTENT:
        put_text(h, "extent");
        put_file(h, a, s->extent.file);
        put_u64(h, s->extent.offset);
        break;
    case WFS_SEGMENT_TENSOR:
        put_text(h, "tensor");
        put_plan(h, a, s->plan);
        break;
    }
}

int wfs_store_key(const struct wfs_store_about *a, struct wfs_disk_key *ret)
{
    XXH3_state_t *h = XXH3_createState();
    XXH128_canonical_t key;

    if (!h)
        return -ENOMEM;
    XXH3_128bits_reset(h);
    put_text(h, "weightfs view");
    put_u64(h, WFS_DISK_FORMAT);
    put_u64(h, WFS_TILE_ELEMS); /* decides the tiles' numbers, and so their records' places */
    put_u64(h, a->layout->size);
    for (size_t i = 0; i < a->layout->n_segments; i++)
        put_segment(h, a, &a->layout->segments[i]);
    XXH128_canonicalFromHash(&key, XXH3_128bits_digest(h));
    memcpy(ret->bytes, key.digest, sizeof ret->bytes);
    XXH3_freeState(h);
    return 0;
}

/* ---- where tiles are ---- */

static const struct tiled *by_segment(const struct wfs_store *s, size_t segment)
{
    size_t low = 0, high = s->n_tiled;

    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        *(s->tiled[mid].segment <= segment ? &low : &high) = mid;
    }
    assert(s->tiled[low].segment == segment);
    return &s->tiled[low];
}

static const struct tiled *by_index(const struct wfs_store *s, uint64_t index)
{
    size_t low = 0, high = s->n_tiled;

    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        *(s->tiled[mid].first <= index ? &low : &high) = mid;
    }
    return &s->tiled[low];
}

uint64_t wfs_store_index(const struct wfs_store *s, size_t segment, uint64_t tile)
{
    return by_segment(s, segment)->first + tile;
}

static uint64_t bytes_of(enum wfs_ggml_type type, uint64_t n_elems)
{
    return n_elems / wfs_ggml_types[type].block_elems * wfs_ggml_types[type].block_bytes;
}

static void place(void *ctx, uint64_t index, uint64_t *ret_offset, uint64_t *ret_len)
{
    const struct tiled *t = by_index(ctx, index);
    uint64_t begin, end;

    wfs_pipeline_tile(&t->tiling, index - t->first, &begin, &end);
    *ret_offset = t->begin + bytes_of(t->type, begin);
    *ret_len = bytes_of(t->type, end - begin);
}

/* ---- the rest, read as any reader would ---- */

/*
 * What is pinned is the node's object of now, not always the one that this store was made for: that one may have been
 * let go, and be about to detach its store. So who is held is remembered apart from node.
 */
static bool hold(void *ctx)
{
    struct wfs_store *s = ctx;
    struct wfs_generation *g = NULL;

    pthread_mutex_lock(&s->lock);
    if (s->node && wfs_generation_try_ref(s->node->generation)) {
        g = s->node->generation;
        s->object = wfs_generation_is_current(g->fs, g) ? wfs_node_object_get(s->node) : NULL;
        s->held = s->object ? s->node : NULL;
    }
    pthread_mutex_unlock(&s->lock);
    if (g && !s->held)
        wfs_generation_unref(g);
    return s->held != NULL;
}

static int rest(void *ctx, uint64_t offset, void *buf, size_t len)
{
    struct wfs_store *s = ctx;

    return wfs_engine_pread(wfs_fs_engine(s->held->generation->fs), s->object, offset, buf, len);
}

static void let_go(void *ctx)
{
    struct wfs_store *s = ctx;
    const struct wfs_node *held = WFS_STEAL(s->held);

    s->object = NULL;
    wfs_node_object_put(held);
    wfs_generation_unref(held->generation);
}

static void free_store(void *ctx)
{
    struct wfs_store *s = ctx;

    pthread_mutex_destroy(&s->lock);
    free(s);
}

static const struct wfs_disk_content content = { place, hold, rest, let_go, free_store };

/* ---- making one ---- */

struct sum {
    size_t n_tiled;
    uint64_t n_tiles, tile_bytes;
    bool host_only;
};

static void sum_up(const struct wfs_store_about *a, struct sum *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < a->layout->n_segments; i++) {
        const struct wfs_segment *s = &a->layout->segments[i];
        uint32_t file = s->kind == WFS_SEGMENT_TENSOR ? s->plan->tensor->file : s->extent.file;

        if (s->kind == WFS_SEGMENT_TENSOR) {
            ret->n_tiled++;
            ret->n_tiles += wfs_pipeline_tiling(s->plan).n_tiles;
            ret->tile_bytes += s->end - s->begin;
        }
        if (s->kind == WFS_SEGMENT_TENSOR || s->kind == WFS_SEGMENT_EXTENT)
            ret->host_only = ret->host_only || a->digests[file].from == WFS_DIGEST_HOST;
    }
}

static void list_tiled(struct wfs_store *s, const struct wfs_layout *l)
{
    uint64_t first = 0;

    for (size_t i = 0; i < l->n_segments; i++) {
        const struct wfs_segment *seg = &l->segments[i];
        struct tiled *t = &s->tiled[s->n_tiled];

        if (seg->kind != WFS_SEGMENT_TENSOR)
            continue;
        *t = (struct tiled){ i, seg->begin, first, wfs_pipeline_tiling(seg->plan), seg->plan->dst };
        first += t->tiling.n_tiles;
        s->n_tiled++;
    }
}

int wfs_store_new(struct wfs_disk *d, const struct wfs_store_about *a, struct wfs_store **ret)
{
    struct wfs_disk_shape shape = { .size = a->layout->size, .model = a->model, .name = a->name,
                                    .content = &content };
    struct wfs_store *s;
    struct sum sum;
    int r;

    sum_up(a, &sum);
    *ret = NULL;
    if (sum.n_tiles == 0)
        return 0;
    r = wfs_store_key(a, &shape.key);
    if (r < 0)
        return r;
    s = calloc(1, sizeof *s + sum.n_tiled * sizeof s->tiled[0]);
    if (!s)
        return -ENOMEM;
    pthread_mutex_init(&s->lock, NULL);
    s->node = a->node;
    s->waits = a->waits;
    list_tiled(s, a->layout);
    shape.n_tiles = sum.n_tiles;
    shape.host_only = sum.host_only;
    shape.completes = sum.tile_bytes >= a->layout->size / 2; /* else it would be a copy of the source */
    shape.ctx = s;
    r = wfs_disk_view_new(d, &shape, &s->view);
    if (r < 0) {
        free_store(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct wfs_store *wfs_store_ref(struct wfs_store *s)
{
    if (s)
        wfs_disk_view_ref(s->view);
    return s;
}

void wfs_store_unref(struct wfs_store *s)
{
    if (s)
        wfs_disk_view_unref(s->view); /* frees s with its last reference */
}

void wfs_store_detach(struct wfs_store *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->node = NULL;
    pthread_mutex_unlock(&s->lock);
}

struct wfs_disk_view *wfs_store_view(struct wfs_store *s)
{
    return s->view;
}

int wfs_store_whole(struct wfs_store *s)
{
    return wfs_disk_view_whole(s->view, true);
}

/* ---- loading ---- */

void wfs_load_init(struct wfs_load *l, struct wfs_store *store, size_t segment, uint64_t tile)
{
    l->store = wfs_store_ref(store);
    if (store)
        l->index = wfs_store_index(store, segment, tile);
}

/* The job is to make the tile. */
static bool give_up(struct wfs_load *l)
{
    wfs_disk_files_put(l->files);
    l->files = NULL;
    l->stage = WFS_LOAD_OVER;
    wfs_disk_note_miss(l->store->view);
    return false;
}

static bool ask(struct wfs_load *l)
{
    int r;

    l->files = wfs_disk_files_get(l->store->view);
    if (!l->files)
        return false;
    r = wfs_disk_record_now(l->files, l->index, l->record);
    l->stage = r > 0 ? WFS_LOAD_TILE : WFS_LOAD_RECORD;
    return r != 0;
}

bool wfs_load_prepare(struct wfs_load *l, struct wfs_job *job, struct wfs_cache *c, struct wfs_block *b, size_t len)
{
    uint64_t offset, place_len;

    if (!l->store || l->stage == WFS_LOAD_OVER)
        return false;
    if (l->stage == WFS_LOAD_ASK && !ask(l))
        return give_up(l);
    memset(&l->io, 0, sizeof l->io);
    l->io.kind = WFS_IO_READ;
    l->io.apart = true;
    l->io.waits = l->store->waits;
    if (l->stage == WFS_LOAD_RECORD) {
        l->io.fd = wfs_disk_files_sums(l->files);
        l->io.offset = wfs_disk_record_offset(l->index);
        l->io.buf = l->record;
        l->io.len = sizeof l->record;
    } else {
        place(l->store, l->index, &offset, &place_len);
        assert(place_len == len);
        l->io.fd = wfs_disk_files_data(l->files);
        l->io.offset = offset;
        l->io.buf = wfs_block_alloc(c, b);
        l->io.len = len;
        if (!l->io.buf)
            return give_up(l);
    }
    job->ios = &l->io;
    job->n_ios = 1;
    return true;
}

enum wfs_load_answer wfs_load_run(struct wfs_load *l, struct wfs_job *job, struct wfs_block *b, size_t len)
{
    if (!l->store || l->stage == WFS_LOAD_OVER || job->cancelled || !l->io.buf || l->io.abandoned)
        return WFS_LOAD_NONE;
    job->ios = NULL;
    job->n_ios = 0;
    if (l->io.result < 0) {
        wfs_disk_read_failed(l->store->view, l->io.fd, l->io.offset, l->io.len, l->io.result);
    } else if (l->stage == WFS_LOAD_RECORD) {
        if (!wfs_disk_record_is_empty(l->record)) {
            l->stage = WFS_LOAD_TILE;
            return WFS_LOAD_AGAIN;
        }
    } else if (wfs_disk_check(l->store->view, l->index, l->record, wfs_block_data(b), len)) {
        return WFS_LOAD_FOUND;
    }
    give_up(l);
    return WFS_LOAD_AGAIN;
}

struct kept {
    struct wfs_cache *cache;
    struct wfs_block *block;
};

static void written(void *ctx)
{
    struct kept *k = ctx;

    wfs_cache_release(k->cache, &k->block, 1, 0);
    free(k);
}

void wfs_load_keep(struct wfs_load *l, struct wfs_cache *c, struct wfs_block *b, size_t len)
{
    struct kept *k = l->store ? malloc(sizeof *k) : NULL;

    if (!k)
        return;
    *k = (struct kept){ c, b };
    wfs_block_hold(c, b);
    if (!wfs_disk_put(l->store->view, l->index, wfs_block_data(b), len, written, k)) {
        wfs_cache_release(c, &b, 1, 0);
        free(k);
    }
}

void wfs_load_done(struct wfs_load *l, struct wfs_block *b)
{
    if (l->io.abandoned && b)
        wfs_block_forget(b); /* the kernel may yet write into its memory */
    wfs_disk_files_put(l->files);
    wfs_store_unref(l->store);
    l->files = NULL;
    l->store = NULL;
}
