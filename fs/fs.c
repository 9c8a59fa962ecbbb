#include "fs.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "digests.h"
#include "disk.h"
#include "fs_private.h"
#include "generation.h"
#include "gguf/recipe.h"
#include "json_text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <xxhash.h>

enum {
    LOOK_INTERVAL_MS = 200,
    CLOSE_WAIT_S = 3,     /* for looks and preparations that hang with the source */
    MAX_LOGGED = 1000,    /* lines remembered, so that each cause is logged once */
    KEPT_ERRORS = 4, KEPT_ERROR_BYTES = 300
};
static const uint64_t DEFAULT_CACHE_SIZE = 512u << 20, MAX_DISK_QUEUE = 64u << 20;

struct refresh_waiter {
    struct refresh_waiter *next;
    void (*done)(void *ctx, int result);
    void *ctx;
};

struct wfs_fs {
    struct wfs_fs_options options; /* strings owned */
    struct wfs_listing listing;
    struct wfs_matrices matrices;
    const struct wfs_matrix *matrix; /* for every quantised view, or NULL; one of matrices */
    struct wfs_engine *engine;
    struct wfs_disk *disk; /* NULL: no disk cache */
    bool disk_is_local;
    struct wfs_digest_memory digests;
    char *source_path, *source_given;

    pthread_mutex_t lock; /* outermost here; protects what follows */
    pthread_cond_t idle;  /* n_busy became 0 */
    unsigned n_busy;      /* looks, preparations and jobs of generations under way */
    bool closing;
    struct wfs_generation *current;
    uint64_t last_number;
    dev_t own_dev;               /* 0 = not mounted */
    bool looking;                /* a look is under way */
    struct timespec last_look;   /* when the last one began */
    int last_result;
    struct refresh_waiter *waiters;
    struct wfs_job look;
    uint64_t logged[MAX_LOGGED]; /* hashes of lines, a ring */
    uint64_t n_logged;
    uint64_t n_errors;
    char errors[KEPT_ERRORS][KEPT_ERROR_BYTES]; /* a ring: the last is at (n_errors - 1) % KEPT_ERRORS */
    bool passthrough;
    const char *passthrough_reason; /* static */
    uint64_t passthrough_opens;
};

const struct wfs_fs_options *wfs_fs_options_of(const struct wfs_fs *fs)
{
    return &fs->options;
}

const struct wfs_listing *wfs_fs_listing(const struct wfs_fs *fs)
{
    return &fs->listing;
}

const struct wfs_matrix *wfs_fs_matrix(const struct wfs_fs *fs, const char *path)
{
    return path ? wfs_matrices_find(&fs->matrices, path) : fs->matrix;
}

struct wfs_disk *wfs_fs_disk(struct wfs_fs *fs)
{
    return fs->disk;
}

bool wfs_fs_disk_is_local(const struct wfs_fs *fs)
{
    return fs->disk_is_local;
}

const struct wfs_digest_memory *wfs_fs_digest_memory(const struct wfs_fs *fs)
{
    return &fs->digests;
}

struct wfs_engine *wfs_fs_engine(struct wfs_fs *fs)
{
    return fs->engine;
}

const char *wfs_fs_source_path(const struct wfs_fs *fs)
{
    return fs->source_path;
}

const char *wfs_fs_source_given(const struct wfs_fs *fs)
{
    return fs->source_given;
}

bool wfs_fs_source_is_local(struct wfs_fs *fs, bool *ret_stacked)
{
    struct wfs_generation *g = wfs_fs_generation(fs);
    bool local = g->source->local;
    struct statfs st;

    *ret_stacked = local && fstatfs(g->source->dir_fd, &st) == 0 && (long)st.f_type == OVERLAYFS_SUPER_MAGIC;
    wfs_generation_unref(g);
    return local;
}

/* Locked. Whether a line has not been logged before, as far as is remembered; it is from now on. */
static bool is_new(struct wfs_fs *fs, const char *line)
{
    uint64_t hash = XXH3_64bits(line, strlen(line));

    for (uint64_t i = 0; i < fs->n_logged && i < MAX_LOGGED; i++) {
        if (fs->logged[i] == hash)
            return false;
    }
    fs->logged[fs->n_logged++ % MAX_LOGGED] = hash;
    return true;
}

