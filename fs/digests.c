#include "digests.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { MAX_RECORD = 512, NAME = 64 };

/* ---- hex ---- */

static void put_hex(const uint8_t *bytes, size_t n, char *ret)
{
    for (size_t i = 0; i < n; i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* Lower-case digits only. */
static bool get_hex(const char *text, uint8_t *ret, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        const char *high = text[2 * i] ? strchr(digits, text[2 * i]) : NULL;
        const char *low = high && text[2 * i + 1] ? strchr(digits, text[2 * i + 1]) : NULL;

        if (!low)
            return false;
        ret[i] = (uint8_t)((high - digits) << 4 | (low - digits));
    }
    return true;
}

void wfs_digest_hex(const struct wfs_digest *d, char ret[65])
{
    put_hex(d->bytes, sizeof d->bytes, ret);
}

/* ---- the host ---- */

static bool read_word(const char *path, char *ret, size_t size)
{
    int fd WFS_CLEANUP(wfs_close) = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

    ret[n > 0 ? n : 0] = 0;
    ret[strcspn(ret, "\n")] = 0;
    return strlen(ret) >= 32;
}

void wfs_digest_memory_init(struct wfs_digest_memory *m, int first, int second)
{
    m->folders[0] = first;
    m->folders[1] = second;
    if (!read_word("/etc/machine-id", m->host, sizeof m->host) &&
        !read_word("/var/lib/dbus/machine-id", m->host, sizeof m->host))
        read_word("/proc/sys/kernel/random/boot_id", m->host, sizeof m->host);
}

int wfs_digest_memory_open_own(bool make, struct wfs_error *err)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *folder WFS_CLEANUP(wfs_free) = NULL, *path WFS_CLEANUP(wfs_free) = NULL;
    int n = cache && cache[0] == '/' ? asprintf(&folder, "%s", cache)
            : home && home[0] == '/' ? asprintf(&folder, "%s/.cache", home)
                                     : 0;

    if (n == 0)
        return wfs_error_set(err, ENOENT, "neither XDG_CACHE_HOME nor HOME names a folder");
    if (n < 0 || asprintf(&path, "%s/weightfs", folder) < 0)
        return wfs_error_nomem(err);
    if (make)
        mkdir(folder, 0700); /* failing, the next step says why */
    return wfs_disk_folder_open(path, make, err);
}

/* ---- records ---- */

struct record {
    bool there;
    bool same;    /* device, inode, size and mtime are those asked for */
    bool changed; /* ctime is not */
    struct wfs_digest digest;
};

static void record_name(const struct wfs_digest_memory *m, const struct wfs_identity *id, char ret[NAME])
{
    XXH128_canonical_t hash;
    char text[128];
    int n = snprintf(text, sizeof text, "%s %" PRIu64 " %" PRIu64, m->host, id->dev, id->ino);

    XXH128_canonicalFromHash(&hash, XXH3_128bits(text, (size_t)n));
    put_hex(hash.digest, sizeof hash.digest, ret);
    memcpy(ret + 32, ".key", 5);
}

/* The lines that say whose record it is, up to ctime, and the one of ctime. */
static int put_identity(const struct wfs_digest_memory *m, const struct wfs_identity *id, char *out, size_t size)
{
    return snprintf(out, size, "weightfs key 1\nhost %s\nfile %" PRIu64 " %" PRIu64 " size %" PRIu64 " mtime %lld.%09ld\n",
                    m->host, id->dev, id->ino, id->size, (long long)id->mtime.tv_sec, id->mtime.tv_nsec);
}

static int put_ctime(const struct wfs_identity *id, char *out, size_t size)
{
    return snprintf(out, size, "ctime %lld.%09ld\n", (long long)id->ctime.tv_sec, id->ctime.tv_nsec);
}

static uint64_t record_sum(const char *text, size_t len)
{
    return XXH3_64bits(text, len);
}

/* A text that is not exactly as we write it is no record. */
static void parse_record(const struct wfs_digest_memory *m, const struct wfs_identity *id, const char *text,
                         struct record *ret)
{
    static const char sha[] = "\nsha256 ", from_hub[] = " hub\n", from_us[] = " computed\n";
    const char *sum = strstr(text, "sum "), *digest = strstr(text, sha);
    char expected[MAX_RECORD], stamp[64];

    if (!sum || !digest || digest > sum || strtoull(sum + 4, NULL, 16) != record_sum(text, (size_t)(sum - text)))
        return;
    digest += sizeof sha - 1;
    if (!get_hex(digest, ret->digest.bytes, 32))
        return;
    digest += 64;
    ret->there = strncmp(digest, from_hub, sizeof from_hub - 1) == 0 ||
                 strncmp(digest, from_us, sizeof from_us - 1) == 0;
    ret->digest.from = strncmp(digest, from_hub, sizeof from_hub - 1) == 0 ? WFS_DIGEST_HUB : WFS_DIGEST_COMPUTED;
    put_identity(m, id, expected, sizeof expected);
    put_ctime(id, stamp, sizeof stamp);
    ret->same = strncmp(text, expected, strlen(expected)) == 0;
    ret->changed = !ret->same || strncmp(text + strlen(expected), stamp, strlen(stamp)) != 0;
}

