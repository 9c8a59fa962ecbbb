/* The worker pool, with io_uring and with pread: reads, order, faults, a source that hangs. */
#include "engine_rig.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { FILE_SIZE = 3000000, MAX_JOBS = 64 };

struct fixture {
    struct rig_dir dir;
    uint8_t *bytes;
    int fd;
    bool ring;
    struct wfs_pool *pool;
};

struct task {
    struct wfs_job job;
    struct wfs_io io[4];
    uint8_t *buf;
    atomic_int *turn; /* counts runs */
    int ran_as;       /* its place in the order of runs */
    int sleep_ms;
    atomic_bool done;
    void *scratch;
    bool signals_blocked;
};

static void fixture_init(struct fixture *f, bool ring, unsigned workers, const struct wfs_io_hooks *hooks)
{
    struct wfs_error err = { 0 };
    uint32_t seed = 3;
    char path[128];

    f->ring = ring;
    rig_dir_init(&f->dir);
    f->bytes = malloc(FILE_SIZE);
    for (size_t i = 0; i < FILE_SIZE; i++)
        f->bytes[i] = (uint8_t)rig_random(&seed);
    rig_write(&f->dir, "f", f->bytes, FILE_SIZE);
    snprintf(path, sizeof path, "%s/f", f->dir.path);
    f->fd = open(path, O_RDONLY);
    if (wfs_pool_new(workers, 1000, ring, hooks, &f->pool, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(wfs_pool_workers(f->pool), workers);
}

static void fixture_done(struct fixture *f)
{
    assert_true(wfs_pool_free(f->pool));
    close(f->fd);
    free(f->bytes);
    rig_dir_done(&f->dir);
}

static void run_task(struct wfs_job *job, void *scratch)
{
    struct task *t = (struct task *)job;
    sigset_t blocked;

    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    t->signals_blocked =
        sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGHUP);
    t->scratch = scratch;
    if (t->turn)
        t->ran_as = (*t->turn)++;
    if (t->sleep_ms)
        usleep((unsigned)t->sleep_ms * 1000);
    t->done = true;
}

static void task_init(struct task *t, enum wfs_priority priority)
{
    memset(t, 0, sizeof *t);
    t->job.run = run_task;
    t->job.priority = priority;
    t->job.ios = t->io;
}

static void add_read(struct task *t, int fd, uint64_t offset, void *buf, size_t len)
{
    t->io[t->job.n_ios++] = (struct wfs_io){ .fd = fd, .offset = offset, .buf = buf, .len = len, .result = 77 };
}

static bool wait_done(struct task *t, uint64_t ms)
{
    uint64_t until = rig_ms() + ms;

    while (!t->done && rig_ms() < until)
        usleep(200);
    return t->done;
}

static void reads(bool ring)
{
    struct fixture f;
    struct task t[MAX_JOBS];
    uint8_t *buf = malloc(MAX_JOBS * 70000);
    uint32_t seed = 8;

    fixture_init(&f, ring, 2, NULL);
    for (int i = 0; i < MAX_JOBS; i++) {
        task_init(&t[i], WFS_FOREGROUND);
        for (int k = 0; k < 3; k++)
            add_read(&t[i], f.fd, rig_random(&seed) % (FILE_SIZE - 20000), buf + i * 70000 + k * 20000,
                     k == 2 ? 0 : 1 + rig_random(&seed) % 20000);
        wfs_pool_submit(f.pool, &t[i].job);
    }
    for (int i = 0; i < MAX_JOBS; i++) {
        assert_true(wait_done(&t[i], 5000));
        assert_int_equal((uintptr_t)t[i].scratch % 64, 0);
        assert_true(t[i].signals_blocked);
        assert_false(t[i].job.cancelled);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(t[i].io[k].result, 0);
            assert_memory_equal(t[i].io[k].buf, f.bytes + t[i].io[k].offset, t[i].io[k].len);
        }
    }
    assert_true(wfs_pool_bytes_read(f.pool) > 0);
    assert_int_equal(wfs_pool_uses_io_uring(f.pool), ring && !*wfs_pool_io_reason(f.pool));
    fixture_done(&f);
    free(buf);
}

