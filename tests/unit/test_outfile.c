/* Files that are written whole or not at all, and never into a source. */
#include "check.h"

#include "outfile.h"

#ifdef WFS_TEST_NAMED_PARTS /* the program again, as on a filesystem that has no files without names */
#include <fcntl.h>
#undef O_TMPFILE
#define O_TMPFILE O_DIRECTORY
#include "../../mount/outfile.c"
enum { PARTS = 1 };
#else
enum { PARTS = 0 }; /* entries that a file has while it is written */
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

struct place {
    char root[64], source[80], out[80];
    struct wfs_source_file file;
    struct wfs_source model;
};

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* What the file holds; "" when it is absent. */
static const char *read_text(const char *path)
{
    static char text[100];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

    text[n] = 0;
    if (f)
        fclose(f);
    return text;
}

static int count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    int n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    struct stat st;
    char path[200];

    strcpy(p->root, "/tmp/weightfs-outfile-XXXXXX");
    if (!mkdtemp(p->root))
        return -1;
    snprintf(p->source, sizeof p->source, "%s/source", p->root);
    snprintf(p->out, sizeof p->out, "%s/out", p->root);
    mkdir(p->source, 0755);
    mkdir(p->out, 0755);
    snprintf(path, sizeof path, "%s/weights", p->source);
    write_text(path, "weights");
    stat(path, &st);
    p->file.identity.dev = st.st_dev;
    p->file.identity.ino = st.st_ino;
    p->model.files = &p->file;
    p->model.n_files = 1;
    snprintf(path, sizeof path, "%s/sub", p->source);
    mkdir(path, 0755);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    char command[100];
    int r;

    snprintf(command, sizeof command, "rm -rf '%s'", p->root);
    r = system(command);
    free(p);
    return r;
}

