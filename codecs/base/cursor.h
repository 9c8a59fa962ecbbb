/* The bounded byte cursor: the only code that reads integers out of file bytes. A read past the end changes nothing. */
#ifndef WFS_BASE_CURSOR_H
#define WFS_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wfs_cursor {
    const uint8_t *data; /* not owned */
    size_t len, at;      /* at <= len always */
};

static inline struct wfs_cursor wfs_cursor_over(const void *data, size_t len)
{
    struct wfs_cursor c = { data, len, 0 };

    return c;
}

static inline size_t wfs_cursor_left(const struct wfs_cursor *c)
{
    return c->len - c->at;
}

/* Takes n bytes: a pointer into the data, or NULL when fewer are left. */
static inline const uint8_t *wfs_cursor_take(struct wfs_cursor *c, size_t n)
{
    const uint8_t *p;

    if (n > c->len - c->at)
        return NULL;
    p = c->data + c->at;
    c->at += n;
    return p;
}

static inline bool wfs_cursor_u8(struct wfs_cursor *c, uint8_t *ret)
{
    const uint8_t *p = wfs_cursor_take(c, 1);

    if (p)
        *ret = p[0];
    return p != NULL;
}

static inline bool wfs_cursor_u32le(struct wfs_cursor *c, uint32_t *ret)
{
    const uint8_t *p = wfs_cursor_take(c, 4);

    if (p)
        *ret = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    return p != NULL;
}

static inline bool wfs_cursor_u64le(struct wfs_cursor *c, uint64_t *ret)
{
    uint32_t lo = 0, hi = 0;

    if (wfs_cursor_left(c) < 8)
        return false;
    wfs_cursor_u32le(c, &lo);
    wfs_cursor_u32le(c, &hi);
    *ret = lo | (uint64_t)hi << 32;
    return true;
}

/* A base-128 varint as protobuf has it (at most 10 bytes). */
static inline bool wfs_cursor_varint(struct wfs_cursor *c, uint64_t *ret)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < 10 && c->at + i < c->len; i++) {
        uint8_t byte = c->data[c->at + i];

        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            c->at += i + 1;
            *ret = v;
            return true;
        }
    }
    return false;
}

#endif