static void reads_by_ring(void **state)
{
    (void)state;
    reads(true);
}

static void reads_by_pread(void **state)
{
    (void)state;
    reads(false);
}

static void ends_early(bool ring)
{
    struct fixture f;
    struct task t;
    uint8_t buf[200];

    fixture_init(&f, ring, 1, NULL);
    task_init(&t, WFS_FOREGROUND);
    add_read(&t, f.fd, FILE_SIZE - 100, buf, 101);     /* one byte is not there */
    add_read(&t, f.fd, FILE_SIZE + 5000, buf + 110, 1); /* none is */
    add_read(&t, f.fd, FILE_SIZE - 50, buf + 120, 50);
    add_read(&t, -1, 0, buf + 180, 1);
    wfs_pool_submit(f.pool, &t.job);
    assert_true(wait_done(&t, 5000));
    assert_int_equal(t.io[0].result, -EIO);
    assert_int_equal(t.io[1].result, -EIO);
    assert_int_equal(t.io[2].result, 0);
    assert_int_equal(t.io[3].result, -EBADF);
    fixture_done(&f);
}

static void the_file_ends_early(void **state)
{
    (void)state;
    ends_early(true);
    ends_early(false);
}

/* A job's checks are done after its reads, and tell what fstat tells. */
static void looks_after_reading(void **state)
{
    (void)state;
    for (int ring = 0; ring < 2; ring++) {
        struct statx now[2];
        struct wfs_io checks[2];
        struct fixture f;
        struct task t;
        uint8_t buf[8];

        fixture_init(&f, ring, 1, NULL);
        task_init(&t, WFS_FOREGROUND);
        add_read(&t, f.fd, 3, buf, 8);
        checks[0] = (struct wfs_io){ .kind = WFS_IO_STAT, .fd = f.fd, .buf = &now[0], .result = 77 };
        checks[1] = (struct wfs_io){ .kind = WFS_IO_STAT, .fd = -1, .buf = &now[1], .result = 77 };
        t.job.checks = checks;
        t.job.n_checks = 2;
        wfs_pool_submit(f.pool, &t.job);
        assert_true(wait_done(&t, 5000));
        assert_int_equal(t.io[0].result, 0);
        assert_int_equal(checks[0].result, 0);
        assert_int_equal(now[0].stx_size, FILE_SIZE);
        assert_true(checks[1].result < 0);
        fixture_done(&f);
    }
}

/* Advice brings a file's pages in: mincore tells. */
static void advice_is_followed(void **state)
{
    (void)state;
    for (int ring = 0; ring < 2; ring++) {
        unsigned char there[2] = { 0, 0 };
        struct fixture f;
        struct task t;
        void *map;

        fixture_init(&f, ring, 1, NULL);
        assert_int_equal(fdatasync(f.fd), 0);
        assert_int_equal(posix_fadvise(f.fd, 0, 0, POSIX_FADV_DONTNEED), 0);
        map = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, f.fd, 0);
        assert_true(map != MAP_FAILED);
        task_init(&t, WFS_READAHEAD);
        t.io[0] = (struct wfs_io){ .kind = WFS_IO_ADVISE, .fd = f.fd, .offset = 1 << 20, .len = 8192, .result = 77 };
        t.job.n_ios = 1;
        wfs_pool_submit(f.pool, &t.job);
        assert_true(wait_done(&t, 5000));
        assert_int_equal(t.io[0].result, 0);
        for (int i = 0; i < 500 && !(there[0] & there[1] & 1); i++) {
            usleep(2000);
            assert_int_equal(mincore((char *)map + (1 << 20), 8192, there), 0);
        }
        assert_true(there[0] & there[1] & 1);
        assert_int_equal(wfs_pool_bytes_read(f.pool), 0);
        munmap(map, FILE_SIZE);
        fixture_done(&f);
    }
}

static int inject(void *ctx, struct wfs_io *io)
{
    uint64_t *bad = ctx;

    return io->offset <= *bad && *bad < io->offset + io->len ? -EREMOTEIO : io->result;
}

