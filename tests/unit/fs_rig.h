/* For the tests of the filesystem: a folder on disk, what is logged, and looks at the source. */
#ifndef WFS_TESTS_FS_RIG_H
#define WFS_TESTS_FS_RIG_H

#include "check.h"
#include "fs.h"

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define S1 "model-00001-of-00002.safetensors"
#define S2 "model-00002-of-00002.safetensors"
#define SINGLE "model.safetensors"
#define INDEX "model.safetensors.index.json"

static char folder[] = "/tmp/weightfs-test-fs-XXXXXX"; /* one at a time */
static char logged[1 << 16];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static inline int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static inline int fresh_folder(void **state)
{
    (void)state;
    strcpy(strrchr(folder, '-') + 1, "XXXXXX");
    logged[0] = 0;
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void path_of(char out[1000], const char *name)
{
    snprintf(out, 1000, "%s/%s", folder, name);
}

static inline void put(const char *name, const void *data, size_t len)
{
    char path[1000];
    FILE *f;

    path_of(path, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    fclose(f);
}

static inline void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

static inline size_t get_vector(const char *name, uint8_t *out, size_t cap)
{
    char path[1000];
    size_t len;
    FILE *f;

    snprintf(path, sizeof path, "%s/containers/%s", WFS_TEST_VECTORS, name);
    f = fopen(path, "rb");
    assert_non_null(f);
    len = fread(out, 1, cap, f);
    fclose(f);
    return len;
}

static inline void put_vector(const char *vector, const char *name)
{
    uint8_t bytes[8192];
    size_t len = get_vector(vector, bytes, sizeof bytes);

    put(name, bytes, len);
}

static inline void put_sharded(void)
{
    put_vector(S1, S1);
    put_vector(S2, S2);
    put_vector(INDEX, INDEX);
}

static inline void on_log(void *ctx, int level, const char *line)
{
    (void)ctx, (void)level;
    pthread_mutex_lock(&log_lock);
    if (strlen(logged) + strlen(line) + 2 < sizeof logged)
        strcat(strcat(logged, line), "\n");
    pthread_mutex_unlock(&log_lock);
}

static inline struct wfs_fs *open_fs(const char *views)
{
    struct wfs_fs_options options = { .views = views, .workers = 2, .on_log = on_log, .cache_size = 64 << 20 };
    struct wfs_fs *fs = NULL;
    struct wfs_error err = { 0 };

    if (wfs_fs_open(folder, &options, &fs, &err) < 0)
        fail_msg("%s", err.msg);
    return fs;
}

static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;
static int n_done, last_result;

static inline void count_refresh(void *ctx, int result)
{
    (void)ctx;
    pthread_mutex_lock(&done_lock);
    n_done++;
    last_result = result;
    pthread_cond_signal(&done_cond);
    pthread_mutex_unlock(&done_lock);
}

static inline void refresh_and_wait(struct wfs_fs *fs, int times)
{
    pthread_mutex_lock(&done_lock);
    n_done = 0;
    pthread_mutex_unlock(&done_lock);
    for (int i = 0; i < times; i++)
        wfs_fs_refresh(fs, count_refresh, NULL);
    pthread_mutex_lock(&done_lock);
    while (n_done < times)
        pthread_cond_wait(&done_cond, &done_lock);
    pthread_mutex_unlock(&done_lock);
}

static inline void sleep_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&t, NULL);
}

/* The listed names of a folder, as a client sees them: withheld ones are absent. */
static inline void list(struct wfs_generation *g, const char *path, char *out, size_t cap)
{
    const struct wfs_node *dir = wfs_generation_find(g, path), *child;
    size_t at = 0;

    assert_non_null(dir);
    wfs_generation_wait(g);
    out[0] = 0;
    for (size_t i = 0; (child = wfs_node_child(dir, i)); i++) {
        if (wfs_node_kind(child) != WFS_NODE_DIR && wfs_node_ready(child) < 0)
            continue;
        assert_ptr_equal(wfs_node_lookup(dir, wfs_node_name(child)), child);
        assert_ptr_equal(wfs_generation_find(g, wfs_node_path(child)), child);
        at += (size_t)snprintf(out + at, cap - at, "%s%s%s", at ? " " : "", wfs_node_name(child),
                               wfs_node_kind(child) == WFS_NODE_DIR ? "/" : "");
    }
}

static inline void assert_list(struct wfs_generation *g, const char *path, const char *want)
{
    char got[8192];

    list(g, path, got, sizeof got);
    assert_string_equal(got, want);
}

struct reason {
    const char *path;
    char text[2000];
    int count;
};

static inline int find_reason(void *ctx, const struct wfs_view_info *info)
{
    struct reason *r = ctx;

    if (strcmp(info->path, r->path) == 0 && info->reason) {
        snprintf(r->text, sizeof r->text, "%s", info->reason);
        r->count++;
    }
    return 0;
}

static inline void assert_withheld(struct wfs_generation *g, const char *path, const char *part)
{
    struct reason r = { .path = path };

    wfs_generation_each_view(g, find_reason, &r);
    if (r.count == 0)
        fail_msg("%s is not withheld", path);
    assert_contains(r.text, part);
}

#endif
