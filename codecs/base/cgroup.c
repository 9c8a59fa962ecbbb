#include "cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool wfs_cgroup_line(const char *folder, const char *name, char *line, int size)
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

/* The least limit from path (below root) up to root itself. */
static uint64_t least_of_chain(const char *root, const char *path, bool v2, wfs_cgroup_limit *limit)
{
    char folder[PATH_MAX];
    size_t root_len = strlen(root);
    uint64_t least = UINT64_MAX;

    if (snprintf(folder, sizeof folder, "%s%s", root, path) >= (int)sizeof folder)
        return UINT64_MAX;
    for (;;) {
        uint64_t one = limit(folder, v2);
        char *slash = strrchr(folder, '/');

        if (one < least)
            least = one;
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

uint64_t wfs_cgroup_least(const char *cgroup_file, const char *mount, const char *controller, wfs_cgroup_limit *limit)
{
    FILE *f = fopen(cgroup_file, "re");
    uint64_t least = UINT64_MAX;
    char line[PATH_MAX];

    if (!f)
        return UINT64_MAX;
    while (fgets(line, sizeof line, f)) { /* "0::/path" is v2, "4:cpu,cpuacct:/path" v1 */
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        char root[PATH_MAX];
        uint64_t one = UINT64_MAX;
        bool v2;

        if (!path)
            continue;
        path[strcspn(path, "\n")] = 0;
        v2 = path == list + 1;
        if (v2 || has_word(list + 1, (size_t)(path - list - 1), controller)) {
            if (snprintf(root, sizeof root, "%s%s%s", mount, v2 ? "" : "/", v2 ? "" : controller) < (int)sizeof root)
                one = least_of_chain(root, path + 1, v2, limit);
        }
        if (one < least)
            least = one;
    }
    fclose(f);
    return least;
}
