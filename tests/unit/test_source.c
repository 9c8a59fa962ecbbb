/* The source folder: what is listed, what is left out, and what is noticed when it changes. */
#include "engine_rig.h"

#include "source.h"
#include "source_walk.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

struct fixture {
    struct rig_dir dir;
    struct wfs_source *s;
    struct wfs_error err;
};

static void at(const struct fixture *f, const char *name, char out[512])
{
    snprintf(out, 512, "%s/%s", f->dir.path, name);
}

static void put(const struct fixture *f, const char *name, const char *text)
{
    rig_write(&f->dir, name, text, strlen(text));
}

static void make_dir(const struct fixture *f, const char *name)
{
    char path[512];

    at(f, name, path);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void make_link(const struct fixture *f, const char *to, const char *name)
{
    char path[512];

    at(f, name, path);
    assert_int_equal(symlink(to, path), 0);
}

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    rig_dir_init(&f->dir);
}

static void open_it(struct fixture *f)
{
    if (wfs_source_open(f->dir.path, NULL, &f->s, &f->err) < 0)
        fail_msg("%s", f->err.msg);
}

static void fixture_done(struct fixture *f)
{
    wfs_source_close(f->s);
    rig_dir_done(&f->dir);
}

static bool left_out(const struct fixture *f, const char *text)
{
    for (size_t i = 0; i < f->s->n_left_out; i++) {
        if (strcmp(f->s->left_out[i], text) == 0)
            return true;
    }
    return false;
}

static void listed(void **state)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct fixture f;
    char path[512];
    int fd;

    (void)state;
    fixture_init(&f);
    put(&f, "b.txt", "bb");
    put(&f, "a.txt", "a");
    put(&f, ".hidden", "h");
    make_dir(&f, "sub");
    make_dir(&f, "sub/deep");
    put(&f, "sub/deep/x", "xxx");
    make_dir(&f, ".git");
    put(&f, ".git/config", "no");
    make_dir(&f, "sub/.cache");
    make_link(&f, "sub/deep/x", "link");
    make_link(&f, "nowhere", "dangling");
    make_link(&f, "sub", "dirlink");
    make_link(&f, "loop", "loop");
    make_link(&f, "/dev/null", "device");
    at(&f, "fifo", path);
    assert_int_equal(mkfifo(path, 0644), 0);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/sock", f.dir.path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    open_it(&f);
    assert_int_equal(f.s->n_files, 5);
    assert_string_equal(f.s->files[0].path, ".hidden");
    assert_string_equal(f.s->files[1].path, "a.txt");
    assert_string_equal(f.s->files[2].path, "b.txt");
    assert_string_equal(f.s->files[3].path, "link");
    assert_string_equal(f.s->files[4].path, "sub/deep/x");
    assert_int_equal(f.s->files[3].identity.size, 3);
    assert_int_equal(f.s->n_dirs, 2);
    assert_string_equal(f.s->dirs[0].path, "sub");
    assert_string_equal(f.s->dirs[1].path, "sub/deep");
    assert_true(left_out(&f, "fifo: a fifo"));
    assert_true(left_out(&f, "sock: a socket"));
    assert_true(left_out(&f, "device: a device"));
    assert_true(left_out(&f, "dangling: a dangling link"));
    assert_true(left_out(&f, "loop: a dangling link"));
    assert_true(left_out(&f, "dirlink: a link to a folder"));
    assert_true(left_out(&f, ".git: hidden state"));
    assert_int_equal(f.s->n_left_out, 8);
    assert_ptr_equal(wfs_source_find(f.s, "link"), &f.s->files[3]);
    assert_null(wfs_source_find(f.s, "sub"));
    fixture_done(&f);
}

