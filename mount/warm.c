/*
 * Makes views ahead of use: reads them through the mount, so that their pages are in the page cache. One thread reads;
 * the main one draws the progress line and waits for signals, so that an interrupt ends the command also when the read
 * hangs with the source.
 */
#include "base/cleanup.h"
#include "commands.h"
#include "human.h"
#include "json.h"
#include "memory.h"
#include "progress.h"
#include "status_file.h"
#include "suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>

enum { PIECE = 1 << 20, DRAW_MS = 100, SIGNALLED = 128 };

struct view {
    const char *name; /* in the mount */
    int fd;
    uint64_t size;
    atomic_ullong done; /* bytes read */
    double seconds;     /* that reading took */
};

/* What the mount says of its disk cache. */
struct disk_cache {
    bool there, on;   /* written to */
    uint64_t misses, dropped; /* tiles that were not there; that could not be kept */
    char reason[300]; /* why it is not on */
};

struct warming {
    const char *mountpoint;
    struct view *views;
    size_t n_views;
    atomic_size_t at;   /* the view that is being read; n_views at the end */
    atomic_bool opened; /* all of them: their sizes are known */
    struct disk_cache disk; /* the mount's, before */
    int finished;     /* event descriptor */
    int result;
    struct wfs_error err;
};

/* --- what the mount says of itself --- */

/* The text of member of the first object in list whose path is path; NULL when there is none. */
static const char *find_text(const cJSON *list, const char *path, const char *member)
{
    for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
        const char *name = wfs_json_string(wfs_json_get(item, "path"));

        if (name && strcmp(name, path) == 0)
            return wfs_json_string(wfs_json_get(item, member));
    }
    return NULL;
}

/* The last data error that names the view. */
static const char *find_error(const cJSON *errors, const char *path)
{
    const cJSON *last = errors ? wfs_json_get(errors, "last") : NULL;
    const char *found = NULL;

    for (const cJSON *item = last ? last->child : NULL; item; item = item->next) {
        const char *text = wfs_json_string(item);

        if (text && strncmp(text, path, strlen(path)) == 0)
            found = text;
    }
    return found;
}

static int parse_status(struct warming *w, struct wfs_json **ret)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf text = WFS_BUF_INIT;
    int r = wfs_status_file_read(w->mountpoint, &text, &w->err);

    return r < 0 ? r : wfs_json_parse(text.data, text.len, &WFS_JSON_CONFIG, "status.json", ret, &w->err);
}

/* A file of that name is neither offered nor withheld. */
static int say_absent(struct warming *w, const char *name, const cJSON *root)
{
    const cJSON *views = root ? wfs_json_get(root, "views") : NULL;
    struct wfs_suggestion near;
    char text[100], shown[1200];
    const char *source = root ? wfs_json_string(wfs_json_get(root, "source")) : NULL;

    source = source ? source : "SOURCE";
    wfs_escape(shown, sizeof shown, source, strlen(source));
    wfs_suggest_begin(&near, name);
    for (const cJSON *item = views ? views->child : NULL; item; item = item->next) {
        const char *path = wfs_json_string(wfs_json_get(item, "path"));

        if (path)
            wfs_suggest_consider(&near, path);
    }
    wfs_suggest_text(&near, "", text, sizeof text);
    return wfs_error_set(&w->err, ENOENT, "there is no file %s in %s%s `weightfs ls --all %s` lists what is there",
                         name, w->mountpoint, text[0] ? text : ";", shown);
}

/* A view that could not be opened or read, with what the mount knows of it. */
static int explain(struct warming *w, const struct view *v, int code)
{
    struct wfs_json *json = NULL;
    const cJSON *root = NULL;
    const char *reason = NULL;

    if (parse_status(w, &json) == 0) {
        root = wfs_json_root(json);
        reason = code == ENOENT ? find_text(wfs_json_get(root, "withheld"), v->name, "reason")
                                : find_error(wfs_json_get(root, "errors"), v->name);
    }
    if (code == ENOENT && reason)
        wfs_error_set(&w->err, code, "%s is withheld: %s", v->name, reason);
    else if (code == ENOENT)
        say_absent(w, v->name, root);
    else if (reason)
        wfs_error_set(&w->err, code, "%s", reason);
    else
        wfs_error_set(&w->err, code, "%s: %s", v->name, strerror(code));
    wfs_json_free(json);
    return -code;
}

