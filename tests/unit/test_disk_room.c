/* The disk tier: room on disk, listing and pruning. */
#include "rig_disk.h"

static void age(uint8_t number, time_t seconds)
{
    struct timespec times[2];

    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, file(number, "sums"), times, 0), 0);
}

static void test_eviction(void **state)
{
    struct wfs_disk *d;
    struct wfs_disk_view *v;
    struct wfs_disk_stats s;

    (void)state;
    for (uint8_t i = 1; i <= 3; i++)
        fill(i, N_TILES);
    age(1, 1000);
    age(2, 3000);
    age(3, 2000);
    /* Each takes up some 48 KiB: with a fourth, two have to go. */
    d = open_disk(110 * 1024);
    v = new_view(d, 4);
    put_tiles(v, 0, N_TILES);
    assert_int_equal(count_loads(v), N_TILES);
    wfs_disk_stats(d, &s);
    assert_int_equal(s.views_evicted, 2);
    assert_true(s.used <= 110 * 1024);
    close_disk(d, v);
    assert_true(exists(1, "part") && exists(4, "part"));
    assert_false(exists(2, "part") || exists(2, "sums") || exists(3, "part") || exists(3, "sums"));
}

/* What this process has evicted itself takes up no room any more. */
static void test_evicted_is_closed(void **state)
{
    struct wfs_disk_view *old, *new;
    struct wfs_disk_files *f;
    struct wfs_disk *d;
    struct stat st;
    int before;

    (void)state;
    d = open_disk(60 * 1024);
    old = new_view(d, 1);
    put_tiles(old, 0, N_TILES);
    f = wfs_disk_files_get(old);
    assert_non_null(f);
    before = wfs_disk_files_data(f);
    assert_int_equal(fstat(before, &st), 0);
    wfs_disk_files_put(f);
    age(1, 1000);
    new = new_view(d, 2);
    put_tiles(new, 0, N_TILES);
    assert_false(exists(1, "part"));
    assert_true(fstat(before, &st) < 0 || st.st_nlink > 0);
    assert_int_equal(count_loads(old), 0);
    wfs_disk_view_unref(old);
    close_disk(d, new);
}

static void test_what_is_in_use_stays(void **state)
{
    struct wfs_disk *d;
    struct wfs_disk_view *v;
    struct wfs_disk_stats s;

    (void)state;
    fill(1, N_TILES);
    d = open_disk(60 * 1024);
    v = new_view(d, 2);
    put_tiles(v, 0, N_TILES);
    wfs_disk_stats(d, &s);
    assert_int_equal(s.views_evicted, 0);
    assert_true(s.dropped > 0 && s.dropped < N_TILES);
    assert_true(exists(1, "part"));
    close_disk(d, v);
}

/* A stamp from before the clock was set back, or of a clock that is wrong, keeps nothing for years. */
static void test_stamps_of_the_future(void **state)
{
    struct wfs_disk *d;
    struct wfs_disk_view *v;

    (void)state;
    fill(1, N_TILES);
    age(1, -86400);
    d = open_disk(60 * 1024);
    v = new_view(d, 2);
    put_tiles(v, 0, N_TILES);
    assert_int_equal(count_loads(v), N_TILES);
    assert_false(exists(1, "part"));
    close_disk(d, v);
}

static int n_listed;
static struct wfs_disk_entry listed[10];

static int keep_entry(void *ctx, const struct wfs_disk_entry *e)
{
    (void)ctx;
    listed[n_listed++] = *e;
    return 0;
}

static void test_list_and_prune(void **state)
{
    struct wfs_disk_pruned pruned;
    struct wfs_error err = { 0 };

    (void)state;
    fill(1, N_TILES);
    fill(2, 2);
    fill(3, 1);
    age(2, 1000);
    flip(file(3, "sums"), 100);
    age(3, 100);
    n_listed = 0;
    assert_int_equal(wfs_disk_list(dir.path, keep_entry, NULL, &err), 0);
    assert_int_equal(n_listed, 3);
    assert_int_equal(listed[0].present, 2);
    assert_int_equal(listed[0].n_tiles, N_TILES);
    assert_int_equal(listed[0].size, SIZE);
    assert_string_equal(listed[0].model, "a model");
    assert_string_equal(listed[0].name, "a view");
    assert_null(listed[0].problem);
    assert_non_null(listed[1].problem);
    assert_int_equal(listed[2].present, N_TILES);
    assert_int_equal(wfs_disk_prune(dir.path, 52 * 1024, NULL, NULL, &pruned, &err), 0);
    assert_int_equal(pruned.views, 2);
    assert_true(exists(1, "part") && !exists(2, "sums") && !exists(3, "sums"));
    assert_int_equal(wfs_disk_prune(dir.path, 0, NULL, NULL, &pruned, &err), 0);
    assert_int_equal(pruned.left, 0);
    assert_false(exists(1, "sums"));
}

/* Pruned by another process: who uses it goes on, and writes to new files soon. */
static void test_pruned_under_the_writer(void **state)
{
    struct wfs_disk *d = open_disk(0);
    struct wfs_disk_view *v = new_view(d, 1);
    struct wfs_disk_pruned pruned;
    struct wfs_error err = { 0 };

    (void)state;
    put_tiles(v, 0, N_TILES);
    assert_int_equal(wfs_disk_prune(dir.path, 0, NULL, NULL, &pruned, &err), 0);
    assert_int_equal(count_loads(v), N_TILES);
    usleep(2100 * 1000);
    put_tiles(v, 0, 1);
    assert_true(exists(1, "part"));
    assert_int_equal(count_loads(v), 1);
    close_disk(d, v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_eviction, begin, end),
        cmocka_unit_test_setup_teardown(test_evicted_is_closed, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_in_use_stays, begin, end),
        cmocka_unit_test_setup_teardown(test_stamps_of_the_future, begin, end),
        cmocka_unit_test_setup_teardown(test_list_and_prune, begin, end),
        cmocka_unit_test_setup_teardown(test_pruned_under_the_writer, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
