/* What a folder holds: for eviction, and for the commands. */
#include "disk_private.h"
#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEX = 32, LEFT_BEHIND_S = 3600 };

static const char *const endings[WFS_DISK_PARTS] = { "sums", "part", "whole" };

/* KEY.ending of a view, or not: WFS_DISK_PARTS. */
static enum wfs_disk_part part_of(const char *name)
{
    size_t part = 0;

    if (strspn(name, "0123456789abcdef") != HEX || name[HEX] != '.')
        return WFS_DISK_PARTS;
    while (part < WFS_DISK_PARTS && strcmp(name + HEX + 1, endings[part]) != 0)
        part++;
    return (enum wfs_disk_part)part;
}

/* What a process that was killed has left of files that had not got their names yet. */
static bool is_left_behind(const char *name, const struct stat *st)
{
    size_t len = strlen(name);
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return len > 4 && strcmp(name + len - 4, ".tmp") == 0 && now.tv_sec - st->st_mtim.tv_sec > LEFT_BEHIND_S;
}

static bool is_newer(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct wfs_disk_found *)a)->key, ((const struct wfs_disk_found *)b)->key);
}

static int compare_uses(const void *a, const void *b)
{
    const struct wfs_disk_found *x = a, *y = b;

    return is_newer(x->last_use, y->last_use) - is_newer(y->last_use, x->last_use);
}

/* Adds one file, as a view of its own. */
static int add(struct wfs_disk_survey *s, size_t *cap, const char *name, enum wfs_disk_part part,
               const struct stat *st)
{
    struct wfs_disk_found *f;

    if (s->n_views == *cap) {
        size_t more = *cap ? *cap * 2 : 64;
        struct wfs_disk_found *grown = reallocarray(s->views, more, sizeof *grown);

        if (!grown)
            return -ENOMEM;
        s->views = grown;
        *cap = more;
    }
    f = &s->views[s->n_views++];
    *f = (struct wfs_disk_found){ .disk_bytes = (uint64_t)st->st_blocks * 512, .last_use = st->st_mtim };
    memcpy(f->key, name, HEX);
    f->has[part] = true;
    s->bytes += f->disk_bytes;
    return 0;
}

/* Files of one key become one view. The time of last use is that of the sums, when there are any. */
static void merge(struct wfs_disk_survey *s)
{
    size_t n = 0;

    if (s->n_views == 0)
        return;
    qsort(s->views, s->n_views, sizeof *s->views, compare_keys);
    for (size_t i = 0; i < s->n_views; i++) {
        struct wfs_disk_found *f = &s->views[i], *into = n ? &s->views[n - 1] : NULL;

        if (!into || strcmp(into->key, f->key) != 0) {
            s->views[n++] = *f;
            continue;
        }
        if (f->has[WFS_DISK_SUMS] || (!into->has[WFS_DISK_SUMS] && is_newer(f->last_use, into->last_use)))
            into->last_use = f->last_use;
        for (int part = 0; part < WFS_DISK_PARTS; part++)
            into->has[part] = into->has[part] || f->has[part];
        into->disk_bytes += f->disk_bytes;
    }
    s->n_views = n;
    qsort(s->views, n, sizeof *s->views, compare_uses);
}

int wfs_disk_survey(int folder, bool sweep, struct wfs_disk_survey *ret)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    size_t cap = 0;

    memset(ret, 0, sizeof *ret);
    if (!dir) {
        r = -errno;
        wfs_close(&fd);
        return r;
    }
    while (r == 0 && (entry = readdir(dir))) {
        enum wfs_disk_part part = part_of(entry->d_name);
        struct stat st;

        if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        if (part < WFS_DISK_PARTS)
            r = add(ret, &cap, entry->d_name, part, &st);
        else if (sweep && is_left_behind(entry->d_name, &st))
            unlinkat(fd, entry->d_name, 0);
    }
    closedir(dir);
    if (r < 0)
        wfs_disk_survey_done(ret);
    else
        merge(ret);
    return r;
}

void wfs_disk_survey_done(struct wfs_disk_survey *s)
{
    free(s->views);
    memset(s, 0, sizeof *s);
}

int wfs_disk_remove(int folder, const struct wfs_disk_found *found)
{
    int r = 0;

    /* The sums last: what has none is nobody's, and takes up no place that is not counted. */
    for (int part = WFS_DISK_PARTS - 1; part >= 0; part--) {
        char name[64];

        snprintf(name, sizeof name, "%s.%s", found->key, endings[part]);
        if (found->has[part] && unlinkat(folder, name, 0) < 0 && errno != ENOENT)
            r = -errno;
    }
    return r;
}

/* ---- for the commands ---- */