static void faults_are_injected(void **state)
{
    (void)state;
    for (int ring = 0; ring < 2; ring++) {
        uint64_t bad = 1000;
        struct wfs_io_hooks hooks = { &bad, inject };
        struct fixture f;
        struct task t;
        uint8_t buf[2000];

        fixture_init(&f, ring, 1, &hooks);
        task_init(&t, WFS_FOREGROUND);
        add_read(&t, f.fd, 0, buf, 1000);
        add_read(&t, f.fd, 1000, buf + 1000, 1000);
        wfs_pool_submit(f.pool, &t.job);
        assert_true(wait_done(&t, 5000));
        assert_int_equal(t.io[0].result, 0);
        assert_int_equal(t.io[1].result, -EREMOTEIO);
        fixture_done(&f);
    }
}

static int refuse(struct wfs_job *job)
{
    (void)job;
    return -EMFILE;
}

static void a_job_that_cannot_be_prepared_is_run_with_that(void **state)
{
    struct fixture f;
    struct task t;
    uint8_t buf[8];

    (void)state;
    fixture_init(&f, true, 1, NULL);
    task_init(&t, WFS_FOREGROUND);
    add_read(&t, f.fd, 0, buf, 8);
    t.job.prepare = refuse;
    wfs_pool_submit(f.pool, &t.job);
    assert_true(wait_done(&t, 5000));
    assert_int_equal(t.job.prepared, -EMFILE);
    assert_int_equal(t.job.n_ios, 0);
    fixture_done(&f);
}

static int read_pipe(struct wfs_job *job)
{
    char byte;

    return read((int)job->key[1], &byte, 1) == 1 ? 0 : -EIO;
}

/* One worker, kept busy while the others are queued. */
static void order(bool ring)
{
    struct fixture f;
    struct task blocker, t[6];
    atomic_int turn = 0;
    uint8_t buf[6][16];
    static const enum wfs_priority priorities[6] = {
        WFS_BACKGROUND, WFS_READAHEAD, WFS_READAHEAD, WFS_FOREGROUND, WFS_BACKGROUND, WFS_FOREGROUND,
    };

    fixture_init(&f, ring, 1, NULL);
    task_init(&blocker, WFS_FOREGROUND);
    blocker.sleep_ms = 50;
    wfs_pool_submit(f.pool, &blocker.job);
    usleep(10000);
    for (int i = 0; i < 6; i++) {
        task_init(&t[i], priorities[i]);
        t[i].turn = &turn;
        t[i].job.key[0] = 9;
        t[i].job.key[1] = (uint64_t)i;
        add_read(&t[i], f.fd, 0, buf[i], 16);
        wfs_pool_submit(f.pool, &t[i].job);
    }
    wfs_pool_promote(f.pool, 9, 4, WFS_FOREGROUND); /* the second background one */
    wfs_pool_promote(f.pool, 9, 3, WFS_FOREGROUND); /* is foreground already */
    wfs_pool_promote(f.pool, 8, 0, WFS_FOREGROUND); /* nobody */
    for (int i = 0; i < 6; i++)
        assert_true(wait_done(&t[i], 5000));
    assert_int_equal(t[3].ran_as, 0);
    assert_int_equal(t[5].ran_as, 1);
    assert_int_equal(t[4].ran_as, 2);
    assert_int_equal(t[1].ran_as, 3);
    assert_int_equal(t[2].ran_as, 4);
    assert_int_equal(t[0].ran_as, 5);
    fixture_done(&f);
}

static void foreground_first(void **state)
{
    (void)state;
    order(true);
    order(false);
}

/*
 * One worker, and a reader at random that never rests beside a stream with read-ahead: its jobs overtake, but the
 * stream gets eight turns for each.
 */
