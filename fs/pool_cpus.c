/* How many CPUs this process may use. */
#include "base/cgroup.h"
#include "pool.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned affinity(void)
{
    for (int n = 1024; n <= 1 << 20; n *= 2) { /* EINVAL: the kernel knows more CPUs than the set has room for */
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        size_t size = CPU_ALLOC_SIZE((size_t)n);
        int r, count = 0;

        if (!set)
            return 1;
        r = sched_getaffinity(0, size, set);
        if (r == 0)
            count = CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (r == 0)
            return count > 0 ? (unsigned)count : 1;
        if (errno != EINVAL)
            return 1;
    }
    return 1;
}

static uint64_t quota_of(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return UINT64_MAX;
    return (uint64_t)(quota / period + (quota % period != 0));
}

static uint64_t folder_quota(const char *folder, bool v2)
{
    char line[128];
    long long quota, period;

    if (v2) { /* "max 100000" or "150000 100000" */
        if (!wfs_cgroup_line(folder, "cpu.max", line, sizeof line) || sscanf(line, "%lld %lld", &quota, &period) != 2)
            return UINT64_MAX;
        return quota_of(quota, period);
    }
    if (!wfs_cgroup_line(folder, "cpu.cfs_quota_us", line, sizeof line))
        return UINT64_MAX;
    quota = strtoll(line, NULL, 10); /* -1 = none */
    if (!wfs_cgroup_line(folder, "cpu.cfs_period_us", line, sizeof line))
        return UINT64_MAX;
    return quota_of(quota, strtoll(line, NULL, 10));
}

unsigned wfs_pool_cgroup_quota(const char *cgroup_file, const char *mount)
{
    uint64_t cpus = wfs_cgroup_least(cgroup_file, mount, "cpu", folder_quota);

    return cpus > INT_MAX ? UINT_MAX : (unsigned)cpus;
}

unsigned wfs_pool_default_workers(void)
{
    unsigned cpus = affinity(), quota = wfs_pool_cgroup_quota("/proc/self/cgroup", "/sys/fs/cgroup");

    return quota < cpus ? quota : cpus;
}