static int ask_disk_cache(struct warming *w, struct disk_cache *ret)
{
    const char *state, *reason;
    struct wfs_json *json;
    const cJSON *disk;
    int r = parse_status(w, &json);

    if (r < 0)
        return r;
    disk = wfs_json_get(wfs_json_root(json), "disk_cache");
    *ret = (struct disk_cache){ .there = disk != NULL };
    if (disk) {
        state = wfs_json_string(wfs_json_get(disk, "state"));
        reason = wfs_json_string(wfs_json_get(disk, "reason"));
        ret->on = state && strcmp(state, "on") == 0;
        wfs_json_u64(wfs_json_get(disk, "misses"), &ret->misses);
        wfs_json_u64(wfs_json_get(disk, "tiles_dropped"), &ret->dropped);
        wfs_escape(ret->reason, sizeof ret->reason, reason ? reason : "", reason ? strlen(reason) : 0);
    }
    wfs_json_free(json);
    return 0;
}

/* --- on the thread that reads --- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int open_view(struct warming *w, struct view *v, int folder, dev_t dev)
{
    struct stat st;

    v->fd = openat(folder, v->name, O_RDONLY | O_CLOEXEC);
    if (v->fd < 0 || fstat(v->fd, &st) < 0)
        return explain(w, v, errno);
    if (st.st_dev != dev)
        return wfs_error_set(&w->err, EXDEV, "%s is not a file of the mount at %s", v->name, w->mountpoint);
    if (S_ISDIR(st.st_mode))
        return wfs_error_set(&w->err, EISDIR, "%s is a folder; name files in it", v->name);
    if (strncmp(v->name, ".weightfs/", 10) == 0)
        return wfs_error_set(&w->err, EINVAL, "%s is made anew for each reader", v->name);
    v->size = (uint64_t)st.st_size;
    return 0;
}

/* All are opened before any is read: a slip shows at once, not after an hour. */
static int open_views(struct warming *w)
{
    WFS_CLEANUP(wfs_close) int folder = open(w->mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t memory = wfs_memory_for_pages("/proc/meminfo", "/proc/self/cgroup", "/sys/fs/cgroup"), total = 0;
    char size[16], room[16];
    struct stat st;
    int r = ask_disk_cache(w, &w->disk);

    if (r < 0)
        return r;
    if (folder < 0 || fstat(folder, &st) < 0)
        return wfs_error_set(&w->err, errno, "%s: %s", w->mountpoint, strerror(errno));
    for (size_t i = 0; i < w->n_views && r == 0; i++) {
        r = open_view(w, &w->views[i], folder, st.st_dev);
        total += w->views[i].size;
    }
    if (r == 0 && total > memory)
        fprintf(stderr,
                "weightfs warm: warning: %s are to be read, and there is memory for %s: what comes first will be dropped "
                "again%s\n",
                wfs_human_bytes(total, size, sizeof size), wfs_human_bytes(memory, room, sizeof room),
                w->disk.on ? ", but for what the disk cache keeps" : "");
    return r;
}

static int read_view(struct warming *w, struct view *v, uint8_t *buf)
{
    double begin = now();
    uint64_t at = 0;

    posix_fadvise(v->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    while (at < v->size) {
        ssize_t n = pread(v->fd, buf, PIECE, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return explain(w, v, n < 0 ? errno : EIO);
        at += (uint64_t)n;
        atomic_store(&v->done, at);
    }
    v->seconds = now() - begin;
    return 0;
}

/* Bytes of the view that are in the page cache, counted by pages. */
static uint64_t resident(const struct view *v)
{
    enum { SPAN = 256 << 20 };
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes = 0;
    WFS_CLEANUP(wfs_free) unsigned char *pages = malloc(SPAN / page);

    for (uint64_t at = 0; pages && at < v->size; at += SPAN) {
        size_t len = v->size - at < SPAN ? (size_t)(v->size - at) : SPAN;
        void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, v->fd, (off_t)at);

        if (map == MAP_FAILED)
            continue;
        if (mincore(map, len, pages) == 0) {
            for (size_t i = 0; i < (len + page - 1) / page; i++)
                bytes += pages[i] & 1 ? page : 0;
        }
        munmap(map, len);
    }
    return bytes < v->size ? bytes : v->size;
}

/* Who fills a disk cache must hear that it was not filled. Whether all that was made is kept, as far as is known. */
static bool check_disk_cache(struct warming *w)
{
    struct disk_cache now;

    if (!w->disk.there || ask_disk_cache(w, &now) < 0)
        return false;
    if (!now.on && now.misses > w->disk.misses)
        fprintf(stderr, "weightfs warm: note: the mount's disk cache keeps nothing new: %s\n", now.reason);
    else if (now.on && now.dropped > w->disk.dropped)
        fprintf(stderr, "weightfs warm: note: the mount's disk cache did not keep %" PRIu64 " tiles, for want of room or "
                        "time: they are made again when they are no longer in memory\n", now.dropped - w->disk.dropped);
    return now.on && now.dropped <= w->disk.dropped;
}

/* What was read may have been dropped while the rest was read. */
static int check_resident(struct warming *w)
{
    uint64_t total = 0, there = 0;
    bool kept_on_disk = check_disk_cache(w);
    char size[16], gone[16];

    for (size_t i = 0; i < w->n_views; i++) {
        total += w->views[i].size;
        there += resident(&w->views[i]);
    }
    if (there == total || (kept_on_disk && w->disk.on))
        return 0;
    return wfs_error_set(&w->err, ENOMEM, "all was made, but %s of %s are no longer in memory and will be made anew",
                         wfs_human_bytes(total - there, gone, sizeof gone), wfs_human_bytes(total, size, sizeof size));
}

static void *warm_all(void *arg)
{
    struct warming *w = arg;
    WFS_CLEANUP(wfs_free) uint8_t *buf = malloc(PIECE);
    uint64_t one = 1;
    int r = buf ? open_views(w) : wfs_error_nomem(&w->err);

    atomic_store(&w->opened, r == 0);
    for (size_t i = 0; i < w->n_views && r == 0; i++) {
        r = read_view(w, &w->views[i], buf);
        if (r == 0)
            atomic_store(&w->at, i + 1);
    }
    if (r == 0)
        r = check_resident(w);
    w->result = r;
    while (write(w->finished, &one, sizeof one) < 0 && errno == EINTR)
        ;
    return NULL;
}

/* --- on the main thread --- */

/* Those that are not ignored, as under nohup. */
static int block_signals(void)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&set, ends[i]);
    }
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static void say_done(const struct view *v)
{
    double rate = v->seconds > 0 ? (double)v->size / v->seconds : 0;
    char size[16], rate_text[16];

    printf("%s: %s in %.1f s, %s/s\n", v->name, wfs_human_bytes(v->size, size, sizeof size), v->seconds,
           wfs_human_bytes((uint64_t)rate, rate_text, sizeof rate_text));
    fflush(stdout);
}

