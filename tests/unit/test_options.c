/*
 * Options, their lists, command lines and mount(8)'s helper. What is allowed is what the manual pages of mount(8) and
 * the house say.
 */
#include "check.h"

#include "arguments.h"
#include "commands.h"
#include "fstab.h"
#include "gguf/recipe.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int set_list(struct wfs_options *o, const char *list, unsigned flags, struct wfs_error *err)
{
    wfs_options_init(o);
    memset(err, 0, sizeof *err);
    return wfs_options_set_list(o, list, flags, err);
}

static void sizes_have_suffixes(void **state)
{
    static const struct { const char *text; uint64_t bytes; } sizes[] = {
        { "1048576", 1048576 }, { "512M", 536870912 }, { "2G", 2147483648 }, { "2g", 2147483648 }, { "1024K", 1048576 },
        { "1T", 1099511627776 }, { "2GiB", 2147483648 }, { "64MB", 67108864 }, { "9000000B", 9000000 },
    };
    struct wfs_options o;
    struct wfs_error err;

    (void)state;
    wfs_options_init(&o);
    assert_int_equal(o.fs.cache_size, 536870912);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(wfs_options_set(&o, "cache_size", sizes[i].text, &err), 0);
        assert_int_equal(o.fs.cache_size, sizes[i].bytes);
    }
    wfs_options_done(&o);
}

