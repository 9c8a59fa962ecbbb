#include "memory.h"

#include "base/cgroup.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t limit_of(const char *folder, bool v2)
{
    char line[64], *end;
    unsigned long long bytes;

    if (!wfs_cgroup_line(folder, v2 ? "memory.max" : "memory.limit_in_bytes", line, sizeof line))
        return UINT64_MAX;
    bytes = strtoull(line, &end, 10);
    return end == line ? UINT64_MAX : bytes; /* "max" */
}

uint64_t wfs_memory_for_pages(const char *meminfo, const char *cgroup_file, const char *cgroups)
{
    uint64_t limit = wfs_cgroup_least(cgroup_file, cgroups, "memory", limit_of);
    FILE *f = fopen(meminfo, "re");
    unsigned long long kib;
    char line[128];

    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1 && kib < limit / 1024)
            limit = kib * 1024;
    }
    if (f)
        fclose(f);
    return limit;
}
