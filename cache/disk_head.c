/* The head of KEY.sums, and the checksum of a tile. */
#include "disk_private.h"
#include "base/cursor.h"

#include <string.h>
#include <xxhash.h>

static const char magic[16] = "weightfs sums 1\n";

static void put_u64(uint8_t *at, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

/* A label's length, then its bytes. */
static uint8_t *put_label(uint8_t *at, const char *text)
{
    size_t len = strnlen(text, WFS_DISK_LABEL);

    put_u64(at, len);
    memcpy(at + 8, text, len);
    return at + 8 + len;
}

void wfs_disk_head_put(const struct wfs_disk_head *h, uint8_t out[WFS_DISK_HEAD])
{
    uint8_t *at = out;

    memset(out, 0, WFS_DISK_HEAD);
    memcpy(at, magic, 16);
    memcpy(at + 16, h->key.bytes, 16);
    put_u64(at + 32, h->size);
    put_u64(at + 40, h->n_tiles);
    put_u64(at + 48, h->host_only);
    at = put_label(at + 56, h->model);
    put_label(at, h->name);
    put_u64(out + WFS_DISK_HEAD - 8, XXH3_64bits(out, WFS_DISK_HEAD - 8));
}

static bool get_label(struct wfs_cursor *c, char *ret)
{
    const uint8_t *bytes;
    uint64_t len;

    if (!wfs_cursor_u64le(c, &len) || len > WFS_DISK_LABEL)
        return false;
    bytes = wfs_cursor_take(c, (size_t)len);
    if (!bytes || memchr(bytes, 0, (size_t)len))
        return false;
    memcpy(ret, bytes, (size_t)len);
    ret[len] = 0;
    return true;
}

bool wfs_disk_head_get(const uint8_t bytes[WFS_DISK_HEAD], struct wfs_disk_head *ret)
{
    struct wfs_cursor c = wfs_cursor_over(bytes, WFS_DISK_HEAD - 8), end = wfs_cursor_over(bytes, WFS_DISK_HEAD);
    const uint8_t *start = wfs_cursor_take(&c, 16), *key = wfs_cursor_take(&c, 16);
    uint64_t sum, host_only;

    wfs_cursor_take(&end, WFS_DISK_HEAD - 8);
    if (!wfs_cursor_u64le(&end, &sum) || sum != XXH3_64bits(bytes, WFS_DISK_HEAD - 8) ||
        memcmp(start, magic, 16) != 0)
        return false;
    memcpy(ret->key.bytes, key, 16);
    if (!wfs_cursor_u64le(&c, &ret->size) || !wfs_cursor_u64le(&c, &ret->n_tiles) ||
        !wfs_cursor_u64le(&c, &host_only) || !get_label(&c, ret->model) || !get_label(&c, ret->name))
        return false;
    ret->host_only = host_only & 1;
    return ret->size <= INT64_MAX && ret->n_tiles <= WFS_DISK_MAX_TILES;
}

uint64_t wfs_disk_seed(const struct wfs_disk_key *key, uint64_t index)
{
    uint8_t bytes[24];

    memcpy(bytes, key->bytes, 16);
    put_u64(bytes + 16, index);
    return XXH3_64bits(bytes, sizeof bytes);
}

void wfs_disk_sum(const struct wfs_disk_key *key, uint64_t index, const void *bytes, size_t len,
                  uint8_t ret[WFS_DISK_RECORD])
{
    XXH128_canonical_t sum;

    XXH128_canonicalFromHash(&sum, XXH3_128bits_withSeed(bytes, len, wfs_disk_seed(key, index)));
    memcpy(ret, sum.digest, WFS_DISK_RECORD);
}