static void malformed_values_are_named(void **state)
{
    static const char *const bad[][3] = { /* option, value, what the message allows */
        { "cache_size", "12Q", "512M" }, { "cache_size", "", "512M" }, { "cache_size", "-1M", "512M" },
        { "cache_size", "1", "1M" }, { "cache_size", "99999999999999999999", "512M" },
        { "cache_size", "16777216T", "512M" }, { "cache_size", "5 M", "512M" },
        { "workers", "0", "1 to 1024" }, { "workers", "x", "1 to 1024" }, { "workers", "1025", "1 to 1024" },
        { "workers", "2 ", "1 to 1024" },
        { "umask", "999", "octal" }, { "umask", "1000", "octal" }, { "umask", "x", "octal" },
        { "uid", "no-such-user-anywhere", "number or name" }, { "uid", "4294967295", "number or name" },
        { "gid", "no-such-group-anywhere", "number or name" }, { "io_uring", "maybe", "yes or no" },
        { "compress", "perhaps", "yes or no" }, { "source_pages", "direct", "keep or drop" },
        { "model_name", "", "not empty" }, { "allow_other", "yes", "takes no value" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wfs_options o, before;
        struct wfs_error err = { 0 };

        wfs_options_init(&o);
        before = o;
        assert_int_equal(wfs_options_set(&o, bad[i][0], bad[i][1], &err), -EINVAL);
        assert_contains(err.msg, bad[i][0]);
        assert_contains(err.msg, bad[i][1]);
        assert_contains(err.msg, bad[i][2]);
        assert_memory_equal(&o, &before, sizeof o);
    }
}

static void values_that_are_missing_or_unknown(void **state)
{
    struct wfs_options o;
    struct wfs_error err = { 0 };

    (void)state;
    wfs_options_init(&o);
    assert_int_equal(wfs_options_set(&o, "workers", NULL, &err), -EINVAL);
    assert_contains(err.msg, "workers needs a value");
    assert_int_equal(wfs_options_set(&o, "no_such", "1", &err), -ENOENT);
    assert_contains(err.msg, "no_such");
    assert_int_equal(wfs_options_set(&o, "Workers", "1", &err), -ENOENT);
    wfs_options_done(&o);
}

static void a_list_sets_all(void **state)
{
    struct wfs_options o;
    struct wfs_error err;

    (void)state;
    assert_int_equal(set_list(&o, "cache_size=64M,,workers=3,umask=077,uid=7,gid=0,allow_other,model_name=a\\,b\\\\c=d,"
                                  "views=tensors:*.gguf,log=/x/y,io_uring=no", 0, &err), 0);
    assert_int_equal(o.fs.cache_size, 64 << 20);
    assert_int_equal(o.fs.workers, 3);
    assert_int_equal(o.mode_mask, 077);
    assert_int_equal(o.uid, 7);
    assert_int_equal(o.gid, 0);
    assert_true(o.allow_other);
    assert_string_equal(o.fs.model_name, "a,b\\c=d");
    assert_string_equal(o.fs.views, "tensors:*.gguf");
    assert_string_equal(o.log, "/x/y");
    assert_true(o.fs.no_io_uring);
    assert_int_equal(wfs_options_set_list(&o, "io_uring=yes,model_name=other", 0, &err), 0); /* the last one counts */
    assert_false(o.fs.no_io_uring);
    assert_false(o.fs.compress || o.fs.drop_pages);
    assert_int_equal(wfs_options_set_list(&o, "compress=yes,source_pages=drop", 0, &err), 0);
    assert_true(o.fs.compress && o.fs.drop_pages);
    assert_string_equal(o.fs.model_name, "other");
    wfs_options_done(&o);
}

static void users_by_name(void **state)
{
    struct wfs_options o;
    struct wfs_error err;

    (void)state;
    assert_int_equal(set_list(&o, "uid=root,gid=root", 0, &err), 0);
    assert_int_equal(o.uid, 0);
    assert_int_equal(o.gid, 0);
}

static void mount_s_generic_options(void **state)
{
    static const char list[] = "ro,rw,nosuid,nodev,noexec,noauto,nofail,_netdev,user,users,owner,group,defaults,"
                               "suid,dev,auto,atime,noatime,relatime,norelatime,x-systemd.automount,x-any=1,"
                               "comment=fast,user=joe";
    struct wfs_options o;
    struct wfs_error err;

    (void)state;
    assert_int_equal(set_list(&o, list, WFS_LIST_GENERIC, &err), 0);
    assert_true(o.no_exec);
    assert_int_equal(set_list(&o, "noexec,exec", WFS_LIST_GENERIC, &err), 0);
    assert_false(o.no_exec);
    assert_int_equal(set_list(&o, "ro", 0, &err), -ENOENT);
    assert_int_equal(set_list(&o, "ro,bogus=1", WFS_LIST_GENERIC, &err), -ENOENT);
    assert_contains(err.msg, "bogus");
    assert_null(strstr(err.msg, "backslash"));
    assert_int_equal(set_list(&o, "model_name=A, B", WFS_LIST_GENERIC, &err), -ENOENT);
    assert_contains(err.msg, "needs a backslash");
    wfs_options_done(&o);
    /* A comma in a pattern: what is before it is no recipe, or what is behind it no option. */
    assert_int_equal(set_list(&o, "view=x.gguf q4_0 tensor-type=[0\\,1]=q8_0", WFS_LIST_GENERIC, &err), 0);
    wfs_options_done(&o);
    assert_int_equal(set_list(&o, "view=x.gguf q4_0 tensor-type=[0,1]=q8_0", WFS_LIST_GENERIC, &err), -EINVAL);
    assert_contains(err.msg, "after tensor-type= comes a pattern");
    assert_contains(err.msg, "a comma that belongs to a value needs a backslash");
    assert_int_equal(set_list(&o, "view=x.gguf q4_0 tensor-type=a=q8_0,pure", WFS_LIST_GENERIC, &err), -ENOENT);
    assert_contains(err.msg, "there is no option \"pure\"");
    assert_contains(err.msg, "needs a backslash");
    wfs_options_done(&o);
    assert_int_equal(set_list(&o, "view=x.gguf q9", WFS_LIST_GENERIC, &err), -EINVAL);
    assert_null(strstr(err.msg, "backslash"));
    assert_int_equal(set_list(&o, "bogus=1,workers=2", WFS_LIST_GENERIC | WFS_LIST_SLOPPY, &err), 0);
    assert_int_equal(o.fs.workers, 2);
    assert_int_equal(set_list(&o, "workers=none", WFS_LIST_GENERIC | WFS_LIST_SLOPPY, &err), -EINVAL);
}

/* --- mount(8)'s helper --- */

#define PARSE(options, request, err, ...) \
    wfs_fstab_parse(sizeof((char *[]){ "/sbin/mount.weightfs", __VA_ARGS__ }) / sizeof(char *), \
                    (char *[]){ "/sbin/mount.weightfs", __VA_ARGS__ }, options, request, err)

static void the_helper_s_arguments(void **state)
{
    struct wfs_mount_request r = { 0 };
    struct wfs_options o;
    struct wfs_error err = { 0 };

    (void)state;
    assert_true(wfs_fstab_is_helper("/usr/sbin/mount.weightfs"));
    assert_true(wfs_fstab_is_helper("mount.fuse.weightfs"));
    assert_false(wfs_fstab_is_helper("/usr/bin/weightfs"));
    wfs_options_init(&o);
    assert_int_equal(PARSE(&o, &r, &err, "/src", "/mnt", "-o", "rw,workers=2", "-n", "-v", "-t", "fuse.weightfs",
                           "-ocache_size=8M"), 0);
    assert_string_equal(r.source, "/src");
    assert_string_equal(r.mountpoint, "/mnt");
    assert_string_equal(r.program, "mount.weightfs");
    assert_int_equal(r.failed_code, 32);
    assert_false(r.fake);
    assert_false(r.foreground);
    assert_int_equal(o.fs.workers, 2);
    assert_int_equal(o.fs.cache_size, 8 << 20);
    assert_int_equal(PARSE(&o, &r, &err, "-snf", "/src", "/mnt", "-rw", "-N", "/proc/1/ns/mnt"), 0);
    assert_true(r.fake);
    assert_int_equal(PARSE(&o, &r, &err, "/src", "/mnt", "-o", "bogus", "-s"), 0);
}

static void the_helper_s_errors_name_what_is_wrong(void **state)
{
    struct wfs_mount_request r = { 0 };
    struct wfs_options o;
    struct wfs_error err = { 0 };

    (void)state;
    wfs_options_init(&o);
    assert_int_equal(PARSE(&o, &r, &err, "/src"), -EINVAL);
    assert_contains(err.msg, "MOUNTPOINT is missing");
    assert_int_equal(PARSE(&o, &r, &err, "/src", "/mnt", "/more"), -EINVAL);
    assert_contains(err.msg, "/more");
    assert_int_equal(PARSE(&o, &r, &err, "/src", "/mnt", "-q"), -EINVAL);
    assert_contains(err.msg, "-q");
    assert_int_equal(PARSE(&o, &r, &err, "/src", "/mnt", "-o"), -EINVAL);
    assert_int_equal(PARSE(&o, &r, &err, "/src", "/mnt", "-o", "ro,bogus=1"), -ENOENT);
    assert_contains(err.msg, "bogus");
}

/* --- command lines --- */

static const struct wfs_flag flags[] = {
    { "json", 'j', WFS_FLAG_PLAIN, "" },
    { "output", 'o', WFS_FLAG_VALUE, "FILE\t" },
    { "options", 'O', WFS_FLAG_OPTIONS, "LIST\t" },
    { 0 },
};
static const char *const positionals[] = { "SOURCE", "VIEW", NULL };
static const struct wfs_command command = {
    .name = "try", .positionals = positionals, .flags = flags, .takes_options = true, .about = "", .examples = "",
};

/* Usage errors are printed: not into the tests' output. Returns what wfs_arguments_parse does. */
static int parse(int argc, const char *const *argv, struct wfs_arguments *args)
{
    int kept = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY), r;

    fflush(stderr);
    dup2(null, STDERR_FILENO);
    r = wfs_arguments_parse(&command, argc, (char **)argv, args);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(null);
    return r;
}