static void say_interrupted(struct warming *w)
{
    size_t at = atomic_load(&w->at), i = at < w->n_views ? at : w->n_views - 1;
    const struct view *v = &w->views[i];
    char done[16], size[16], others[64] = "";

    if (!atomic_load(&w->opened)) {
        fprintf(stderr, "weightfs warm: interrupted before anything was read\n");
        return;
    }
    if (w->n_views > 1)
        snprintf(others, sizeof others, "; %zu of %zu views are made", at, w->n_views);
    fprintf(stderr, "weightfs warm: interrupted: %s of %s of %s are made%s\n",
            wfs_human_bytes(atomic_load(&v->done), done, sizeof done), wfs_human_bytes(v->size, size, sizeof size),
            v->name, others);
}

/* Draws until all is read (0) or a signal comes (its number). */
static int watch(struct warming *w, int signals)
{
    struct pollfd events[] = { { w->finished, POLLIN, 0 }, { signals, POLLIN, 0 } };
    struct wfs_progress progress = { 0 };
    struct signalfd_siginfo info;
    size_t shown = 0;
    int signal = 0;

    while (!signal && !events[0].revents) {
        size_t at;

        if (poll(events, 2, DRAW_MS) < 0)
            events[0].revents = 0;
        else if (events[1].revents && read(signals, &info, sizeof info) == sizeof info)
            signal = (int)info.ssi_signo;
        at = atomic_load(&w->at);
        if (shown < at)
            wfs_progress_end(&progress);
        for (; shown < at; shown++)
            say_done(&w->views[shown]);
        if (at == w->n_views || !atomic_load(&w->opened))
            continue;
        if (progress.label != w->views[at].name)
            wfs_progress_begin(&progress, stderr, w->views[at].name, w->views[at].size);
        wfs_progress_update(&progress, atomic_load(&w->views[at].done));
    }
    wfs_progress_end(&progress);
    return events[0].revents ? 0 : signal;
}

