/* The disk tier: tiles survive, and whatever is wrong with a file is a miss. */
#include "rig_disk.h"

static void test_tiles_survive(void **state)
{
    struct wfs_disk *d;
    struct wfs_disk_view *v;
    struct wfs_disk_stats s;
    struct stat st;

    (void)state;
    fill(1, 3);
    d = open_disk(0);
    v = new_view(d, 1);
    assert_int_equal(count_loads(v), 3);
    wfs_disk_stats(d, &s);
    assert_int_equal(s.hits, 3);
    assert_int_equal(s.damaged, 0);
    close_disk(d, v);
    assert_int_equal(n_logged, 0);
    assert_int_equal(stat(dir.path, &st), 0);
    assert_int_equal(stat(file(1, "part"), &st), 0);
    assert_int_equal(st.st_size, SIZE);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_other_keys_have_other_tiles(void **state)
{
    struct wfs_disk *d;
    struct wfs_disk_view *v;
    char from[200];

    (void)state;
    fill(1, N_TILES);
    fill(2, 1);
    /* Another view's bytes and records under this one's name are not its tiles. */
    snprintf(from, sizeof from, "%s", file(1, "part"));
    assert_int_equal(rename(from, file(2, "part")), 0);
    d = open_disk(0);
    v = new_view(d, 2);
    assert_int_equal(count_loads(v), 1);
    close_disk(d, v);
}

/* One damaged byte, wherever it is, costs at most what it belongs to. */
static void test_damage_is_a_miss(void **state)
{
    static const struct {
        const char *ending;
        off_t at;
        int left;
    } places[] = {
        { "part", GAP + 2 * TILE, N_TILES - 1 },     { "part", GAP + 3 * TILE - 1, N_TILES - 1 },
        { "part", 5, N_TILES },                      { "part", SIZE - 1, N_TILES },
        { "sums", 4096 + 16 * 4, N_TILES - 1 },      { "sums", 4096 + 16 * 4 + 15, N_TILES - 1 },
        { "sums", 4096 + 16 * N_TILES, N_TILES },    { "sums", 0, 0 },
        { "sums", 20, 0 },                           { "sums", 33, 0 },
        { "sums", 4000, 0 },                         { "sums", 4090, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint8_t number = (uint8_t)(i + 1);
        struct wfs_disk *d;
        struct wfs_disk_view *v;

        fill(number, N_TILES);
        flip(file(number, places[i].ending), places[i].at);
        d = open_disk(0);
        v = new_view(d, number);
        assert_int_equal(count_loads(v), places[i].left);
        put_tiles(v, 0, N_TILES); /* and is mended */
        assert_int_equal(count_loads(v), N_TILES);
        close_disk(d, v);
    }
    assert_int_equal(n_logged, 0);
}

static void test_cut_and_grown_files(void **state)
{
    static const struct {
        const char *ending;
        off_t size;
    } cuts[] = { { "part", 0 }, { "part", SIZE - 1 }, { "part", SIZE * 3 }, { "sums", 0 }, { "sums", 4096 },
                 { "sums", 10 << 20 } };

    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        uint8_t number = (uint8_t)(i + 1);
        struct wfs_disk *d;
        struct wfs_disk_view *v;
        struct stat st;

        fill(number, N_TILES);
        assert_int_equal(truncate(file(number, cuts[i].ending), cuts[i].size), 0);
        d = open_disk(0);
        v = new_view(d, number);
        count_loads(v);
        put_tiles(v, 0, N_TILES);
        assert_int_equal(count_loads(v), N_TILES);
        close_disk(d, v);
        assert_int_equal(stat(file(number, "part"), &st), 0);
        assert_int_equal(st.st_size, SIZE);
    }
    assert_int_equal(n_logged, 0);
}

/* A file is cut while it is in use: a miss, and not the disk's failure. */
static void test_cut_under_the_reader(void **state)
{
    struct wfs_disk *d = open_disk(0);
    struct wfs_disk_view *v = new_view(d, 1);
    struct wfs_disk_files *f;
    struct wfs_disk_stats s;
    int folder;

    (void)state;
    put_tiles(v, 0, N_TILES);
    assert_int_equal(truncate(file(1, "part"), 100), 0);
    f = wfs_disk_files_get(v);
    assert_non_null(f);
    wfs_disk_read_failed(v, wfs_disk_files_data(f), GAP, TILE, -EIO); /* what a read past the end is to the workers */
    wfs_disk_files_put(f);
    wfs_disk_stats(d, &s);
    assert_int_equal(s.state, WFS_DISK_ON);
    put_tiles(v, 0, N_TILES);
    assert_int_equal(count_loads(v), N_TILES);
    /* One that fails again is the disk's. */
    folder = open(dir.path, O_RDONLY | O_DIRECTORY);
    wfs_disk_read_failed(v, folder, GAP, TILE, -EIO);
    wfs_disk_read_failed(v, folder, GAP, TILE, -EIO);
    close(folder);
    wfs_disk_stats(d, &s);
    assert_int_equal(s.state, WFS_DISK_OFF);
    assert_int_equal(n_logged, 1);
    assert_non_null(strstr(log_line, "switched off"));
    assert_false(wfs_disk_put(v, 0, tile_bytes(0), TILE, count_done, NULL));
    close_disk(d, v);
}

/* Links and fifos under our names are not followed, waited for or written to. */
static void test_strange_files(void **state)
{
    static const char *const endings[] = { "part", "sums", "whole" };
    char victim[100];
    uint8_t number = 0;
    struct stat st;

    (void)state;
    fill(100, 1); /* makes the folder */
    snprintf(victim, sizeof victim, "%s/victim", dir.path);
    rig_write(&dir, "victim", "precious", 8);
    for (int kind = 0; kind < 3; kind++) {
        for (int i = 0; i < 3; i++) {
            const char *path = file(++number, endings[i]);
            struct wfs_disk *d;
            struct wfs_disk_view *v;

            assert_int_equal(kind == 0 ? symlink(victim, path) : kind == 1 ? mkfifo(path, 0600) : symlink("/", path), 0);
            d = open_disk(0);
            v = new_view(d, number);
            assert_int_equal(count_loads(v), 0);
            put_tiles(v, 0, N_TILES);
            assert_int_equal(count_loads(v), N_TILES);
            close_disk(d, v);
        }
    }
    assert_int_equal(stat(victim, &st), 0);
    assert_int_equal(st.st_size, 8);
    assert_int_equal(n_logged, 0);
}

/* A folder under one of our names stays, and costs that view its place on disk, nothing else. */
static void test_folders_in_the_way(void **state)
{
    static const char *const endings[] = { "part", "sums", "whole" };
    struct stat before, after;

    (void)state;
    fill(100, 1); /* makes the folder */
    assert_int_equal(fstat(STDIN_FILENO, &before), 0);
    for (uint8_t i = 0; i < 3; i++) {
        struct wfs_disk *d;
        struct wfs_disk_view *v;

        assert_int_equal(mkdir(file(i, endings[i]), 0700), 0);
        d = open_disk(0);
        v = new_view(d, i);
        assert_int_equal(count_loads(v), 0);
        put_tiles(v, 0, N_TILES);
        assert_int_equal(count_loads(v), i == 2 ? N_TILES : 0);
        close_disk(d, v);
    }
    assert_int_equal(fstat(STDIN_FILENO, &after), 0); /* no other descriptor was taken for the view's */
    assert_true(before.st_dev == after.st_dev && before.st_ino == after.st_ino);
    assert_int_equal(n_logged, 0);
}

/* What is under our name and under another, too, is somebody's file: it loses our name and no byte. */
static void test_hard_links(void **state)
{
    static const char *const endings[] = { "part", "sums", "whole" };
    static uint8_t bytes[SIZE], now[SIZE];
    char victim[100];
    struct stat st;
    int fd;

    (void)state;
    fill(100, 1);
    memset(bytes, 'x', sizeof bytes);
    for (uint8_t i = 0; i < 6; i++) {
        off_t size = i < 3 ? 100 : SIZE;
        struct wfs_disk *d;
        struct wfs_disk_view *v;

        snprintf(victim, sizeof victim, "%s/victim%u", dir.path, i);
        rig_write(&dir, strrchr(victim, '/') + 1, bytes, (size_t)size);
        assert_int_equal(link(victim, file(i, endings[i % 3])), 0);
        d = open_disk(0);
        v = new_view(d, i);
        put_tiles(v, 0, N_TILES);
        assert_int_equal(count_loads(v), N_TILES);
        close_disk(d, v);
        fd = open(victim, O_RDONLY);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, size);
        assert_int_equal(st.st_nlink, 1);
        assert_int_equal(read(fd, now, sizeof now), size);
        assert_memory_equal(now, bytes, (size_t)size);
        close(fd);
    }
    assert_int_equal(n_logged, 0);
}

