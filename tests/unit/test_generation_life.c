/* What a generation holds, and for how long: descriptors, tiles, what it has told. */
#include "fs_rig.h"
#include "generation.h"

#include <dirent.h>
#include <errno.h>

enum { FILES = 300 }; /* more than objects that nobody uses are kept */

static void put_files(void)
{
    char name[20];

    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%03d", i);
        put_text(name, name);
    }
}

/* Opens, reads and closes one file. */
static int read_file(struct wfs_fs *fs, struct wfs_generation *g, const char *path)
{
    const struct wfs_node *n = wfs_generation_find(g, path);
    struct wfs_object *o;
    struct stat st;
    uint8_t *buf;
    int r;

    assert_non_null(n);
    wfs_node_stat(n, &st);
    buf = malloc((size_t)st.st_size + 1);
    assert_int_equal(wfs_node_object(n, &o, NULL), 0);
    r = wfs_engine_pread(wfs_fs_engine(fs), o, 0, buf, (size_t)st.st_size);
    wfs_node_object_put(n);
    free(buf);
    return r;
}

static void read_files(struct wfs_fs *fs, struct wfs_generation *g)
{
    char name[20];

    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%03d", i);
        assert_int_equal(read_file(fs, g, name), 0);
    }
}

/* Descriptors of this process that lead to deleted files of the folder. */
static int count_deleted(void)
{
    static const char deleted[] = " (deleted)";
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *d;
    int n = 0;

    assert_non_null(dir);
    while ((d = readdir(dir))) {
        char to[1000];
        ssize_t len = readlinkat(dirfd(dir), d->d_name, to, sizeof to - 1);

        if (len < (ssize_t)sizeof deleted)
            continue;
        to[len] = 0;
        n += strncmp(to, folder, strlen(folder)) == 0 && strcmp(to + len - (sizeof deleted - 1), deleted) == 0;
    }
    closedir(dir);
    return n;
}

static uint64_t cache_bytes(struct wfs_fs *fs)
{
    struct wfs_engine_stats stats;

    wfs_engine_stats(wfs_fs_engine(fs), &stats);
    return stats.cache_bytes;
}

/* Puts other bytes of the same file in its place. */
static void replace(const char *name)
{
    char from[1000], to[1000];

    put_vector(name, "part");
    path_of(from, "part");
    path_of(to, name);
    assert_int_equal(rename(from, to), 0);
}

static void look_again(struct wfs_fs *fs)
{
    sleep_ms(250);
    refresh_and_wait(fs, 1);
    assert_int_equal(last_result, 0);
}

static void wait_for_no_deleted(void)
{
    for (int i = 0; i < 500 && count_deleted() > 0; i++)
        sleep_ms(10);
    assert_int_equal(count_deleted(), 0);
}

/* However long the kernel remembers a name of it: a deleted file's disk space is back when its last reader closes. */
static void deleted_shards(void **state)
{
    struct wfs_generation *first, *second;
    const struct wfs_node *merged;
    struct wfs_object *open, *none;
    struct wfs_error err = { 0 };
    struct wfs_fs *fs;
    uint8_t byte;

    (void)state;
    put_sharded();
    fs = open_fs(NULL);
    first = wfs_fs_generation(fs);
    wfs_generation_wait(first);
    merged = wfs_generation_find(first, SINGLE);
    assert_int_equal(read_file(fs, first, SINGLE), 0);
    assert_int_equal(wfs_node_object(merged, &open, NULL), 0);
    replace(S2);
    replace(S1);
    look_again(fs);
    assert_false(wfs_generation_is_current(fs, first));
    assert_int_equal(count_deleted(), 2); /* somebody has it open */
    assert_int_equal(wfs_engine_pread(wfs_fs_engine(fs), open, 9, &byte, 1), 0);
    wfs_node_object_put(merged);
    wait_for_no_deleted();
    assert_null(wfs_node_object_get(merged));
    assert_int_equal(wfs_node_object(merged, &none, &err), -ESTALE);
    assert_contains(err.msg, SINGLE ": the source has changed");

    /* nobody has it open when it is superseded */
    second = wfs_fs_generation(fs);
    wfs_generation_wait(second);
    assert_int_equal(read_file(fs, second, SINGLE), 0);
    replace(S2);
    look_again(fs);
    wait_for_no_deleted();
    wfs_generation_unref(second);
    wfs_generation_unref(first);
    wfs_fs_close(fs);
}

