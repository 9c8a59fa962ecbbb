#include "holders.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 5 };

void wfs_holders_thread_name(unsigned minor, char *out, size_t size)
{
    snprintf(out, size, "wfs-mount-%u", minor % 100000);
}

static bool is_below(const char *path, const char *mountpoint)
{
    size_t len = strlen(mountpoint);

    return strncmp(path, mountpoint, len) == 0 && (path[len] == 0 || path[len] == '/' || len == 1);
}

/* Reads a link of /proc; true when it leads below mountpoint (the part below is put into below). */
static bool link_below(const char *link, const char *mountpoint, char *below, size_t size)
{
    char target[PATH_MAX + 1];
    ssize_t n = readlink(link, target, sizeof target - 1);

    if (n <= 0)
        return false;
    target[n] = 0;
    if (!is_below(target, mountpoint))
        return false;
    snprintf(below, size, "%s", target + strlen(mountpoint) + (target[strlen(mountpoint)] == '/'));
    return true;
}

static void read_name(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "re");

    snprintf(out, size, "?");
    if (!f)
        return;
    if (fgets(out, (int)size, f))
        out[strcspn(out, "\n")] = 0;
    fclose(f);
}

static bool holds_file(const char *pid, const char *mountpoint, char *what, size_t size)
{
    char folder[64], link[PATH_MAX], below[200];
    struct dirent *entry;
    bool found = false;
    DIR *dir;

    snprintf(folder, sizeof folder, "/proc/%.16s/fd", pid);
    dir = opendir(folder);
    if (!dir)
        return false;
    while (!found && (entry = readdir(dir))) {
        snprintf(link, sizeof link, "%s/%s", folder, entry->d_name);
        found = link_below(link, mountpoint, below, sizeof below);
    }
    closedir(dir);
    if (found)
        snprintf(what, size, "open: %s", below[0] ? below : "the folder itself");
    return found;
}

static bool holds_mapping(const char *pid, const char *mountpoint, char *what, size_t size)
{
    char path[64], *line = NULL;
    bool found = false;
    size_t cap = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%.16s/maps", pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    while (!found && getline(&line, &cap, f) > 0) {
        const char *name = strchr(line, '/');

        line[strcspn(line, "\n")] = 0;
        if (name && is_below(name, mountpoint)) {
            found = true;
            snprintf(what, size, "mapped: %s", name + strlen(mountpoint) + 1);
        }
    }
    free(line);
    fclose(f);
    return found;
}

static bool holds(const char *pid, const char *mountpoint, char *what, size_t size)
{
    static const char *const links[][2] = {
        { "cwd", "current folder" }, { "root", "root folder" }, { "exe", "program" },
    };
    char link[64], below[200];

    if (holds_file(pid, mountpoint, what, size) || holds_mapping(pid, mountpoint, what, size))
        return true;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        snprintf(link, sizeof link, "/proc/%.16s/%s", pid, links[i][0]);
        if (link_below(link, mountpoint, below, sizeof below)) {
            snprintf(what, size, "%s", links[i][1]);
            return true;
        }
    }
    return false;
}

size_t wfs_holders_describe(const char *mountpoint, char *out, size_t size)
{
    size_t n = 0, used = 0;
    struct dirent *entry;
    DIR *proc = opendir("/proc");

    out[0] = 0;
    if (!proc)
        return 0;
    while ((entry = readdir(proc))) {
        char what[256], path[64], name[64], text[400], shown[400];

        if (!isdigit((unsigned char)entry->d_name[0]) || !holds(entry->d_name, mountpoint, what, sizeof what))
            continue;
        if (n++ >= SHOWN)
            continue;
        snprintf(path, sizeof path, "/proc/%.16s/comm", entry->d_name);
        read_name(path, name, sizeof name);
        snprintf(text, sizeof text, "%s (pid %.16s, %s)", name, entry->d_name, what);
        wfs_escape(shown, sizeof shown, text, strlen(text));
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", n > 1 ? ", " : "", shown);
    }
    closedir(proc);
    if (n > SHOWN && used < size)
        snprintf(out + used, size - used, " and %zu more", n - SHOWN);
    return n;
}

static bool has_thread(const char *pid, const char *wanted)
{
    char folder[64], path[PATH_MAX], name[64];
    struct dirent *entry;
    bool found = false;
    DIR *tasks;

    snprintf(folder, sizeof folder, "/proc/%.16s/task", pid);
    tasks = opendir(folder);
    if (!tasks)
        return false;
    while (!found && (entry = readdir(tasks))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "%s/%s/comm", folder, entry->d_name);
        read_name(path, name, sizeof name);
        found = strcmp(name, wanted) == 0;
    }
    closedir(tasks);
    return found;
}

pid_t wfs_holders_find_daemon(unsigned minor)
{
    char wanted[16];
    struct dirent *entry;
    pid_t found = 0;
    DIR *proc = opendir("/proc");

    if (!proc)
        return 0;
    wfs_holders_thread_name(minor, wanted, sizeof wanted);
    while (!found && (entry = readdir(proc))) {
        if (isdigit((unsigned char)entry->d_name[0]) && has_thread(entry->d_name, wanted))
            found = (pid_t)atoi(entry->d_name);
    }
    closedir(proc);
    return found;
}