static void test_folder_must_be_ours(void **state)
{
    struct wfs_disk_options options = { .path = dir.path, .queue_bytes = 1 << 20, .on_log = on_log };
    struct wfs_disk *d = NULL;
    struct wfs_error err = { 0 };
    char path[100], link[100];

    (void)state;
    fill(1, 1);
    snprintf(path, sizeof path, "%s/weightfs-1", dir.path);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(wfs_disk_open(&options, &d, &err), -EPERM);
    assert_non_null(strstr(err.msg, "everybody can write"));
    assert_int_equal(chmod(path, 0700), 0);
    snprintf(link, sizeof link, "%s/other", dir.path);
    assert_int_equal(rename(path, link), 0);
    assert_int_equal(symlink(link, path), 0);
    assert_true(wfs_disk_open(&options, &d, &err) < 0);
    options.path = "/proc/self/no/such";
    assert_int_equal(wfs_disk_open(&options, &d, &err), -ENOENT);
    rig_write(&dir, "file", "x", 1);
    snprintf(path, sizeof path, "%s/file", dir.path);
    options.path = path;
    assert_int_equal(wfs_disk_open(&options, &d, &err), -ENOTDIR);
}

static void wait_whole(uint8_t number)
{
    for (int i = 0; i < 800 && !exists(number, "whole"); i++)
        usleep(10000);
    assert_true(exists(number, "whole"));
    assert_false(exists(number, "part"));
}