static const char *in(const char *folder, const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int put(struct place *p, const char *path, bool force, const char *text, struct wfs_error *err)
{
    struct wfs_outfile o = WFS_OUTFILE_INIT;
    struct iovec iov[2] = { { (char *)text, 1 }, { (char *)text + 1, strlen(text) - 1 } };
    int r = wfs_outfile_open(&o, path, force, strlen(text), p->source, &p->model, err);

    if (r == 0)
        r = wfs_outfile_write(&o, iov, 2, err);
    if (r == 0)
        r = wfs_outfile_commit(&o, err);
    wfs_outfile_done(&o);
    return r;
}

static void a_file_is_whole(void **state)
{
    struct place *p = *state;
    struct wfs_error err;
    struct stat st;
    mode_t mask = umask(027);

    assert_int_equal(put(p, in(p->out, "x"), false, "hello", &err), 0);
    umask(mask);
    assert_string_equal(read_text(in(p->out, "x")), "hello");
    assert_int_equal(stat(in(p->out, "x"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(put(p, in(p->out, "x"), false, "again", &err), -EEXIST);
    assert_contains(err.msg, "--force");
    assert_string_equal(read_text(in(p->out, "x")), "hello");
    assert_int_equal(put(p, in(p->out, "x"), true, "again", &err), 0);
    assert_string_equal(read_text(in(p->out, "x")), "again");
    assert_int_equal(count_entries(p->out), 1);
}

static void what_is_not_committed_is_gone(void **state)
{
    struct place *p = *state;
    struct wfs_outfile o = WFS_OUTFILE_INIT;
    struct wfs_error err;
    struct iovec iov = { (char *)"half", 4 };

    assert_int_equal(wfs_outfile_open(&o, in(p->out, "y"), false, 8, p->source, &p->model, &err), 0);
    assert_int_equal(wfs_outfile_write(&o, &iov, 1, &err), 0);
    assert_int_not_equal(access(in(p->out, "y"), F_OK), 0);
    assert_int_equal(count_entries(p->out), PARTS);
    wfs_outfile_done(&o);
    assert_int_equal(count_entries(p->out), 0);
}

/* --force: what is there stays as it is until the new file takes its place; a file that came meanwhile goes, too. */
static void force_takes_the_place_of_what_is_there(void **state)
{
    struct place *p = *state;
    struct wfs_outfile o = WFS_OUTFILE_INIT;
    struct wfs_error err;
    struct iovec iov = { (char *)"new", 3 };
    char path[200];

    strcpy(path, in(p->out, "f"));
    for (int came_later = 0; came_later < 2; came_later++) {
        if (!came_later)
            write_text(path, "old");
        assert_int_equal(wfs_outfile_open(&o, path, true, 3, p->source, &p->model, &err), 0);
        assert_int_equal(wfs_outfile_write(&o, &iov, 1, &err), 0);
        if (came_later)
            write_text(path, "old");
        assert_string_equal(read_text(path), "old");
        assert_int_equal(wfs_outfile_commit(&o, &err), 0);
        wfs_outfile_done(&o);
        assert_string_equal(read_text(path), "new");
        assert_int_equal(count_entries(p->out), 1);
        unlink(path);
    }
}

static void a_file_that_came_meanwhile_stays(void **state)
{
    struct place *p = *state;
    struct wfs_outfile o = WFS_OUTFILE_INIT;
    char path[200];
    struct wfs_error err;

    strcpy(path, in(p->out, "z"));
    assert_int_equal(wfs_outfile_open(&o, path, false, 0, p->source, &p->model, &err), 0);
    write_text(path, "other");
    assert_int_equal(wfs_outfile_commit(&o, &err), -EEXIST);
    wfs_outfile_done(&o);
    assert_string_equal(read_text(path), "other");
    assert_int_equal(count_entries(p->out), 1);
}

static void the_source_is_never_written_to(void **state)
{
    struct place *p = *state;
    struct wfs_error err;
    char path[200], link[200];

    strcpy(path, in(p->source, "weights"));
    for (int force = 0; force < 2; force++) {
        assert_int_equal(put(p, path, force, "bad!", &err), -EPERM);
        assert_int_equal(put(p, in(p->source, "new"), force, "bad!", &err), -EPERM);
        assert_contains(err.msg, "inside the source");
        assert_int_equal(put(p, in(p->source, "sub/new"), force, "bad!", &err), -EPERM);
        strcpy(link, in(p->out, "hard"));
        unlink(link);
        assert_int_equal(symlink(path, link), 0);
        assert_int_equal(put(p, link, force, "bad!", &err), -EPERM);
        unlink(link);
    }
    strcpy(link, in(p->out, "hard"));
    assert_int_equal(linkat(AT_FDCWD, path, AT_FDCWD, link, 0), 0);
    assert_int_equal(put(p, link, true, "bad!", &err), -EPERM);
    assert_string_equal(read_text(path), "weights");
    assert_int_equal(count_entries(p->source), 2);
}

static void places_that_cannot_be(void **state)
{
    struct place *p = *state;
    struct wfs_error err;

    assert_int_equal(put(p, p->out, true, "text", &err), -EISDIR);
    assert_int_equal(put(p, in(p->out, "no/such/place"), false, "text", &err), -ENOENT);
    assert_contains(err.msg, "no/such/place");
    assert_int_equal(put(p, in(p->out, "slash/"), false, "text", &err), -EISDIR);
    assert_int_equal(put(p, "/dev/null", false, "text", &err), 0);
    assert_int_equal(count_entries(p->out), 0);
}

static void a_signal_takes_the_half_file_away(void **state)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGKILL };
    struct place *p = *state;

    /* A file that has a name outlives SIGKILL; that is why it has none where that can be. */
    for (size_t i = 0; i < sizeof signals / sizeof *signals - PARTS; i++) {
        int status, ready[2];
        pid_t pid;
        char c;

        assert_int_equal(pipe(ready), 0);
        pid = fork();
        if (pid == 0) {
            struct wfs_outfile o = WFS_OUTFILE_INIT;
            struct wfs_error err;

            if (signals[i] != SIGKILL)
                signal(signals[i], SIG_DFL); /* nohup, if we run under it, has it ignored */
            if (wfs_outfile_open(&o, in(p->out, "s"), false, 100, p->source, &p->model, &err) < 0)
                _exit(1);
            if (write(ready[1], "x", 1) != 1)
                _exit(1);
            sleep(30);
            _exit(0);
        }
        assert_int_equal(read(ready[0], &c, 1), 1);
        assert_int_equal(count_entries(p->out), PARTS);
        kill(pid, signals[i]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_int_equal(count_entries(p->out), 0);
        close(ready[0]);
        close(ready[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_committed_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(force_takes_the_place_of_what_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_came_meanwhile_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(the_source_is_never_written_to, setup, teardown),
        cmocka_unit_test_setup_teardown(places_that_cannot_be, setup, teardown),
        cmocka_unit_test_setup_teardown(a_signal_takes_the_half_file_away, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
