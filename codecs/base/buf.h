/*
 * A growing byte buffer. A failed allocation is remembered ("failed") and later appends do nothing, so that a long
 * sequence of appends is checked once at its end.
 */
#ifndef WFS_BASE_BUF_H
#define WFS_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wfs_buf {
    uint8_t *data; /* owned; malloc */
    size_t len, cap;
    bool failed; /* out of memory since the last init */
};

#define WFS_BUF_INIT { NULL, 0, 0, false }

void wfs_buf_init(struct wfs_buf *b);
void wfs_buf_done(struct wfs_buf *b); /* frees; usable with WFS_CLEANUP */

/* Makes room for more bytes without changing len. Returns a pointer to the room, NULL when out of memory. */
void *wfs_buf_reserve(struct wfs_buf *b, size_t more);

void wfs_buf_put(struct wfs_buf *b, const void *data, size_t len);
void wfs_buf_str(struct wfs_buf *b, const char *text); /* without the NUL */
void wfs_buf_u8(struct wfs_buf *b, uint8_t v);
void wfs_buf_u32le(struct wfs_buf *b, uint32_t v);
void wfs_buf_u64le(struct wfs_buf *b, uint64_t v);
void wfs_buf_f32le(struct wfs_buf *b, float v);
void wfs_buf_fill(struct wfs_buf *b, uint8_t byte, size_t count);
void wfs_buf_printf(struct wfs_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Hands over the bytes, NUL-terminated behind len (the caller frees); b is empty then. NULL when an append failed. */
uint8_t *wfs_buf_steal(struct wfs_buf *b, size_t *ret_len);

#endif