static int whole_within(struct wfs_disk_view *v, int ms)
{
    int fd = -EAGAIN;

    for (int i = 0; i <= ms / 10 && fd < 0; i++) {
        fd = wfs_disk_view_whole(v, true);
        if (fd < 0)
            usleep(10000);
    }
    return fd;
}

static void test_completion(void **state)
{
    struct wfs_disk *d = open_disk(0);
    struct wfs_disk_view *v = new_view(d, 1);
    uint8_t bytes[SIZE];
    int fd;

    (void)state;
    assert_int_equal(wfs_disk_view_whole(v, true), -EAGAIN);
    can_hold = true;
    put_tiles(v, 0, N_TILES);
    wait_whole(1);
    fd = whole_within(v, 3000);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, sizeof bytes), SIZE);
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(bytes[i], byte_at(i));
    close(fd);
    close_disk(d, v);
    /* Another life proves it again. */
    can_hold = false;
    d = open_disk(0);
    v = new_view(d, 1);
    assert_int_equal(count_loads(v), N_TILES);
    assert_int_equal(wfs_disk_view_whole(v, false), -EAGAIN);
    fd = whole_within(v, 5000);
    assert_true(fd >= 0);
    close(fd);
    /* What is written to it afterwards makes it unproved; damage stays so. */
    flip(file(1, "whole"), GAP + TILE);
    assert_int_equal(whole_within(v, 2500), -EAGAIN);
    assert_int_equal(count_loads(v), N_TILES - 1);
    put_tiles(v, 1, 2);
    fd = whole_within(v, 5000);
    assert_true(fd >= 0);
    close(fd);
    /* In no tile: written anew once the owner can tell it. */
    flip(file(1, "whole"), 7);
    assert_int_equal(whole_within(v, 2500), -EAGAIN);
    can_hold = true;
    fd = whole_within(v, 5000);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, bytes, 1, 7), 1);
    assert_int_equal(bytes[0], byte_at(7));
    close(fd);
    close_disk(d, v);
}