static void one_file(void **state)
{
    struct fixture f;
    char path[512];

    (void)state;
    fixture_init(&f);
    put(&f, "model.safetensors", "abc");
    put(&f, "other", "x");
    at(&f, "model.safetensors", path);
    assert_int_equal(wfs_source_open(path, NULL, &f.s, &f.err), 0);
    assert_string_equal(f.s->path, f.dir.path);
    assert_int_equal(f.s->n_files, 1);
    put(&f, "third", "not seen");
    assert_int_equal(wfs_source_changed(f.s), 0);
    put(&f, "model.safetensors", "abcd");
    assert_int_equal(wfs_source_changed(f.s), -ESTALE);
    fixture_done(&f);
}

static void cannot_be_opened(void **state)
{
    struct fixture f;
    char path[512];

    (void)state;
    fixture_init(&f);
    at(&f, "absent", path);
    assert_int_equal(wfs_source_open(path, NULL, &f.s, &f.err), -ENOENT);
    assert_contains(f.err.msg, "absent: No such file");
    assert_int_equal(wfs_source_open("/dev/null", NULL, &f.s, &f.err), -ENOTDIR);
    assert_contains(f.err.msg, "/dev/null: neither a folder nor a regular file");
    fixture_done(&f);
}

/* A stray folder costs itself, not the model. */
static void folders_that_are_too_deep_are_left_out(void **state)
{
    struct fixture f;
    char path[512];

    (void)state;
    fixture_init(&f);
    strcpy(path, f.dir.path);
    for (int i = 0; i < 9; i++) {
        strcat(path, "/d");
        assert_int_equal(mkdir(path, 0755), 0);
    }
    assert_int_equal(wfs_source_open(f.dir.path, NULL, &f.s, &f.err), 0);
    assert_int_equal(f.s->n_left_out, 1);
    assert_string_equal(f.s->left_out[0], "d/d/d/d/d/d/d/d/d: more than 8 levels deep");
    fixture_done(&f);
}

static void bytes(void **state)
{
    struct fixture f;
    struct wfs_source_file *a;
    struct wfs_blob blob = { 0 };
    char buf[8];

    (void)state;
    fixture_init(&f);
    put(&f, "a", "hello");
    make_dir(&f, "d");
    put(&f, "d/b", "below");
    open_it(&f);
    a = wfs_source_find(f.s, "a");
    assert_int_equal(wfs_source_slurp(f.s, a, 5, &blob, &f.err), 0);
    assert_int_equal(blob.len, 5);
    assert_memory_equal(blob.data, "hello", 6); /* with a NUL behind */
    wfs_blob_done(&blob);
    assert_int_equal(wfs_source_slurp(f.s, a, 4, &blob, &f.err), -EFBIG);
    assert_contains(f.err.msg, "a: 5 bytes, more than the 4");
    assert_int_equal(wfs_source_pread(f.s, wfs_source_find(f.s, "d/b"), 1, buf, 3, &f.err), 0);
    assert_memory_equal(buf, "elo", 3);
    assert_int_equal(wfs_source_pread(f.s, a, 3, buf, 3, &f.err), -EIO);
    assert_contains(f.err.msg, "a: the file ends at 5");
    assert_int_equal(fcntl(a->fd, F_GETFL) & O_NONBLOCK, 0);
    assert_int_not_equal(fcntl(a->fd, F_GETFD) & FD_CLOEXEC, 0);
    fixture_done(&f);
}

static void another_file_by_now(void **state)
{
    struct wfs_source *next = NULL;
    struct fixture f;
    char from[512], to[512];

    (void)state;
    fixture_init(&f);
    put(&f, "a", "first");
    put(&f, "b", "first");
    open_it(&f);
    assert_true(wfs_source_fd_get(f.s, wfs_source_find(f.s, "b"), &f.err) >= 0);
    assert_int_equal(wfs_source_check(f.s, wfs_source_find(f.s, "b")), 0);
    assert_int_equal(wfs_source_changed(f.s), 0);
    put(&f, "new", "other");
    at(&f, "new", from);
    at(&f, "a", to);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(wfs_source_fd_get(f.s, wfs_source_find(f.s, "a"), &f.err), -ESTALE);
    assert_contains(f.err.msg, "a: the file has changed since it was listed");
    assert_int_equal(wfs_source_check(f.s, wfs_source_find(f.s, "b")), 0); /* untouched */
    put(&f, "b", "longer than before");
    assert_int_equal(wfs_source_check(f.s, wfs_source_find(f.s, "b")), -ESTALE);
    assert_int_equal(wfs_source_changed(f.s), -ESTALE);
    assert_int_equal(wfs_source_open(NULL, f.s, &next, &f.err), 0); /* the next generation */
    assert_int_equal(wfs_source_changed(next), 0);
    assert_string_equal(next->path, f.s->path);
    wfs_source_close(next);
    fixture_done(&f);
}

