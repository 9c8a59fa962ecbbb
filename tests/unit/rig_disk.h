/* For the tests of the disk tier: a view of a gap, seven tiles and a gap, in a folder of the test's. */
#ifndef WFS_TESTS_RIG_DISK_H
#define WFS_TESTS_RIG_DISK_H

#include "disk.h"

#include "rig_dir.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { TILE = 5000, N_TILES = 7, GAP = 300, SIZE = N_TILES * TILE + 2 * GAP };

static struct rig_dir dir;
static char log_line[1000];
static int n_logged;
static atomic_int n_done;

static inline void on_log(void *ctx, const char *line)
{
    (void)ctx;
    snprintf(log_line, sizeof log_line, "%s", line);
    n_logged++;
}

/* A view of a gap, seven tiles and a gap; every byte is told by its place. */
static inline uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 167 + offset / 251);
}

static inline void place(void *ctx, uint64_t index, uint64_t *ret_offset, uint64_t *ret_len)
{
    (void)ctx;
    *ret_offset = GAP + index * TILE;
    *ret_len = TILE;
}

static inline bool hold(void *ctx)
{
    return atomic_load((atomic_bool *)ctx);
}

static inline int rest(void *ctx, uint64_t offset, void *buf, size_t len)
{
    (void)ctx;
    assert_true(offset + len <= GAP || offset >= GAP + N_TILES * TILE);
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)buf)[i] = byte_at(offset + i);
    return 0;
}

static inline void nothing(void *ctx)
{
    (void)ctx;
}

static const struct wfs_disk_content content = { place, hold, rest, nothing, nothing };
static atomic_bool can_hold;
static uint8_t tiles[N_TILES][TILE];

static inline struct wfs_disk *open_disk(uint64_t limit)
{
    struct wfs_disk_options options = { .path = dir.path, .limit = limit, .queue_bytes = 1 << 20, .on_log = on_log };
    struct wfs_error err = { 0 };
    struct wfs_disk *d;

    if (wfs_disk_open(&options, &d, &err) < 0)
        fail_msg("%s", err.msg);
    return d;
}

static inline struct wfs_disk_view *new_view(struct wfs_disk *d, uint8_t number)
{
    struct wfs_disk_shape shape = { .key = { { number } }, .size = SIZE, .n_tiles = N_TILES, .model = "a model",
                                    .name = "a view", .completes = true, .content = &content, .ctx = &can_hold };
    struct wfs_disk_view *v;

    assert_int_equal(wfs_disk_view_new(d, &shape, &v), 0);
    return v;
}

static inline void close_disk(struct wfs_disk *d, struct wfs_disk_view *v)
{
    wfs_disk_view_unref(v);
    assert_true(wfs_disk_stop(d));
    wfs_disk_free(d);
}

static inline void count_done(void *ctx)
{
    (void)ctx;
    n_done++;
}

static inline const uint8_t *tile_bytes(uint64_t index)
{
    return tiles[index];
}

static inline void wait_done(int n)
{
    for (int i = 0; i < 5000 && n_done < n; i++)
        usleep(1000);
    assert_int_equal(n_done, n);
}

static inline void put_tiles(struct wfs_disk_view *v, uint64_t from, uint64_t to)
{
    n_done = 0;
    for (uint64_t i = from; i < to; i++)
        assert_true(wfs_disk_put(v, i, tile_bytes(i), TILE, count_done, NULL));
    wait_done((int)(to - from));
}

/* As a worker does it: record, bytes, check. */
static inline bool load(struct wfs_disk_view *v, uint64_t index)
{
    struct wfs_disk_files *f = wfs_disk_files_get(v);
    uint8_t record[WFS_DISK_RECORD], bytes[TILE];
    bool found = false;

    if (!f)
        return false;
    if (pread(wfs_disk_files_sums(f), record, sizeof record, (off_t)wfs_disk_record_offset(index)) == sizeof record &&
        !wfs_disk_record_is_empty(record) &&
        pread(wfs_disk_files_data(f), bytes, TILE, (off_t)(GAP + index * TILE)) == TILE)
        found = wfs_disk_check(v, index, record, bytes, TILE);
    if (found)
        assert_memory_equal(bytes, tile_bytes(index), TILE);
    wfs_disk_files_put(f);
    return found;
}

static inline int count_loads(struct wfs_disk_view *v)
{
    int n = 0;

    for (uint64_t i = 0; i < N_TILES; i++)
        n += load(v, i);
    return n;
}

/* The path of the view's file with that ending. */
static inline const char *file(uint8_t number, const char *ending)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/weightfs-1/%02x%030d.%s", dir.path, number, 0, ending);
    return path;
}

static inline bool exists(uint8_t number, const char *ending)
{
    struct stat st;

    return lstat(file(number, ending), &st) == 0;
}

static inline void flip(const char *path, off_t at)
{
    int fd = open(path, O_RDWR);
    uint8_t byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static inline int begin(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tiles; i++)
        ((uint8_t *)tiles)[i] = byte_at(GAP + i);
    rig_dir_init(&dir);
    n_logged = 0;
    can_hold = false;
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    rig_dir_done(&dir);
    return 0;
}

static inline void fill(uint8_t number, uint64_t n)
{
    struct wfs_disk *d = open_disk(0);
    struct wfs_disk_view *v = new_view(d, number);

    assert_int_equal(count_loads(v), 0);
    put_tiles(v, 0, n);
    close_disk(d, v);
}

#endif
