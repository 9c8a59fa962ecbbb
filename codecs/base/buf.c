#include "buf.h"
#include "huge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wfs_buf_init(struct wfs_buf *b)
{
    memset(b, 0, sizeof *b);
}

void wfs_buf_done(struct wfs_buf *b)
{
    free(b->data);
    wfs_buf_init(b);
}

void *wfs_buf_reserve(struct wfs_buf *b, size_t more)
{
    size_t need, cap;
    uint8_t *data;

    if (b->failed || __builtin_add_overflow(b->len, more, &need) || need > SIZE_MAX / 4) {
        b->failed = true;
        return NULL;
    }
    if (need <= b->cap && b->data)
        return b->data + b->len;
    cap = b->cap ? b->cap : 64;
    while (cap < need)
        cap += cap / 2 + 1;
    data = b->data ? realloc(b->data, cap) : wfs_huge_malloc(cap);
    if (!data) {
        b->failed = true;
        return NULL;
    }
    b->data = data;
    b->cap = cap;
    return b->data + b->len;
}

void wfs_buf_put(struct wfs_buf *b, const void *data, size_t len)
{
    void *room = wfs_buf_reserve(b, len);

    if (!room || len == 0)
        return;
    memcpy(room, data, len);
    b->len += len;
}

void wfs_buf_str(struct wfs_buf *b, const char *text)
{
    wfs_buf_put(b, text, strlen(text));
}

void wfs_buf_u8(struct wfs_buf *b, uint8_t v)
{
    wfs_buf_put(b, &v, 1);
}

void wfs_buf_u32le(struct wfs_buf *b, uint32_t v)
{
    uint8_t bytes[4] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24) };

    wfs_buf_put(b, bytes, sizeof bytes);
}

void wfs_buf_u64le(struct wfs_buf *b, uint64_t v)
{
    wfs_buf_u32le(b, (uint32_t)v);
    wfs_buf_u32le(b, (uint32_t)(v >> 32));
}

void wfs_buf_f32le(struct wfs_buf *b, float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    wfs_buf_u32le(b, bits);
}

void wfs_buf_fill(struct wfs_buf *b, uint8_t byte, size_t count)
{
    void *room = wfs_buf_reserve(b, count);

    if (!room || count == 0)
        return;
    memset(room, byte, count);
    b->len += count;
}

void wfs_buf_printf(struct wfs_buf *b, const char *fmt, ...)
{
    va_list ap;
    int n;
    char *room;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
        return;
    }
    room = wfs_buf_reserve(b, (size_t)n + 1);
    if (!room)
        return;
    va_start(ap, fmt);
    vsnprintf(room, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
}

uint8_t *wfs_buf_steal(struct wfs_buf *b, size_t *ret_len)
{
    uint8_t *data;
    size_t len = b->len;
    uint8_t *end = wfs_buf_reserve(b, 1);

    if (!end) {
        wfs_buf_done(b);
        return NULL;
    }
    *end = 0;
    data = b->data;
    wfs_buf_init(b);
    if (ret_len)
        *ret_len = len;
    return data;
}