static void streams_get_turns(void **state)
{
    struct fixture f;
    struct task blocker, stream[20], random[3];
    atomic_int turn = 0;
    uint8_t buf[16];

    (void)state;
    fixture_init(&f, true, 1, NULL);
    task_init(&blocker, WFS_BACKGROUND);
    blocker.sleep_ms = 50;
    wfs_pool_submit(f.pool, &blocker.job);
    usleep(10000);
    for (int i = 0; i < 20; i++) {
        task_init(&stream[i], i < 9 ? WFS_STREAM : WFS_READAHEAD);
        stream[i].turn = &turn;
        stream[i].sleep_ms = 10;
        add_read(&stream[i], f.fd, 0, buf, 16);
        wfs_pool_submit(f.pool, &stream[i].job);
    }
    for (int i = 0; i < 3; i++) {
        task_init(&random[i], WFS_FOREGROUND);
        random[i].turn = &turn;
        add_read(&random[i], f.fd, 0, buf, 16);
        wfs_pool_submit(f.pool, &random[i].job);
        assert_true(wait_done(&random[i], 5000));
    }
    for (int i = 0; i < 20; i++)
        assert_true(wait_done(&stream[i], 5000));
    assert_int_equal(random[0].ran_as, 0); /* overtakes all */
    assert_int_equal(random[1].ran_as, 9);
    assert_int_equal(random[2].ran_as, 18);
    fixture_done(&f);
}

/* An idle job is run by a worker that has had nothing to do for a while, and not before. */
static void idle_jobs_wait_for_rest(void **state)
{
    (void)state;
    for (int ring = 0; ring < 2; ring++) {
        struct task idle[2], busy[5];
        struct fixture f;
        uint8_t buf[16];

        fixture_init(&f, ring, 1, NULL);
        for (int i = 0; i < 2; i++) {
            task_init(&idle[i], WFS_IDLE);
            wfs_pool_submit(f.pool, &idle[i].job);
        }
        for (int i = 0; i < 5; i++) { /* 100 ms of work, with pauses in it */
            task_init(&busy[i], WFS_BACKGROUND);
            busy[i].sleep_ms = 10;
            add_read(&busy[i], f.fd, 0, buf, 16);
            wfs_pool_submit(f.pool, &busy[i].job);
            assert_true(wait_done(&busy[i], 5000));
            usleep(10000);
            assert_false(idle[0].done);
        }
        assert_true(wait_done(&idle[0], 5000));
        assert_true(wait_done(&idle[1], 20)); /* at once behind the first */
        fixture_done(&f);
    }
}

static void cancelled(void **state)
{
    struct fixture f;
    struct task blocker, t[3];
    uint8_t buf[16];

    (void)state;
    fixture_init(&f, true, 1, NULL);
    task_init(&blocker, WFS_FOREGROUND);
    blocker.sleep_ms = 50;
    wfs_pool_submit(f.pool, &blocker.job);
    usleep(10000);
    for (int i = 0; i < 3; i++) {
        task_init(&t[i], WFS_READAHEAD);
        t[i].job.key[0] = i == 1 ? 6 : 5;
        add_read(&t[i], f.fd, 0, buf, 16);
        wfs_pool_submit(f.pool, &t[i].job);
    }
    wfs_pool_cancel(f.pool, 5);
    for (int i = 0; i < 3; i++) {
        assert_true(wait_done(&t[i], 5000));
        assert_int_equal(t[i].job.cancelled, i != 1);
        assert_int_equal(t[i].io[0].result, i == 1 ? 0 : -ECANCELED);
    }
    fixture_done(&f);
}

static void the_end_runs_what_is_queued(void **state)
{
    (void)state;
    for (int ring = 0; ring < 2; ring++) {
        struct fixture f;
        struct task t[MAX_JOBS];
        uint8_t buf[16];
        int n_cancelled = 0;

        fixture_init(&f, ring, 1, NULL);
        for (int i = 0; i < MAX_JOBS; i++) {
            task_init(&t[i], WFS_BACKGROUND);
            t[i].sleep_ms = i == 0 ? 30 : 0;
            add_read(&t[i], f.fd, 0, buf, 16);
            wfs_pool_submit(f.pool, &t[i].job);
        }
        usleep(5000);
        fixture_done(&f);
        for (int i = 0; i < MAX_JOBS; i++) {
            assert_true(t[i].done);
            n_cancelled += t[i].job.cancelled;
        }
        assert_true(n_cancelled > MAX_JOBS / 2);
    }
}