#define ARGS(args, ...) \
    parse(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), (const char *[]){ __VA_ARGS__ }, args)

static void a_command_line(void **state)
{
    struct wfs_arguments a;

    (void)state;
    assert_int_equal(ARGS(&a, "src", "--workers=4", "view", "--json", "--output", "x"), 0);
    assert_string_equal(a.positional[0], "src");
    assert_string_equal(a.positional[1], "view");
    assert_non_null(a.flag[0]);
    assert_string_equal(a.flag[1], "x");
    assert_null(a.flag[2]);
    assert_int_equal(a.options.fs.workers, 4);
    assert_int_equal(ARGS(&a, "-jo-", "--", "-src", "--view"), 0);
    assert_string_equal(a.flag[1], "-");
    assert_string_equal(a.positional[0], "-src");
    assert_string_equal(a.positional[1], "--view");
    assert_int_equal(ARGS(&a, "s", "v", "-O", "workers=2,umask=022", "-O", "workers=5"), 0);
    assert_int_equal(a.options.fs.workers, 5);
    assert_int_equal(a.options.mode_mask, 022);
    assert_int_equal(ARGS(&a, "s", "v", "--output=a=b"), 0);
    assert_string_equal(a.flag[1], "a=b");
}

/* The words of a recipe have a test of their own: test_recipe.c. */
static void views_of_ones_own(void **state)
{
    char file[] = "/tmp/weightfs-views-XXXXXX", list[100];
    char *argv[] = { "--view", "a.gguf q4_0 pure", "--view=b.gguf q8_0", "mnt" };
    struct wfs_arguments args;
    struct wfs_options o;
    struct wfs_error err = { 0 };
    int fd = mkstemp(file);

    (void)state;
    assert_int_equal(wfs_arguments_parse(&wfs_command_ls, 4, argv, &args), 0);
    assert_int_equal(args.options.fs.n_recipes, 2);
    assert_string_equal(args.options.fs.recipes[0]->view, "a.gguf");
    assert_true(args.options.fs.recipes[0]->request.recipe.pure);
    assert_string_equal(args.options.fs.recipes[1]->view, "b.gguf");
    assert_int_equal(wfs_options_set(&args.options, "view", "a.gguf q8_0", &err), -EINVAL);
    assert_contains(err.msg, "option view: \"a.gguf\": there is a view of this name before it");
    assert_int_equal(args.options.fs.n_recipes, 2);
    wfs_options_done(&args.options);

    assert_true(dprintf(fd, "# mine\n\n  c.gguf q6_k\n\t# more\nd.gguf q4_k_m tensor-type=blk.[0-3]{1\\,2}=q8_0") > 0);
    snprintf(list, sizeof list, "views_file=%s,view=e.gguf q4_0 tensor-type=a{1\\,2}=q8_0,umask=022", file);
    assert_int_equal(set_list(&o, list, 0, &err), -EINVAL); /* in the file, a comma needs no backslash */
    assert_contains(err.msg, "line 5: ");
    wfs_options_done(&o);
    assert_int_equal(ftruncate(fd, 0), 0);
    lseek(fd, 0, SEEK_SET);
    assert_true(dprintf(fd, "# mine\n\n  c.gguf q6_k\r\n\t# more\nd.gguf q4_k_m tensor-type=blk.[0-3]{1,2}=q8_0") > 0);
    assert_int_equal(set_list(&o, list, 0, &err), 0);
    assert_int_equal(o.fs.n_recipes, 3);
    assert_string_equal(o.fs.recipes[2]->view, "e.gguf");
    assert_int_equal(o.fs.recipes[1]->request.recipe.n_overrides, 1);
    assert_int_equal(o.mode_mask, 022);
    wfs_options_done(&o);
    assert_int_equal(ftruncate(fd, 0), 0);
    lseek(fd, 0, SEEK_SET);
    assert_true(dprintf(fd, "\xef\xbb\xbf" "c.gguf q6_k\n") > 0);
    wfs_options_init(&o);
    assert_int_equal(wfs_options_set(&o, "views_file", file, &err), 0);
    assert_string_equal(o.fs.recipes[0]->view, "c.gguf");
    wfs_options_done(&o);
    close(fd);
    unlink(file);
    wfs_options_init(&o);
    assert_int_equal(wfs_options_set(&o, "views_file", file, &err), -EINVAL);
    assert_contains(err.msg, file);
    assert_int_equal(wfs_options_set(&o, "views_file", "/", &err), -EISDIR);
    wfs_options_done(&o);
}

