#include "stats_watch.h"

#include "base/cleanup.h"
#include "human.h"
#include "json.h"
#include "status_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINES_UNDER_HEAD = 20 };

/* What a line is made of: counters that only grow, but for cache_bytes and waiting. */
struct sample {
    uint64_t served, source, made, hits, others, evicted, from_disk, cache_bytes, waiting, errors;
    struct timespec at;
};

static uint64_t number(const cJSON *root, const char *group, const char *name)
{
    const cJSON *object = wfs_json_get(root, group), *value = object ? wfs_json_get(object, name) : NULL;
    uint64_t n = 0;

    return value && wfs_json_u64(value, &n) ? n : 0;
}

static int take(const char *mountpoint, struct sample *ret, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf text = WFS_BUF_INIT;
    struct wfs_json *json;
    const cJSON *root;
    int r = wfs_status_file_read(mountpoint, &text, err);

    if (r == 0)
        r = wfs_json_parse(text.data, text.len, &WFS_JSON_CONFIG, "status.json", &json, err);
    if (r < 0)
        return r;
    root = wfs_json_root(json);
    *ret = (struct sample){
        .served = number(root, "io", "bytes_served"),
        .source = number(root, "io", "source_bytes_read"),
        .made = number(root, "cache", "tiles_made"),
        .hits = number(root, "cache", "hits") + number(root, "cache", "lz4_hits"),
        .others = number(root, "cache", "misses") + number(root, "cache", "waits"),
        .evicted = number(root, "cache", "evicted"),
        .from_disk = number(root, "disk_cache", "hits"),
        .waiting = number(root, "io", "reads_waiting"),
        .cache_bytes = number(root, "cache", "bytes"),
        .errors = number(root, "errors", "count") + number(root, "io", "read_errors"),
    };
    clock_gettime(CLOCK_MONOTONIC, &ret->at);
    wfs_json_free(json);
    return 0;
}

static uint64_t growth(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0; /* a new mount begins anew */
}

static double per_second(uint64_t before, uint64_t after, double seconds)
{
    return seconds > 0 ? (double)growth(before, after) / seconds : 0;
}

static void print_line(const struct sample *a, const struct sample *b)
{
    double seconds = (double)(b->at.tv_sec - a->at.tv_sec) + (double)(b->at.tv_nsec - a->at.tv_nsec) / 1e9;
    uint64_t hits = growth(a->hits, b->hits), others = growth(a->others, b->others);
    char served[16], source[16], cache[16], share[16] = "-";

    if (hits + others)
        snprintf(share, sizeof share, "%.0f%%", 100.0 * (double)hits / (double)(hits + others));
    printf("%10s  %10s  %8.0f  %5s  %9.0f  %10s  %9.0f  %7" PRIu64 "  %6" PRIu64 "\n",
           wfs_human_bytes((uint64_t)per_second(a->served, b->served, seconds), served, sizeof served),
           wfs_human_bytes((uint64_t)per_second(a->source, b->source, seconds), source, sizeof source),
           per_second(a->made, b->made, seconds), share, per_second(a->from_disk, b->from_disk, seconds),
           wfs_human_bytes(b->cache_bytes, cache, sizeof cache), per_second(a->evicted, b->evicted, seconds),
           b->waiting, b->errors);
}

bool wfs_stats_interval(const char *text, double *ret)
{
    char *end;
    double seconds;

    if (text[0] < '0' || text[0] > '9')
        return false;
    seconds = strtod(text, &end);
    if (*end || !(seconds >= 0.1 && seconds <= 86400))
        return false;
    *ret = seconds;
    return true;
}

int wfs_stats_watch(const char *mountpoint, double seconds, struct wfs_error *err)
{
    struct timespec pause = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    struct sample before, now;
    int r = take(mountpoint, &before, err);

    for (unsigned lines = 0; r == 0; lines++) {
        if (lines % LINES_UNDER_HEAD == 0)
            printf("  served/s    source/s   tiles/s   hits  from disk       cache  evicted/s  waiting  errors\n");
        fflush(stdout);
        if (ferror(stdout))
            return 0; /* main says it */
        nanosleep(&pause, NULL);
        r = take(mountpoint, &now, err);
        if (r == -ENOENT) /* unmounted */
            return 0;
        if (r == 0)
            print_line(&before, &now);
        before = now;
    }
    return r;
}