/* Each kind of change alone. The clock of file times may tick only every 4 ms (a jiffy). */
static void changes(void **state)
{
    static const char *const names[] = { "a file added", "removed", "written", "added below", "touched" };
    char path[512];

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct fixture f;
        struct timespec times[2] = { { 0, UTIME_NOW }, { 1000, 5 } };

        fixture_init(&f);
        put(&f, "a", "1");
        make_dir(&f, "d");
        put(&f, "d/b", "2");
        open_it(&f);
        assert_int_equal(wfs_source_changed(f.s), 0);
        usleep(12000);
        at(&f, i == 1 ? "d/b" : "a", path);
        if (i == 0)
            put(&f, "c", "3");
        else if (i == 1)
            assert_int_equal(unlink(path), 0);
        else if (i == 2)
            put(&f, "d/b", "4");
        else if (i == 3)
            put(&f, "d/c", "5");
        else
            assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        if (wfs_source_changed(f.s) != -ESTALE)
            fail_msg("not noticed: %s", names[i]);
        fixture_done(&f);
    }
}

static void kept_by_a_reference(void **state)
{
    struct fixture f;
    struct wfs_source *again;
    int fd;

    (void)state;
    fixture_init(&f);
    put(&f, "a", "1");
    open_it(&f);
    again = wfs_source_ref(f.s);
    fd = wfs_source_fd_get(f.s, wfs_source_find(f.s, "a"), &f.err);
    wfs_source_close(f.s);
    assert_int_equal(wfs_source_check(again, wfs_source_find(again, "a")), 0);
    wfs_source_close(again);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    f.s = NULL;
    fixture_done(&f);
}

/* Descriptors of this process that lead below the fixture's folder. */
static int count_open(const struct fixture *f)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *d;
    int n = 0;

    assert_non_null(dir);
    while ((d = readdir(dir))) {
        char to[512];
        ssize_t len = readlinkat(dirfd(dir), d->d_name, to, sizeof to - 1);

        to[len > 0 ? len : 0] = 0;
        n += strncmp(to, f->dir.path, strlen(f->dir.path)) == 0;
    }
    closedir(dir);
    return n;
}

enum { MANY = 150 };

static void read_all(struct fixture *f)
{
    assert_int_equal(f->s->n_files, MANY);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            struct wfs_source_file *file = &f->s->files[i];
            char got[8] = "";

            if (wfs_source_pread(f->s, file, 0, got, 4, &f->err) < 0)
                fail_msg("%s", f->err.msg);
            assert_string_equal(got, file->path);
        }
    }
}

/* Soft limits below the number of files: set before the source is opened, and after. */
static void more_files_than_descriptors(void **state)
{
    struct rlimit before, limit;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int late = 0; late < 2; late++) {
        struct wfs_source_file *held;
        struct fixture f;
        char name[8];
        int fd;

        fixture_init(&f);
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof name, "%04d", i);
            put(&f, name, name);
        }
        limit = before;
        limit.rlim_cur = 64;
        if (!late)
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        open_it(&f);
        if (late)
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        held = &f.s->files[7];
        fd = wfs_source_fd_get(f.s, held, &f.err);
        assert_true(fd >= 0);
        read_all(&f);
        assert_int_equal(held->fd, fd); /* what is in use stays */
        assert_int_equal(wfs_source_check(f.s, held), 0);
        assert_true(count_open(&f) > 1);
        wfs_source_fd_put(f.s, held);
        fixture_done(&f);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    }
}