void wfs_fs_log(struct wfs_fs *fs, int level, const char *fmt, ...)
{
    char line[1400];
    bool new;
    va_list ap;

    if (!fs->options.on_log)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&fs->lock);
    new = is_new(fs, line);
    pthread_mutex_unlock(&fs->lock);
    if (new)
        fs->options.on_log(fs->options.log_ctx, level, line);
}

static void note_data_error(void *ctx, const struct wfs_error *err)
{
    struct wfs_fs *fs = ctx;
    bool new;

    pthread_mutex_lock(&fs->lock);
    new = is_new(fs, err->msg); /* an object that was let go and made again tells it again */
    if (new) {
        snprintf(fs->errors[fs->n_errors % KEPT_ERRORS], KEPT_ERROR_BYTES, "%.*s", KEPT_ERROR_BYTES - 1, err->msg);
        fs->n_errors++;
    }
    pthread_mutex_unlock(&fs->lock);
    if (new && fs->options.on_log)
        fs->options.on_log(fs->options.log_ctx, WFS_LOG_ERROR, err->msg);
}

void wfs_fs_put_errors(struct wfs_fs *fs, struct wfs_buf *out)
{
    char last[KEPT_ERRORS][KEPT_ERROR_BYTES];
    uint64_t count, kept;

    pthread_mutex_lock(&fs->lock);
    count = fs->n_errors;
    memcpy(last, fs->errors, sizeof last);
    pthread_mutex_unlock(&fs->lock);
    kept = count < KEPT_ERRORS ? count : KEPT_ERRORS;
    wfs_buf_printf(out, " \"errors\": {\"count\": %" PRIu64 ", \"last\": [", count);
    for (uint64_t i = 0; i < kept; i++) {
        const char *text = last[(count - kept + i) % KEPT_ERRORS];

        wfs_buf_str(out, i ? ", " : "");
        wfs_json_put_string(out, text, strlen(text));
    }
    wfs_buf_str(out, "]}");
}

void wfs_fs_set_passthrough(struct wfs_fs *fs, bool on, const char *reason)
{
    pthread_mutex_lock(&fs->lock);
    fs->passthrough = on;
    fs->passthrough_reason = reason;
    pthread_mutex_unlock(&fs->lock);
}

void wfs_fs_count_passthrough(struct wfs_fs *fs)
{
    pthread_mutex_lock(&fs->lock);
    fs->passthrough = true;
    fs->passthrough_opens++;
    pthread_mutex_unlock(&fs->lock);
}

void wfs_fs_put_passthrough(struct wfs_fs *fs, struct wfs_buf *out)
{
    const char *reason;
    uint64_t opens;
    bool on;

    pthread_mutex_lock(&fs->lock);
    on = fs->passthrough;
    reason = fs->passthrough_reason ? fs->passthrough_reason : "nothing is mounted";
    opens = fs->passthrough_opens;
    pthread_mutex_unlock(&fs->lock);
    wfs_buf_printf(out, ", \"passthrough\": %s, \"passthrough_reason\": \"%s\", \"passthrough_opens\": %" PRIu64,
                   on ? "true" : "false", reason, opens);
}

/* --- generations --- */

struct preparation {
    struct wfs_fs *fs;
    struct wfs_generation *generation;
};

static void end_busy(struct wfs_fs *fs)
{
    pthread_mutex_lock(&fs->lock);
    if (--fs->n_busy == 0)
        pthread_cond_broadcast(&fs->idle);
    pthread_mutex_unlock(&fs->lock);
}

void wfs_fs_run(struct wfs_fs *fs, struct wfs_job *job)
{
    pthread_mutex_lock(&fs->lock);
    fs->n_busy++;
    pthread_mutex_unlock(&fs->lock);
    wfs_pool_submit(wfs_engine_pool(fs->engine), job);
}

void wfs_fs_run_done(struct wfs_fs *fs)
{
    end_busy(fs);
}

