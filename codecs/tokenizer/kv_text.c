#include "kv_text.h"
#include "../base/cleanup.h"

#include <string.h>

/* Valid UTF-8 has no C0, so only a NUL that was kept can start with one. */
static bool unescape(const char *text, size_t len, struct wfs_buf *out)
{
    if (!len || !memchr(text, 0xc0, len))
        return false;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] == 0xc0) {
            wfs_buf_u8(out, 0);
            i++;
        } else {
            wfs_buf_u8(out, (uint8_t)text[i]);
        }
    }
    return true;
}

void wfs_kv_put_text(struct wfs_buf *items, const char *text, size_t len)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf room = WFS_BUF_INIT;

    if (unescape(text, len, &room)) {
        items->failed |= room.failed;
        wfs_kv_array_string(items, (const char *)room.data, room.len);
    } else {
        wfs_kv_array_string(items, text, len);
    }
}

void wfs_kv_text(struct wfs_kv_list *kv, const char *key, const char *text, size_t len)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf room = WFS_BUF_INIT;

    if (len == 0)
        return;
    if (unescape(text, len, &room)) {
        kv->failed |= room.failed;
        wfs_kv_string(kv, key, (const char *)room.data, room.len);
    } else {
        wfs_kv_string(kv, key, text, len);
    }
}