static void retired(void **state)
{
    struct wfs_source_file *a, *b;
    struct fixture f;
    char byte;
    int fd;

    (void)state;
    fixture_init(&f);
    put(&f, "a", "1");
    put(&f, "b", "2");
    put(&f, "c", "3");
    open_it(&f);
    a = wfs_source_find(f.s, "a");
    b = wfs_source_find(f.s, "b");
    assert_int_equal(wfs_source_fd_get_open(f.s, a), -1);
    fd = wfs_source_fd_get(f.s, a, &f.err);
    assert_int_equal(wfs_source_pread(f.s, b, 0, &byte, 1, &f.err), 0);
    assert_int_equal(count_open(&f), 3); /* a, b, the folder */
    wfs_source_retire(f.s);
    assert_int_equal(b->fd, -1);
    assert_int_equal(wfs_source_check(f.s, a), 0);
    assert_int_equal(wfs_source_fd_get(f.s, b, &f.err), -ESTALE);
    assert_int_equal(wfs_source_fd_get(f.s, a, &f.err), -ESTALE);
    assert_int_equal(wfs_source_fd_get_open(f.s, a), -1);
    wfs_source_fd_put(f.s, a);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(count_open(&f), 0);
    fixture_done(&f);
}

/* As if our mount were at /dev/shm: what leads there is not looked at, what leads elsewhere is. */
static void links_into_the_mount(void **state)
{
    static const char *const into[] = { "direct", "relative", "twice", "not there" };
    char away[] = "/dev/shm/wfs-test-XXXXXX", path[600], text[100];
    struct fixture f;
    struct wfs_source *next = NULL;
    struct stat here, there;
    int fd = mkstemp(away);

    (void)state;
    if (fd < 0 || fstat(fd, &there) < 0 || stat("/tmp", &here) < 0 || here.st_dev == there.st_dev)
        skip(); /* no second file system */
    close(fd);
    fixture_init(&f);
    put(&f, "plain", "x");
    make_dir(&f, "sub");
    make_link(&f, away, "direct");
    snprintf(path, sizeof path, "../../../../../../..%s", away);
    make_link(&f, path, "relative");
    make_link(&f, "sub/../direct", "twice");
    make_link(&f, "/dev/shm//wfs/nothing", "not there");
    make_link(&f, "sub/../plain", "inside");
    make_link(&f, "/proc/version", "other"); /* another file system, not ours */
    open_it(&f);
    assert_int_equal(f.s->n_files, 6); /* not mounted yet */
    assert_int_equal(wfs_source_changed(f.s), 0);
    f.s->own_dev = there.st_dev;
    assert_int_equal(wfs_source_changed(f.s), -ESTALE);
    assert_true(wfs_source_fd_get(f.s, wfs_source_find(f.s, "direct"), &f.err) < 0);
    assert_true(wfs_source_fd_get(f.s, wfs_source_find(f.s, "inside"), &f.err) >= 0);
    assert_int_equal(wfs_source_open(NULL, f.s, &next, &f.err), 0);
    wfs_source_close(f.s);
    f.s = next;
    assert_int_equal(f.s->n_files, 3);
    assert_non_null(wfs_source_find(f.s, "inside"));
    assert_non_null(wfs_source_find(f.s, "other"));
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "%s: a link that leads into this mount", into[i]);
        if (!left_out(&f, text))
            fail_msg("%s", text);
    }
    fixture_done(&f);
    unlink(away);
}