static void *prepare(void *arg)
{
    struct preparation *p = arg;
    struct wfs_fs *fs = p->fs;

    wfs_generation_prepare(p->generation);
    wfs_generation_unref(p->generation);
    free(p);
    end_busy(fs);
    return NULL;
}

/* A thread of its own: a tokenizer takes a while, and the workers are for readers. */
static void start_preparation(struct wfs_fs *fs, struct wfs_generation *g)
{
    struct preparation *p = malloc(sizeof *p);
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, old;
    int r = -ENOMEM;

    if (!p) {
        wfs_generation_prepare(g);
        return;
    }
    *p = (struct preparation){ fs, wfs_generation_ref(g) };
    pthread_mutex_lock(&fs->lock);
    fs->n_busy++;
    pthread_mutex_unlock(&fs->lock);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old); /* signals are the main thread's */
    r = pthread_create(&thread, &attr, prepare, p);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (r != 0)
        prepare(p);
}

/* Takes the source. */
static int start_generation(struct wfs_fs *fs, struct wfs_source *source, struct wfs_error *err)
{
    struct wfs_generation *g, *old;
    int r = wfs_generation_new(fs, source, fs->last_number + 1, &g, err);

    if (r < 0)
        return r;
    pthread_mutex_lock(&fs->lock);
    fs->last_number++;
    old = fs->current;
    fs->current = wfs_generation_ref(g);
    atomic_store(&source->own_dev, fs->own_dev); /* mounted, perhaps, since the source was opened */
    pthread_mutex_unlock(&fs->lock);
    if (old)
        wfs_fs_log(fs, WFS_LOG_INFO, "the source has changed: generation %" PRIu64, g->number);
    start_preparation(fs, g);
    if (old)
        wfs_generation_supersede(old);
    wfs_generation_unref(old);
    wfs_generation_unref(g);
    return 0;
}

void wfs_fs_set_own_dev(struct wfs_fs *fs, dev_t dev)
{
    pthread_mutex_lock(&fs->lock);
    fs->own_dev = dev;
    atomic_store(&fs->current->source->own_dev, dev);
    fs->last_look = (struct timespec){ 0 }; /* the mount may have changed what the source's links lead to */
    pthread_mutex_unlock(&fs->lock);
}

struct wfs_generation *wfs_fs_generation(struct wfs_fs *fs)
{
    struct wfs_generation *g;

    pthread_mutex_lock(&fs->lock);
    g = wfs_generation_ref(fs->current);
    pthread_mutex_unlock(&fs->lock);
    return g;
}

bool wfs_generation_is_current(struct wfs_fs *fs, const struct wfs_generation *g)
{
    bool current;

    pthread_mutex_lock(&fs->lock);
    current = fs->current == g;
    pthread_mutex_unlock(&fs->lock);
    return current;
}

/* --- looking at the source again --- */

static int look(struct wfs_fs *fs)
{
    struct wfs_generation *g = wfs_fs_generation(fs);
    struct wfs_source *source;
    struct wfs_error err = { 0 };
    int r = wfs_source_changed(g->source);

    if (r == -ESTALE) {
        r = wfs_source_open(NULL, g->source, &source, &err);
        if (r == 0)
            r = start_generation(fs, source, &err);
    } else if (r < 0) {
        wfs_error_set(&err, -r, "%s: %s", fs->source_path, strerror(-r));
    }
    if (r < 0)
        wfs_fs_log(fs, WFS_LOG_ERROR, "the source cannot be looked at: %s", err.msg);
    wfs_generation_unref(g);
    return r;
}

static void run_look(struct wfs_job *job, void *scratch)
{
    struct wfs_fs *fs = (struct wfs_fs *)((char *)job - offsetof(struct wfs_fs, look));
    int r = job->cancelled ? -ECANCELED : look(fs);
    struct refresh_waiter *waiters;

    (void)scratch;
    pthread_mutex_lock(&fs->lock);
    fs->looking = false;
    fs->last_result = r;
    waiters = WFS_STEAL(fs->waiters);
    pthread_mutex_unlock(&fs->lock);
    while (waiters) {
        struct refresh_waiter *w = waiters;

        waiters = w->next;
        w->done(w->ctx, r);
        free(w);
    }
    end_busy(fs);
}

