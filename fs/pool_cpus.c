/* How many CPUs this process may use. */
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

static unsigned quota_of(long long quota, long long period)
{
    long long cpus;

    if (quota <= 0 || period <= 0)
        return UINT_MAX;
    cpus = quota / period + (quota % period != 0);
    return cpus > INT_MAX ? UINT_MAX : (unsigned)cpus;
}

static bool read_line(const char *folder, const char *name, char *line, int size)
{
    char path[PATH_MAX];
    FILE *f;
    bool ok;

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    f = fopen(path, "re");
    if (!f)
        return false;
    ok = fgets(line, size, f) != NULL;
    fclose(f);
    return ok;
}

static unsigned folder_quota(const char *folder, bool v2)
{
    char line[128];
    long long quota, period;

    if (v2) { /* "max 100000" or "150000 100000" */
        if (!read_line(folder, "cpu.max", line, sizeof line) || sscanf(line, "%lld %lld", &quota, &period) != 2)
            return UINT_MAX;
        return quota_of(quota, period);
    }
    if (!read_line(folder, "cpu.cfs_quota_us", line, sizeof line))
        return UINT_MAX;
    quota = strtoll(line, NULL, 10); /* -1 = none */
    if (!read_line(folder, "cpu.cfs_period_us", line, sizeof line))
        return UINT_MAX;
    return quota_of(quota, strtoll(line, NULL, 10));
}

/* The smallest quota from path (below root) up to root itself. */
static unsigned chain_quota(const char *root, const char *path, bool v2)
{
    char folder[PATH_MAX];
    size_t root_len = strlen(root);
    unsigned least = UINT_MAX;

    if (snprintf(folder, sizeof folder, "%s%s", root, path) >= (int)sizeof folder)
        return UINT_MAX;
    for (;;) {
        unsigned quota = folder_quota(folder, v2);
        char *slash = strrchr(folder, '/');

        if (quota < least)
            least = quota;
        if (!slash || (size_t)(slash - folder) < root_len)
            return least;
        *slash = 0;
    }
}

/* Whether a list such as "cpu,cpuacct" has the word. */
static bool has_word(const char *list, size_t len, const char *word)
{
    size_t n = strlen(word);

    for (size_t at = 0; at + n <= len;) {
        const char *comma = memchr(list + at, ',', len - at);
        size_t end = comma ? (size_t)(comma - list) : len;

        if (end - at == n && memcmp(list + at, word, n) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

unsigned wfs_pool_cgroup_quota(const char *cgroup_file, const char *mount)
{
    FILE *f = fopen(cgroup_file, "re");
    unsigned least = UINT_MAX;
    char line[PATH_MAX];

    if (!f)
        return UINT_MAX;
    while (fgets(line, sizeof line, f)) { /* "0::/path" is v2, "4:cpu,cpuacct:/path" v1 */
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        char root[PATH_MAX];
        unsigned quota = UINT_MAX;
        bool v2;

        if (!path)
            continue;
        path[strcspn(path, "\n")] = 0;
        v2 = path == list + 1;
        if (v2 || has_word(list + 1, (size_t)(path - list - 1), "cpu")) {
            if (snprintf(root, sizeof root, "%s%s", mount, v2 ? "" : "/cpu") < (int)sizeof root)
                quota = chain_quota(root, path + 1, v2);
        }
        if (quota < least)
            least = quota;
    }
    fclose(f);
    return least;
}

unsigned wfs_pool_default_workers(void)
{
    unsigned cpus = affinity(), quota = wfs_pool_cgroup_quota("/proc/self/cgroup", "/sys/fs/cgroup");

    return quota < cpus ? quota : cpus;
}
