#include "base/cleanup.h"
#include "commands.h"
#include "digests.h"
#include "disk.h"
#include "disk_place.h"
#include "hash_files.h"
#include "model.h"
#include "opened.h"
#include "preflight.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { DISK_CACHE, CHECK };
enum { MAX_SETTLE_S = 3 };

static const struct wfs_flag flags[] = {
    [DISK_CACHE] = { "disk_cache", 0, WFS_FLAG_VALUE, "DIR\tremember the keys in this folder of the disk cache, for "
                                                      "whoever mounts with it (else in ~/.cache/weightfs)" },
    [CHECK] = { "check", 0, WFS_FLAG_PLAIN, "read every file, also those whose key is known, and compare" },
    { 0 },
};

/* One weight file. */
struct keyed {
    const char *name;
    struct wfs_digest known; /* before */
    bool hub, read;          /* the hub's cache names it; it is among those that are read now */
    uint8_t hub_name[32];
    struct wfs_hash_job *job;
};

struct keying {
    struct wfs_source *source;
    struct wfs_digest_memory memory;
    int folder; /* where what is computed is remembered; one of memory's */
    const char *folder_name;
    struct keyed *files;
    struct wfs_hash_job *jobs;
    size_t n_files, n_jobs;
    struct wfs_error remembering; /* the first failure */
};

static int open_memory(struct keying *k, const char *disk_cache, const char *source, struct wfs_error *err)
{
    int own, shared = -1, r;

    if (disk_cache) {
        r = wfs_disk_place_check(disk_cache, source, NULL, err);
        shared = r < 0 ? r : wfs_disk_folder_open(disk_cache, true, err);
        if (shared < 0)
            return shared;
    }
    own = wfs_digest_memory_open_own(!disk_cache, err);
    if (own < 0 && !disk_cache)
        return own;
    wfs_digest_memory_init(&k->memory, shared, own);
    k->folder = disk_cache ? shared : own;
    k->folder_name = disk_cache ? disk_cache : "the user's cache folder";
    return 0;
}

/*
 * Where stamps are whole seconds, a write that comes right after may not show: waits until it would. Who is still
 * writing then may leave the stamps as they are, too.
 */
static bool wait_settled(const struct wfs_source *s)
{
    struct timespec now;

    if (s->unsettled_until.tv_sec == 0)
        return true;
    clock_gettime(CLOCK_REALTIME, &now);
    if (s->unsettled_until.tv_sec - now.tv_sec <= MAX_SETTLE_S)
        clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &s->unsettled_until, NULL);
    return false;
}

static int open_source(struct keying *k, const char *path, struct wfs_error *err)
{
    int r = wfs_source_open(path, NULL, &k->source, err);

    if (r < 0 || wait_settled(k->source))
        return r;
    wfs_source_close(k->source);
    k->source = NULL;
    r = wfs_source_open(path, NULL, &k->source, err);
    if (r == 0 && k->source->unsettled_until.tv_sec != 0)
        return wfs_error_set(err, EBUSY, "source %s: somebody writes to it: what it will hold is not known yet", path);
    return r;
}

/* The files of weights, and what is known of them. */
static int list_files(struct keying *k, const struct wfs_model *m, bool check, struct wfs_error *err)
{
    size_t n = m ? m->n_files : 0;

    k->files = calloc(n + 1, sizeof *k->files);
    k->jobs = calloc(n + 1, sizeof *k->jobs);
    if (!k->files || !k->jobs)
        return wfs_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        struct wfs_source_file *f = wfs_source_find(k->source, m->files[i].name);
        struct keyed *file = &k->files[k->n_files];

        if (!f)
            continue;
        k->n_files++;
        file->name = f->path;
        wfs_digest_of(&k->memory, k->source, f, &file->known);
        file->hub = wfs_digest_hub_name(k->source, f, file->hub_name);
        if (!check && file->known.from != WFS_DIGEST_HOST)
            continue;
        file->read = true;
        file->job = &k->jobs[k->n_jobs++];
        file->job->file = f;
    }
    return k->n_files > 0 ? 0 : wfs_error_set(err, ENOENT, "%s has no files of weights", k->source->path);
}