static bool is_recent(const struct timespec *then)
{
    struct timespec now;
    int64_t ms;

    clock_gettime(CLOCK_MONOTONIC, &now);
    ms = (int64_t)(now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
    return ms < LOOK_INTERVAL_MS;
}

void wfs_fs_refresh(struct wfs_fs *fs, void (*done)(void *ctx, int result), void *ctx)
{
    struct refresh_waiter *w;
    bool start = false;
    int result;

    pthread_mutex_lock(&fs->lock);
    result = fs->last_result;
    if (!fs->looking && (is_recent(&fs->last_look) || fs->closing))
        goto answer;
    w = malloc(sizeof *w);
    if (!w) {
        result = -ENOMEM;
        goto answer;
    }
    *w = (struct refresh_waiter){ .next = fs->waiters, .done = done, .ctx = ctx };
    fs->waiters = w;
    if (!fs->looking) {
        start = fs->looking = true;
        clock_gettime(CLOCK_MONOTONIC, &fs->last_look);
        fs->n_busy++;
        memset(&fs->look, 0, sizeof fs->look);
        fs->look.priority = WFS_FOREGROUND;
        fs->look.run = run_look;
    }
    pthread_mutex_unlock(&fs->lock);
    if (start)
        wfs_pool_submit(wfs_engine_pool(fs->engine), &fs->look);
    return;
answer:
    pthread_mutex_unlock(&fs->lock);
    done(ctx, result);
}

/* --- opening and closing --- */

static int copy_options(struct wfs_fs *fs, const struct wfs_fs_options *options, struct wfs_error *err)
{
    struct wfs_fs_options *o = &fs->options;

    if (options) {
        *o = *options;
        o->recipes = NULL;
        o->n_recipes = 0;
        o->views = options->views ? strdup(options->views) : NULL;
        o->model_name = options->model_name ? strdup(options->model_name) : NULL;
        o->pretokenizer = options->pretokenizer ? strdup(options->pretokenizer) : NULL;
        o->imatrix = NULL; /* the matrix remembers its path */
        o->disk_cache = options->disk_cache ? "" : NULL; /* and the disk its own; whether there is one */
        if ((options->views && !o->views) || (options->model_name && !o->model_name) ||
            (options->pretokenizer && !o->pretokenizer))
            return wfs_error_set(err, ENOMEM, "out of memory");
    }
    if (options && options->n_recipes > 0) {
        o->recipes = calloc(options->n_recipes, sizeof *o->recipes);
        if (!o->recipes)
            return wfs_error_nomem(err);
        for (; o->n_recipes < options->n_recipes; o->n_recipes++)
            o->recipes[o->n_recipes] = wfs_gguf_recipe_ref(options->recipes[o->n_recipes]);
    }
    if (o->cache_size == 0)
        o->cache_size = DEFAULT_CACHE_SIZE;
    return wfs_listing_init(&fs->listing, o, err);
}

static int read_matrices(struct wfs_fs *fs, const struct wfs_fs_options *options, struct wfs_error *err)
{
    const struct wfs_matrix *matrix;
    int r = 0;

    if (options->imatrix)
        r = wfs_matrices_get(&fs->matrices, options->imatrix, &fs->matrix, err);
    for (size_t i = 0; i < options->n_recipes && r == 0; i++) {
        if (options->recipes[i]->request.imatrix_file)
            r = wfs_matrices_get(&fs->matrices, options->recipes[i]->request.imatrix_file, &matrix, err);
    }
    return r;
}

static void log_disk(void *ctx, const char *line)
{
    wfs_fs_log(ctx, WFS_LOG_WARNING, "%s", line);
}

static uint64_t disk_queue(const struct wfs_fs *fs)
{
    uint64_t part = fs->options.cache_size / 8;

    return !fs->options.disk_cache ? 0 : part < MAX_DISK_QUEUE ? part : MAX_DISK_QUEUE;
}

static int open_disk(struct wfs_fs *fs, const char *path, struct wfs_error *err)
{
    struct wfs_disk_options options = { .path = path, .limit = fs->options.disk_cache_size,
                                        .queue_bytes = disk_queue(fs), .on_log = log_disk, .log_ctx = fs };
    int r = wfs_disk_open(&options, &fs->disk, err);
    struct statfs st;

    if (r == 0)
        fs->disk_is_local = statfs(path, &st) == 0 && wfs_filesystem_is_local(&st);
    if (r == 0)
        wfs_digest_memory_init(&fs->digests, wfs_disk_folder_open(path, false, NULL),
                               wfs_digest_memory_open_own(false, NULL));
    return r;
}

static int open_all(struct wfs_fs *fs, const char *path, struct wfs_error *err)
{
    struct wfs_engine_options options = {
        .cache_size = fs->options.cache_size,
        .n_workers = fs->options.workers,
        .no_io_uring = fs->options.no_io_uring,
        .compress = fs->options.compress,
        .drop_pages = fs->options.drop_pages,
        .disk_queue = disk_queue(fs),
        .hooks = fs->options.hooks,
        .on_error = note_data_error,
        .on_error_ctx = fs,
    };
    struct wfs_source *source;
    int r = wfs_source_open(path, NULL, &source, err);

    if (r < 0)
        return r;
    fs->source_path = strdup(source->path);
    fs->source_given = wfs_source_given(source);
    r = fs->source_path && fs->source_given ? wfs_engine_new(&options, &fs->engine, err) : wfs_error_nomem(err);
    if (r < 0) {
        wfs_source_close(source);
        return r;
    }
    clock_gettime(CLOCK_MONOTONIC, &fs->last_look);
    return start_generation(fs, source, err);
}

int wfs_fs_open(const char *path, const struct wfs_fs_options *options, struct wfs_fs **ret, struct wfs_error *err)
{
    struct wfs_fs *fs = calloc(1, sizeof *fs);
    int r;

    if (!fs)
        return wfs_error_set(err, ENOMEM, "out of memory");
    pthread_mutex_init(&fs->lock, NULL);
    pthread_cond_init(&fs->idle, NULL);
    wfs_matrices_init(&fs->matrices);
    wfs_digest_memory_init(&fs->digests, -1, -1);
    r = copy_options(fs, options, err);
    if (r == 0 && options)
        r = read_matrices(fs, options, err);
    if (r == 0 && options && options->disk_cache)
        r = open_disk(fs, options->disk_cache, err);
    if (r == 0)
        r = open_all(fs, path, err);
    if (r == 0)
        *ret = fs;
    else
        wfs_fs_close(fs);
    return r;
}

/* False when something still hangs with the source. */
static bool wait_idle(struct wfs_fs *fs)
{
    struct timespec until;
    bool idle;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CLOSE_WAIT_S;
    pthread_mutex_lock(&fs->lock);
    fs->closing = true;
    while (fs->n_busy && pthread_cond_timedwait(&fs->idle, &fs->lock, &until) == 0)
        ;
    idle = fs->n_busy == 0;
    pthread_mutex_unlock(&fs->lock);
    return idle;
}

void wfs_fs_close(struct wfs_fs *fs)
{
    /* What hangs may wake up any time: then everything it uses is left to the end of the process. */
    if (!fs || !wait_idle(fs))
        return;
    wfs_generation_unref(fs->current);
    if (!wfs_disk_stop(fs->disk) || !wfs_engine_free(fs->engine))
        return;
    wfs_disk_free(fs->disk);
    wfs_close(&fs->digests.folders[0]);
    wfs_close(&fs->digests.folders[1]);
    wfs_listing_done(&fs->listing);
    wfs_matrices_done(&fs->matrices);
    free((char *)fs->options.views);
    free((char *)fs->options.model_name);
    free((char *)fs->options.pretokenizer);
    for (size_t i = 0; i < fs->options.n_recipes; i++)
        wfs_gguf_recipe_unref(fs->options.recipes[i]);
    free(fs->options.recipes);
    free(fs->source_path);
    free(fs->source_given);
    pthread_cond_destroy(&fs->idle);
    pthread_mutex_destroy(&fs->lock);
    free(fs);
}