/* Tiles of a generation that is gone are of no use to anybody: those of objects let go long ago, too. */
static void tiles_of_before(void **state)
{
    struct wfs_generation *first;
    struct wfs_fs *fs;

    (void)state;
    put_sharded();
    put_files();
    fs = open_fs(NULL);
    first = wfs_fs_generation(fs);
    wfs_generation_wait(first);
    assert_int_equal(read_file(fs, first, "tensors/b.weight.npy"), 0);
    read_files(fs, first);
    assert_null(wfs_node_object_get(wfs_generation_find(first, "tensors/b.weight.npy")));
    assert_int_equal(read_file(fs, first, "tensors/B.weight.npy"), 0);
    assert_true(cache_bytes(fs) > 0);
    put_text("new", "");
    look_again(fs);
    assert_false(wfs_generation_is_current(fs, first));
    for (int i = 0; i < 500 && cache_bytes(fs) > 0; i++)
        sleep_ms(10);
    assert_int_equal(cache_bytes(fs), 0);
    wfs_generation_unref(first);
    wfs_fs_close(fs);
}

/* The files of read_files are smaller. */
static int fail_weights(void *ctx, struct wfs_io *io)
{
    (void)ctx;
    return io->kind == WFS_IO_READ && io->len > 8 ? -EIO : io->result;
}

/* A cause is one error, however often its object comes and goes. */
static void told_once(void **state)
{
    const struct wfs_io_hooks hooks = { .after_read = fail_weights };
    struct wfs_fs_options options = { .workers = 1, .on_log = on_log, .hooks = &hooks };
    struct wfs_error err = { 0 };
    struct wfs_generation *g;
    struct wfs_buf text = WFS_BUF_INIT;
    struct wfs_fs *fs;
    const char *first;

    (void)state;
    put_sharded();
    put_files();
    if (wfs_fs_open(folder, &options, &fs, &err) < 0)
        fail_msg("%s", err.msg);
    g = wfs_fs_generation(fs);
    wfs_generation_wait(g);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read_file(fs, g, "tensors/b.weight.npy"), -EIO);
        read_files(fs, g);
    }
    assert_int_equal(wfs_fs_status(fs, &text), 0);
    wfs_buf_u8(&text, 0);
    assert_contains((const char *)text.data, "\"errors\": {\"count\": 1, ");
    first = strstr(logged, "tensor 'b.weight'");
    assert_non_null(first);
    assert_null(strstr(first + 1, "tensor 'b.weight'"));
    wfs_buf_done(&text);
    wfs_generation_unref(g);
    wfs_fs_close(fs);
}

/* The log remembers the last lines, not the first. */
static void repeated_lines(void **state)
{
    struct wfs_fs *fs = open_fs("none");
    size_t before;

    (void)state;
    for (int i = 0; i < 1100; i++)
        wfs_fs_log(fs, 0, "line %d", i);
    before = strlen(logged);
    assert_contains(logged, "line 1099\n");
    for (int i = 0; i < 3; i++)
        wfs_fs_log(fs, 0, "line 1099");
    assert_int_equal(strlen(logged), before);
    wfs_fs_close(fs);
}

/* A folder's link count is 2 and one more per folder in it, of many files too. */
static void link_counts(void **state)
{
    struct wfs_generation *g;
    struct wfs_fs *fs;
    struct stat st;
    char name[20];

    (void)state;
    for (int i = 0; i < 1100; i++) {
        snprintf(name, sizeof name, "f%04d", i);
        put_text(name, "");
    }
    for (int i = 0; i < 3; i++) {
        char path[1000];

        snprintf(name, sizeof name, "sub%d", i);
        path_of(path, name);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    wfs_node_stat(wfs_generation_root(g), &st);
    assert_int_equal(st.st_nlink, 2 + 3 + 1); /* .weightfs */
    wfs_node_stat(wfs_generation_find(g, "sub1"), &st);
    assert_int_equal(st.st_nlink, 2);
    wfs_generation_unref(g);
    wfs_fs_close(fs);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(deleted_shards), TEST(tiles_of_before), TEST(told_once), TEST(repeated_lines), TEST(link_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