/* The path in the mount of what was typed: so, or as a path that leads there. */
static const char *name_of(const char *mountpoint, const char *typed)
{
    size_t len = strlen(mountpoint);

    while (len > 0 && mountpoint[len - 1] == '/')
        len--;
    if (len > 0 && strncmp(typed, mountpoint, len) == 0 && typed[len] == '/')
        typed += len;
    while (typed[0] == '/' || (typed[0] == '.' && typed[1] == '/'))
        typed += typed[0] == '.' ? 2 : 1;
    return typed;
}

static int start(struct warming *w, struct wfs_arguments *args, pthread_t *ret)
{
    int r;

    w->n_views = 1 + (size_t)args->n_more;
    w->views = calloc(w->n_views, sizeof *w->views);
    w->finished = eventfd(0, EFD_CLOEXEC);
    if (!w->views || w->finished < 0)
        return wfs_error_nomem(&w->err);
    for (size_t i = 0; i < w->n_views; i++) {
        w->views[i].name = name_of(w->mountpoint, i ? args->more[i - 1] : args->positional[1]);
        w->views[i].fd = -1;
    }
    r = pthread_create(ret, NULL, warm_all, w);
    return r == 0 ? 0 : wfs_error_set(&w->err, r, "cannot start a thread: %s", strerror(r));
}

static int run(const struct wfs_command *command, struct wfs_arguments *args)
{
    struct warming w = { .mountpoint = args->positional[0], .finished = -1 };
    int signals = block_signals(), signal = 0, r;
    pthread_t reader;

    r = start(&w, args, &reader);
    if (r == 0) {
        signal = watch(&w, signals);
        if (signal) { /* the reader may hang: it ends with the process */
            say_interrupted(&w);
            fflush(stderr);
            _exit(SIGNALLED + signal);
        }
        pthread_join(reader, NULL);
        r = w.result;
    }
    for (size_t i = 0; w.views && i < w.n_views; i++)
        wfs_close(&w.views[i].fd);
    free(w.views);
    wfs_close(&w.finished);
    wfs_close(&signals);
    if (r == 0)
        return WFS_EXIT_OK;
    wfs_complain(command, &w.err);
    return WFS_EXIT_FAILED;
}

static const char *const positionals[] = { "MOUNTPOINT", "VIEW...", NULL };

const struct wfs_command wfs_command_warm = {
    .name = "warm",
    .summary = "make views of a mount ahead of use",
    .positionals = positionals,
    .about = "Reads each VIEW of the mount at MOUNTPOINT once, so that it is in memory (and, where the mount\n"
             "has one, in its disk cache) when a program reads it. On a terminal a line shows how far it\n"
             "is. An interrupt says how far it came; what was made stays.",
    .examples = "  weightfs warm /mnt/llama model-q4_k_m.gguf\n"
                "  weightfs warm /mnt/llama model-q4_k_m.gguf tokenizer.json\n",
    .run = run,
};