/* Times that are set back hide no write: the kernel's own stamp tells it. */
static void test_written_under_old_times(void **state)
{
    struct wfs_disk *d = open_disk(0);
    struct wfs_disk_view *v = new_view(d, 1);
    struct stat st;
    int fd;

    (void)state;
    can_hold = true;
    put_tiles(v, 0, N_TILES);
    wait_whole(1);
    fd = whole_within(v, 3000);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    close(fd);
    usleep(20000); /* the tick of a coarse clock */
    flip(file(1, "whole"), GAP + TILE);
    assert_int_equal(utimensat(AT_FDCWD, file(1, "whole"), (struct timespec[]){ st.st_atim, st.st_mtim }, 0), 0);
    assert_int_equal(wfs_disk_view_whole(v, false), -EAGAIN);
    close_disk(d, v);
}

/* Two processes' worth of disks over one folder, at the same time. */
static void test_two_writers(void **state)
{
    struct wfs_disk *d[2];
    struct wfs_disk_view *v[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        d[i] = open_disk(0);
        v[i] = new_view(d[i], 1);
    }
    n_done = 0;
    for (uint64_t i = 0; i < N_TILES; i++) {
        for (int k = 0; k < 2; k++)
            assert_true(wfs_disk_put(v[k], i, tile_bytes(i), TILE, count_done, NULL));
    }
    wait_done(2 * N_TILES);
    for (int i = 0; i < 2; i++)
        assert_int_equal(count_loads(v[i]), N_TILES);
    /* One completes it; the other goes on with the file that has another name now. */
    can_hold = true;
    wait_whole(1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(count_loads(v[i]), N_TILES);
        put_tiles(v[i], 0, N_TILES);
    }
    for (int i = 0; i < 2; i++)
        close_disk(d[i], v[i]);
    assert_false(exists(1, "part"));
}

/* A writer that is killed leaves tiles or nothing. */
static void test_killed_writer(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        pid_t child = fork();

        if (child == 0) {
            struct wfs_disk *d = open_disk(0);
            struct wfs_disk_view *v = new_view(d, (uint8_t)round);

            for (;;) {
                for (uint64_t i = 0; i < N_TILES; i++)
                    wfs_disk_put(v, i, tile_bytes(i), TILE, count_done, NULL);
                usleep(100);
            }
        }
        usleep(3000 + (unsigned)round * 3000);
        assert_int_equal(kill(child, SIGKILL), 0);
        waitpid(child, NULL, 0);
        {
            struct wfs_disk *d = open_disk(0);
            struct wfs_disk_view *v = new_view(d, (uint8_t)round);

            count_loads(v); /* asserts the bytes of what is found */
            put_tiles(v, 0, N_TILES);
            assert_int_equal(count_loads(v), N_TILES);
            close_disk(d, v);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tiles_survive, begin, end),
        cmocka_unit_test_setup_teardown(test_other_keys_have_other_tiles, begin, end),
        cmocka_unit_test_setup_teardown(test_damage_is_a_miss, begin, end),
        cmocka_unit_test_setup_teardown(test_cut_and_grown_files, begin, end),
        cmocka_unit_test_setup_teardown(test_cut_under_the_reader, begin, end),
        cmocka_unit_test_setup_teardown(test_strange_files, begin, end),
        cmocka_unit_test_setup_teardown(test_folders_in_the_way, begin, end),
        cmocka_unit_test_setup_teardown(test_hard_links, begin, end),
        cmocka_unit_test_setup_teardown(test_folder_must_be_ours, begin, end),
        cmocka_unit_test_setup_teardown(test_completion, begin, end),
        cmocka_unit_test_setup_teardown(test_written_under_old_times, begin, end),
        cmocka_unit_test_setup_teardown(test_two_writers, begin, end),
        cmocka_unit_test_setup_teardown(test_killed_writer, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