/* Remembered one by one: what is interrupted goes on where it was. */
static void remember(void *ctx, struct wfs_hash_job *job)
{
    struct keying *k = ctx;
    struct wfs_digest d = { .from = WFS_DIGEST_COMPUTED };
    int r;

    memcpy(d.bytes, job->sha256, sizeof d.bytes);
    r = wfs_digest_remember(&k->memory, k->folder, &job->file->identity, &d);
    if (r < 0 && k->remembering.code == 0)
        wfs_error_set(&k->remembering, -r, "the keys cannot be remembered in %s: %s", k->folder_name,
                      strerror(-r));
}

/* One line as sha256sum has it, and what is wrong with it. */
static int report(const struct wfs_command *command, const struct keyed *f)
{
    struct wfs_digest d = f->known;
    char hex[65], name[1200];

    wfs_escape(name, sizeof name, f->name, strlen(f->name));
    if (f->read && f->job->err.code) {
        wfs_complain(command, &f->job->err);
        return WFS_EXIT_FAILED;
    }
    if (f->read)
        memcpy(d.bytes, f->job->sha256, sizeof d.bytes);
    wfs_digest_hex(&d, hex);
    printf("%s  %s\n", hex, name);
    if (f->read && f->hub && memcmp(d.bytes, f->hub_name, sizeof d.bytes) != 0) {
        fprintf(stderr, "weightfs %s: %s is not what its name in the hub's cache says: it has been changed\n",
                command->name, name);
        return WFS_EXIT_FAILED;
    }
    if (f->read && f->known.from == WFS_DIGEST_COMPUTED && memcmp(d.bytes, f->known.bytes, sizeof d.bytes) != 0) {
        fprintf(stderr, "weightfs %s: %s is not what was remembered: it has been changed, under the same times\n",
                command->name, name);
        return WFS_EXIT_FAILED;
    }
    return WFS_EXIT_OK;
}

static int work(const struct wfs_command *command, struct keying *k, const struct wfs_arguments *args,
                const struct wfs_model *model, struct wfs_error *err)
{
    int r = open_memory(k, args->flag[DISK_CACHE], args->positional[0], err), code = WFS_EXIT_OK;

    if (r == 0)
        r = open_source(k, args->positional[0], err);
    if (r == 0)
        r = list_files(k, model, args->flag[CHECK] != NULL, err);
    if (r == 0 && wfs_hash_files(k->source, k->jobs, k->n_jobs, remember, k) < 0)
        r = wfs_error_nomem(err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < k->n_files; i++)
        code = report(command, &k->files[i]) == WFS_EXIT_OK ? code : WFS_EXIT_FAILED;
    if (k->remembering.code) {
        wfs_complain(command, &k->remembering);
        code = WFS_EXIT_FAILED;
    }
    return code;
}

static int run(const struct wfs_command *command, struct wfs_arguments *args)
{
    struct keying k = { .folder = -1 };
    struct wfs_error err = { 0 };
    struct wfs_model_info info = { 0 };
    struct wfs_opened opened;
    int r;

    wfs_digest_memory_init(&k.memory, -1, -1);
    r = wfs_opened_open(&opened, args->positional[0], &args->options, &err);
    if (r == 0)
        r = wfs_generation_model_info(opened.generation, &info);
    if (r == 0)
        r = work(command, &k, args, info.model, &err);
    if (r < 0) {
        wfs_complain(command, &err);
        r = WFS_EXIT_FAILED;
    }
    wfs_opened_close(&opened);
    wfs_source_close(k.source);
    wfs_close(&k.memory.folders[0]);
    wfs_close(&k.memory.folders[1]);
    free(k.files);
    free(k.jobs);
    return r;
}

static const char *const positionals[] = { "SOURCE", NULL };

const struct wfs_command wfs_command_cache_key = {
    .name = "cache key",
    .summary = "compute what a source's content is known by in the disk cache",
    .positionals = positionals,
    .flags = flags,
    .about = "Computes the SHA-256 of each file of weights, unless it is known, and remembers it for this host and\n"
             "as long as the file's times stay. With it, what disk_cache=DIR keeps can be used by other hosts\n"
             "and for copies of the same files; without, by this host and these files alone. Prints lines as\n"
             "sha256sum does. May be interrupted: files that are done stay known.",
    .examples = "  weightfs cache key ~/models/Llama-3.2-1B\n"
                "  weightfs cache key --disk_cache /srv/weightfs ~/models/Llama-3.2-1B\n",
    .run = run,
};
