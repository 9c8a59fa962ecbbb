/* How many workers a pool has by itself: what this process may run on, and what its cgroup may use. */
#include "engine_rig.h"

#include <limits.h>
#include <sched.h>
#include <sys/stat.h>

static void default_heeds_affinity(void **state)
{
    cpu_set_t all, one;
    int cpu = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    assert_in_range(wfs_pool_default_workers(), 1, (unsigned)CPU_COUNT(&all));
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(wfs_pool_default_workers(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static unsigned quota(const struct rig_dir *d, const char *cgroup)
{
    char file[128];

    rig_write(d, "cgroup", cgroup, strlen(cgroup));
    snprintf(file, sizeof file, "%s/cgroup", d->path);
    return wfs_pool_cgroup_quota(file, d->path);
}

static void put_text(const struct rig_dir *d, const char *name, const char *text)
{
    rig_write(d, name, text, strlen(text));
}

static void make_dir(const struct rig_dir *d, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", d->path, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

/* The files as the kernel's cgroup-v2.rst and the v1 CPU controller's documentation have them. */
static void default_heeds_the_quota(void **state)
{
    struct rig_dir d;

    (void)state;
    rig_dir_init(&d);
    make_dir(&d, "a");
    make_dir(&d, "a/b");
    make_dir(&d, "cpu");
    make_dir(&d, "cpu/x");
    assert_int_equal(quota(&d, "0::/a/b\n"), UINT_MAX);
    put_text(&d, "a/b/cpu.max", "max 100000\n");
    assert_int_equal(quota(&d, "0::/a/b\n"), UINT_MAX);
    put_text(&d, "a/b/cpu.max", "250000 100000\n");
    assert_int_equal(quota(&d, "0::/a/b\n"), 3);
    put_text(&d, "a/cpu.max", "150000 100000\n"); /* a parent's is smaller */
    assert_int_equal(quota(&d, "0::/a/b\n"), 2);
    put_text(&d, "cpu.max", "10000 100000\n"); /* the root of a cgroup namespace */
    assert_int_equal(quota(&d, "0::/a/b\n"), 1);
    assert_int_equal(quota(&d, "0::/\n"), 1);
    put_text(&d, "cpu/x/cpu.cfs_quota_us", "-1\n");
    put_text(&d, "cpu/x/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota(&d, "5:cpuset:/x\n4:cpu,cpuacct:/x\n"), UINT_MAX);
    put_text(&d, "cpu/x/cpu.cfs_quota_us", "400000\n");
    assert_int_equal(quota(&d, "5:cpuset:/x\n4:cpuacct,cpu:/x\n"), 4);
    assert_int_equal(quota(&d, "5:cpuset:/x\n4:cpuacct:/x\n"), UINT_MAX);
    assert_int_equal(wfs_pool_cgroup_quota("/nonexistent", d.path), UINT_MAX);
    rig_dir_done(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_heeds_affinity),
        cmocka_unit_test(default_heeds_the_quota),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