/* A hub's cache in the middle of a download: the links are there, what they lead to comes later. */
static void a_link_s_target_that_comes_later(void **state)
{
    struct fixture f;
    struct wfs_source *next = NULL;
    struct rig_dir elsewhere;
    char path[600];

    (void)state;
    fixture_init(&f);
    rig_dir_init(&elsewhere);
    put(&f, "plain", "x");
    make_dir(&f, "sub");
    snprintf(path, sizeof path, "%s/blob", elsewhere.path);
    make_link(&f, path, "sub/model.safetensors");
    make_link(&f, "nowhere", "other");
    open_it(&f);
    assert_int_equal(f.s->n_files, 1);
    assert_true(left_out(&f, "sub/model.safetensors: a dangling link"));
    assert_int_equal(wfs_source_changed(f.s), 0);
    rig_write(&elsewhere, "blob", "weights", 7);
    assert_int_equal(wfs_source_changed(f.s), -ESTALE);
    assert_int_equal(wfs_source_open(NULL, f.s, &next, &f.err), 0);
    wfs_source_close(f.s);
    f.s = next;
    assert_non_null(wfs_source_find(f.s, "sub/model.safetensors"));
    assert_int_equal(wfs_source_changed(f.s), 0); /* the other one still leads nowhere */
    fixture_done(&f);
    rig_dir_done(&elsewhere);
}

/* Until when a write can have the same stamp as the last one: the tick, or the whole second (on vfat two). */
static void fresh_stamps(void **state)
{
    static const struct {
        struct timespec stamp, now;
        int64_t open_ms;
    } cases[] = {
        { { 1000, 5000000 }, { 1000, 5000000 }, 20 },
        { { 1000, 5000000 }, { 1000, 15000000 }, 10 },
        { { 1000, 995000000 }, { 1001, 5000000 }, 10 },
        { { 1000, 5000000 }, { 1000, 25000000 }, 0 },
        { { 1000, 5000000 }, { 1000, 1000000 }, 24 }, /* clocks of two processors */
        { { 1000, 5000000 }, { 999, 0 }, 0 },         /* of another machine */
        { { 1000, 0 }, { 1000, 500000000 }, 1520 },
        { { 1000, 0 }, { 1001, 900000000 }, 120 },
        { { 1000, 0 }, { 1002, 30000000 }, 0 },
        { { 0, 0 }, { 1700000000, 1 }, 0 },
        { { 1700000000, 0 }, { 0, 1 }, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(wfs_stamp_open_ns(&cases[i].stamp, &cases[i].now), cases[i].open_ms * 1000000);
}

/* Whatever the file system's stamps: what is read of a source that has not changed is what was written last. */
static void written_twice_at_once(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < 30; i++) {
        struct wfs_blob got = { NULL, 0 };

        put(&f, "file", "first");
        open_it(&f);
        assert_int_equal(wfs_source_slurp(f.s, wfs_source_find(f.s, "file"), 100, &got, &f.err), 0);
        assert_string_equal((char *)got.data, "first");
        wfs_blob_done(&got);
        put(&f, "file", "again");
        assert_int_equal(wfs_source_changed(f.s), -ESTALE);
        wfs_source_close(f.s);
        f.s = NULL;
    }
    fixture_done(&f);
}

/* What was listed too soon is listed again once, when writes show. */
static void settles_once(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    put(&f, "file", "x");
    open_it(&f);
    assert_int_equal(f.s->unsettled_until.tv_sec, 0); /* it has waited */
    assert_int_equal(wfs_source_changed(f.s), 0);
    clock_gettime(CLOCK_REALTIME, &f.s->unsettled_until); /* as if the stamps were of whole seconds */
    f.s->unsettled_until.tv_sec += 100;
    assert_int_equal(wfs_source_changed(f.s), 0);
    f.s->unsettled_until.tv_sec -= 100;
    assert_int_equal(wfs_source_changed(f.s), -ESTALE);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed),
        cmocka_unit_test(one_file),
        cmocka_unit_test(cannot_be_opened),
        cmocka_unit_test(folders_that_are_too_deep_are_left_out),
        cmocka_unit_test(bytes),
        cmocka_unit_test(another_file_by_now),
        cmocka_unit_test(changes),
        cmocka_unit_test(kept_by_a_reference),
        cmocka_unit_test(more_files_than_descriptors),
        cmocka_unit_test(retired),
        cmocka_unit_test(links_into_the_mount),
        cmocka_unit_test(a_link_s_target_that_comes_later),
        cmocka_unit_test(fresh_stamps),
        cmocka_unit_test(written_twice_at_once),
        cmocka_unit_test(settles_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