/* Where there are no holes, SEEK_DATA answers the offset asked for. */
static uint64_t count_records(int fd, uint64_t n)
{
    enum { AT_ONCE = 4096 };
    uint8_t *buf WFS_CLEANUP(wfs_free) = malloc((size_t)AT_ONCE * WFS_DISK_RECORD);
    uint64_t present = 0;

    for (uint64_t at = 0; at < n && buf;) {
        off_t data = lseek(fd, (off_t)wfs_disk_record_offset(at), SEEK_DATA); /* a hole, however large, is no work */
        uint64_t now;

        if (data < 0)
            break;
        if ((uint64_t)data > wfs_disk_record_offset(at))
            at = ((uint64_t)data - WFS_DISK_HEAD) / WFS_DISK_RECORD;
        if (at >= n)
            break;
        now = n - at < AT_ONCE ? n - at : AT_ONCE;
        if (wfs_disk_read_at(fd, wfs_disk_record_offset(at), buf, (size_t)now * WFS_DISK_RECORD) < 0)
            break;
        for (uint64_t i = 0; i < now; i++)
            present += !wfs_disk_record_is_empty(buf + i * WFS_DISK_RECORD);
        at += now;
    }
    return present;
}

/* Why the view's files are of no use, or NULL. */
static const char *describe(int folder, const struct wfs_disk_found *found, struct wfs_disk_entry *e)
{
    uint8_t bytes[WFS_DISK_HEAD];
    struct wfs_disk_head head;
    char name[64], hex[33];
    struct stat st;
    int fd WFS_CLEANUP(wfs_close) = -1;

    if (!found->has[WFS_DISK_SUMS])
        return "without checksums";
    snprintf(name, sizeof name, "%s.sums", found->key);
    fd = wfs_disk_open_at(folder, name, O_RDONLY);
    if (fd < 0)
        return "its checksums cannot be opened";
    if (wfs_disk_read_at(fd, 0, bytes, sizeof bytes) < 0 || !wfs_disk_head_get(bytes, &head))
        return "its checksums are damaged";
    wfs_disk_hex(&head.key, hex);
    if (strcmp(hex, found->key) != 0 || fstat(fd, &st) < 0 ||
        (uint64_t)st.st_size != wfs_disk_record_offset(head.n_tiles + 1))
        return "its checksums are damaged";
    e->size = head.size;
    e->n_tiles = head.n_tiles;
    e->host_only = head.host_only;
    e->present = count_records(fd, head.n_tiles);
    memcpy(e->model, head.model, sizeof e->model);
    memcpy(e->name, head.name, sizeof e->name);
    return NULL;
}

static void make_entry(int folder, const struct wfs_disk_found *found, struct wfs_disk_entry *ret)
{
    memset(ret, 0, sizeof *ret);
    memcpy(ret->key, found->key, sizeof ret->key);
    ret->whole = found->has[WFS_DISK_WHOLE];
    ret->disk_bytes = found->disk_bytes;
    ret->last_use = found->last_use;
    ret->problem = describe(folder, found, ret);
}

static int open_and_survey(const char *path, bool sweep, int *ret_folder, struct wfs_disk_survey *ret,
                           struct wfs_error *err)
{
    int folder = wfs_disk_folder_open(path, false, err), r;

    if (folder < 0)
        return folder;
    r = wfs_disk_survey(folder, sweep, ret);
    if (r < 0) {
        wfs_close(&folder);
        return wfs_error_set(err, -r, "%s: %s", path, strerror(-r));
    }
    *ret_folder = folder;
    return 0;
}

int wfs_disk_list(const char *path, int (*fn)(void *ctx, const struct wfs_disk_entry *entry), void *ctx,
                  struct wfs_error *err)
{
    int folder WFS_CLEANUP(wfs_close) = -1;
    struct wfs_disk_survey survey;
    struct wfs_disk_entry entry;
    int r = open_and_survey(path, false, &folder, &survey, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < survey.n_views && r == 0; i++) {
        make_entry(folder, &survey.views[i], &entry);
        r = fn(ctx, &entry);
    }
    wfs_disk_survey_done(&survey);
    return r;
}

int wfs_disk_prune(const char *path, uint64_t target, void (*told)(void *ctx, const struct wfs_disk_entry *entry),
                   void *ctx, struct wfs_disk_pruned *ret, struct wfs_error *err)
{
    int folder WFS_CLEANUP(wfs_close) = -1;
    struct wfs_disk_survey survey;
    struct wfs_disk_entry entry;
    int r = open_and_survey(path, true, &folder, &survey, err);

    if (r < 0)
        return r;
    *ret = (struct wfs_disk_pruned){ .left = survey.bytes };
    for (size_t i = 0; i < survey.n_views && r == 0 && ret->left > target; i++) {
        const struct wfs_disk_found *found = &survey.views[i];

        if (told) {
            make_entry(folder, found, &entry);
            told(ctx, &entry);
        }
        r = wfs_disk_remove(folder, found);
        if (r < 0) {
            wfs_error_set(err, -r, "%s: %s: %s", path, found->key, strerror(-r));
            break;
        }
        ret->views++;
        ret->bytes += found->disk_bytes;
        ret->left -= found->disk_bytes;
    }
    wfs_disk_survey_done(&survey);
    return r;
}