static void find_record(const struct wfs_digest_memory *m, const struct wfs_identity *id, struct record *ret)
{
    char name[NAME], text[MAX_RECORD + 1];

    memset(ret, 0, sizeof *ret);
    record_name(m, id, name);
    for (int i = 0; i < 2 && !ret->there; i++) {
        int fd WFS_CLEANUP(wfs_close) = m->folders[i] < 0 ? -1 : wfs_disk_open_at(m->folders[i], name, O_RDONLY);
        ssize_t n = fd < 0 ? -1 : pread(fd, text, MAX_RECORD, 0);

        if (n <= 0)
            continue;
        text[n] = 0;
        parse_record(m, id, text, ret);
    }
}

int wfs_digest_remember(const struct wfs_digest_memory *m, int folder, const struct wfs_identity *id,
                        const struct wfs_digest *d)
{
    char name[NAME], passing[NAME + 32], text[MAX_RECORD], hex[65];
    int fd WFS_CLEANUP(wfs_close) = -1, n;
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) < 0)
        number = wfs_now_ns();
    record_name(m, id, name);
    snprintf(passing, sizeof passing, "%.32s.%016" PRIx64 ".tmp", name, number);
    wfs_digest_hex(d, hex);
    n = put_identity(m, id, text, sizeof text);
    n += put_ctime(id, text + n, sizeof text - (size_t)n);
    n += snprintf(text + n, sizeof text - (size_t)n, "sha256 %s %s\n", hex,
                  d->from == WFS_DIGEST_HUB ? "hub" : "computed");
    n += snprintf(text + n, sizeof text - (size_t)n, "sum %016" PRIx64 "\n", record_sum(text, (size_t)n));
    fd = wfs_disk_open_at(folder, passing, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        return fd;
    if (write(fd, text, (size_t)n) == n && renameat(folder, passing, folder, name) == 0)
        return 0;
    n = errno ? -errno : -EIO;
    unlinkat(folder, passing, 0);
    return n;
}

/* ---- the order of belief ---- */

bool wfs_digest_hub_name(struct wfs_source *s, struct wfs_source_file *f, uint8_t ret[32])
{
    char path[64], target[4096], *base, *parent;
    ssize_t n = -1;
    int fd;

    if (!f->is_link)
        return false;
    fd = wfs_source_fd_get(s, f, NULL);
    if (fd < 0)
        return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    n = readlink(path, target, sizeof target - 1);
    wfs_source_fd_put(s, f);
    if (n <= 0)
        return false;
    target[n] = 0;
    base = strrchr(target, '/');
    if (!base || strlen(base + 1) != 64 || !get_hex(base + 1, ret, 32))
        return false;
    *base = 0;
    parent = strrchr(target, '/');
    return parent && strcmp(parent + 1, "blobs") == 0;
}

static void host_identity(const struct wfs_digest_memory *m, const struct wfs_identity *id, struct wfs_digest *ret)
{
    XXH128_canonical_t hash;
    char text[MAX_RECORD];
    int n = put_identity(m, id, text, sizeof text);

    n += put_ctime(id, text + n, sizeof text - (size_t)n);
    XXH128_canonicalFromHash(&hash, XXH3_128bits(text, (size_t)n));
    memset(ret, 0, sizeof *ret);
    ret->from = WFS_DIGEST_HOST;
    memcpy(ret->bytes, hash.digest, sizeof hash.digest);
}

/* Whether the hub's name is believed; what is known then is remembered, to tell later writes. */
static bool believe_hub(const struct wfs_digest_memory *m, const struct wfs_source_file *f, const struct record *r,
                        struct wfs_digest *ret)
{
    bool as_named = r->there && memcmp(r->digest.bytes, ret->bytes, sizeof ret->bytes) == 0;

    if (r->there && as_named)
        return r->same; /* else it has been written to since, under the name of what it was */
    if (r->there && r->same && r->digest.from == WFS_DIGEST_COMPUTED)
        return false; /* it was computed, and is not what the name says */
    for (int i = 0; i < 2; i++) {
        if (m->folders[i] >= 0 && wfs_digest_remember(m, m->folders[i], &f->identity, ret) == 0)
            break;
    }
    return true;
}

void wfs_digest_of(const struct wfs_digest_memory *m, struct wfs_source *s, struct wfs_source_file *f,
                   struct wfs_digest *ret)
{
    struct record r;

    find_record(m, &f->identity, &r);
    if (r.there && r.same && !r.changed && r.digest.from == WFS_DIGEST_COMPUTED) {
        *ret = r.digest;
        return;
    }
    memset(ret, 0, sizeof *ret);
    ret->from = WFS_DIGEST_HUB;
    if (wfs_digest_hub_name(s, f, ret->bytes) && believe_hub(m, f, &r, ret))
        return;
    host_identity(m, &f->identity, ret);
}
