#include "tensor_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char BLOCK[] = "{bid}";
enum { BLOCK_LEN = sizeof BLOCK - 1, MAX_NAME = 256, MAX_DIGITS = 19 };

int wfs_name_map_init(struct wfs_name_map *m, uint64_t kinds, uint64_t n_blocks)
{
    wfs_map_init(&m->by_source);
    m->n_blocks = n_blocks;
    for (uint32_t kind = 0; kind < WFS_KIND_COUNT; kind++) {
        if (!(kinds >> kind & 1))
            continue;
        for (const char *const *s = wfs_tensor_names[kind].source; *s; s++) {
            if (wfs_map_set(&m->by_source, *s, strlen(*s), kind) < 0) {
                wfs_name_map_done(m);
                return -ENOMEM;
            }
        }
    }
    return 0;
}

void wfs_name_map_done(struct wfs_name_map *m)
{
    wfs_map_done(&m->by_source);
}

/* A block number as Python's format writes it: no leading zero. */
static bool block_number(const char *text, size_t len, uint64_t *ret)
{
    uint64_t v = 0;

    if (len == 0 || len > MAX_DIGITS || (len > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(text[i] - '0');
    }
    *ret = v;
    return true;
}

static void write_target(enum wfs_tensor_kind kind, uint64_t block, const char *suffix, char *ret)
{
    const char *target = wfs_tensor_names[kind].target, *at = strstr(target, BLOCK);

    if (at)
        snprintf(ret, WFS_GGUF_NAME_BYTES, "%.*s%llu%s%s", (int)(at - target), target, (unsigned long long)block,
                 at + BLOCK_LEN, suffix);
    else
        snprintf(ret, WFS_GGUF_NAME_BYTES, "%s%s", target, suffix);
}

/* The whole of name (len bytes) as a source name: as it stands, or with one of its numbers as the block's. */
static bool find_key(const struct wfs_name_map *m, const char *name, size_t len, const char *suffix, char *ret,
                     enum wfs_tensor_kind *ret_kind)
{
    char pattern[MAX_NAME + BLOCK_LEN];
    uint32_t kind;

    if (len >= MAX_NAME)
        return false;
    if (!memmem(name, len, BLOCK, BLOCK_LEN) && wfs_map_get(&m->by_source, name, len, &kind)) {
        *ret_kind = kind;
        write_target(kind, 0, suffix, ret);
        return true;
    }
    for (size_t from = 0; from < len;) {
        const char *dot = memchr(name + from, '.', len - from);
        size_t to = dot ? (size_t)(dot - name) : len;
        uint64_t block;

        if (block_number(name + from, to - from, &block) && block < m->n_blocks) {
            memcpy(pattern, name, from);
            memcpy(pattern + from, BLOCK, BLOCK_LEN);
            memcpy(pattern + from + BLOCK_LEN, name + to, len - to);
            if (wfs_map_get(&m->by_source, pattern, len - (to - from) + BLOCK_LEN, &kind)) {
                *ret_kind = kind;
                write_target(kind, block, suffix, ret);
                return true;
            }
        }
        from = to + 1;
    }
    return false;
}

bool wfs_name_map_find(const struct wfs_name_map *m, const char *name, char ret[static WFS_GGUF_NAME_BYTES],
                       enum wfs_tensor_kind *ret_kind)
{
    static const char *const suffixes[] = { ".weight", ".bias" };
    size_t len = strlen(name);

    if (find_key(m, name, len, "", ret, ret_kind))
        return true;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(suffixes[i]);

        if (len >= n && memcmp(name + len - n, suffixes[i], n) == 0 &&
            find_key(m, name, len - n, suffixes[i], ret, ret_kind))
            return true;
    }
    return false;
}