static void usage_errors(void **state)
{
    struct wfs_arguments a;

    (void)state;
    assert_int_equal(ARGS(&a, "s"), -1);
    assert_int_equal(ARGS(&a, "s", "v", "w"), -1);
    assert_int_equal(ARGS(&a, "s", ""), -1);
    assert_int_equal(ARGS(&a, "s", "v", "--bogus"), -1);
    assert_int_equal(ARGS(&a, "s", "v", "-x"), -1);
    assert_int_equal(ARGS(&a, "s", "v", "-o"), -1);
    assert_int_equal(ARGS(&a, "s", "v", "--output="), -1);
    assert_int_equal(ARGS(&a, "s", "v", "--json=1"), -1);
    assert_int_equal(ARGS(&a, "s", "v", "--workers=x"), -1);
    assert_int_equal(ARGS(&a, "s", "v", "-O", "bogus"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_suffixes),
        cmocka_unit_test(malformed_values_are_named),
        cmocka_unit_test(values_that_are_missing_or_unknown),
        cmocka_unit_test(a_list_sets_all),
        cmocka_unit_test(users_by_name),
        cmocka_unit_test(mount_s_generic_options),
        cmocka_unit_test(the_helper_s_arguments),
        cmocka_unit_test(the_helper_s_errors_name_what_is_wrong),
        cmocka_unit_test(a_command_line),
        cmocka_unit_test(views_of_ones_own),
        cmocka_unit_test(usage_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