/* An empty pipe never answers: the worst of sources. */
static void hang(int n, int pause_ms)
{
    struct fixture f;
    struct task hanging[40], t[4];
    uint8_t buf[44][16];
    int pipe_fd[2];
    uint64_t began;
    int good = 0;

    fixture_init(&f, true, 1, NULL);
    if (!wfs_pool_uses_io_uring(f.pool)) {
        fixture_done(&f);
        skip();
    }
    assert_int_equal(pipe(pipe_fd), 0);
    for (int i = 0; i < n; i++) {
        task_init(&hanging[i], WFS_FOREGROUND);
        add_read(&hanging[i], pipe_fd[0], 0, buf[i], 16);
        wfs_pool_submit(f.pool, &hanging[i].job);
    }
    usleep((unsigned)pause_ms * 1000);
    began = rig_ms();
    for (int i = 0; i < 4; i++) {
        task_init(&t[i], WFS_FOREGROUND);
        add_read(&t[i], f.fd, 16 * i, buf[40 + i], 16);
        wfs_pool_submit(f.pool, &t[i].job);
        assert_true(wait_done(&t[i], 5000));
        assert_int_equal(t[i].io[0].result, 0);
        assert_memory_equal(buf[40 + i], f.bytes + 16 * i, 16);
    }
    assert_in_range(rig_ms() - began, 0, 3000);
    assert_int_equal(write(pipe_fd[1], buf, 16), 16); /* one of them gets it */
    usleep(20000);
    began = rig_ms();
    fixture_done(&f);
    assert_in_range(rig_ms() - began, 0, 2000);
    for (int i = 0; i < n; i++) {
        assert_true(hanging[i].done);
        good += hanging[i].io[0].result == 0;
        assert_true(hanging[i].io[0].result == 0 || hanging[i].io[0].result == -ECANCELED);
    }
    assert_int_equal(good, 1);
    close(pipe_fd[0]);
    close(pipe_fd[1]);
}

static void a_hanging_source_blocks_nobody_else(void **state)
{
    (void)state;
    hang(40, 0);
    hang(8, 50); /* just as many as a worker starts: it is asleep and has its fill when the good read comes */
}

/* By pread a hanging source holds its worker: the end does not wait for it for ever. */
static void the_end_with_a_worker_that_hangs(void **state)
{
    struct fixture f;
    struct task t;
    uint8_t buf[16];
    int pipe_fd[2];
    uint64_t began;

    (void)state;
    fixture_init(&f, false, 1, NULL);
    assert_int_equal(pipe(pipe_fd), 0);
    task_init(&t, WFS_FOREGROUND);
    add_read(&t, -1, 0, buf, 16);
    t.job.prepare = read_pipe;
    t.job.key[1] = (uint64_t)pipe_fd[0];
    wfs_pool_submit(f.pool, &t.job);
    usleep(10000);
    began = rig_ms();
    assert_false(wfs_pool_free(f.pool));
    assert_in_range(rig_ms() - began, 1000, 3500);
    assert_false(t.done);
    assert_int_equal(write(pipe_fd[1], buf, 1), 1);
    fixture_done(&f); /* frees again, and well */
    assert_true(t.done);
    close(pipe_fd[0]);
    close(pipe_fd[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_by_ring),
        cmocka_unit_test(reads_by_pread),
        cmocka_unit_test(the_file_ends_early),
        cmocka_unit_test(looks_after_reading),
        cmocka_unit_test(advice_is_followed),
        cmocka_unit_test(faults_are_injected),
        cmocka_unit_test(a_job_that_cannot_be_prepared_is_run_with_that),
        cmocka_unit_test(foreground_first),
        cmocka_unit_test(streams_get_turns),
        cmocka_unit_test(idle_jobs_wait_for_rest),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(the_end_runs_what_is_queued),
        cmocka_unit_test(a_hanging_source_blocks_nobody_else),
        cmocka_unit_test(the_end_with_a_worker_that_hangs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
