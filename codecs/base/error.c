#include "error.h"
#include "utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void wfs_escape(char *out, unsigned long size, const char *text, unsigned long len)
{
    unsigned long at = 0, i = 0;

    if (size == 0)
        return;
    while (i < len) {
        uint32_t c = 0;
        unsigned n = wfs_utf8_decode(text + i, len - i, &c);
        char piece[8];
        unsigned piece_len;

        /* C0, DEL, C1 and the bidirectional controls that can reorder a terminal line */
        if (n == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
            (c >= 0x2066 && c <= 0x2069)) {
            n = n ? n : 1;
            if (at + 4u * n + 4 > size)
                goto cut;
            for (unsigned k = 0; k < n; k++)
                at += (unsigned long)snprintf(out + at, size - at, "\\x%02x", (unsigned char)text[i + k]);
            i += n;
            continue;
        }
        memcpy(piece, text + i, n);
        piece_len = n;
        if (at + piece_len + 4 > size)
            goto cut;
        memcpy(out + at, piece, piece_len);
        at += piece_len;
        i += n;
    }
    out[at] = 0;
    return;
cut:
    if (at + 4 <= size)
        memcpy(out + at, "...", 4);
    else
        out[at] = 0;
}

int wfs_error_set(struct wfs_error *err, int code, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    if (!err)
        return -code;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err->code = code;
    wfs_escape(err->msg, sizeof err->msg, text, strlen(text));
    return -code;
}

int wfs_error_nomem(struct wfs_error *err)
{
    return wfs_error_set(err, ENOMEM, "out of memory");
}

int wfs_error_wrap(struct wfs_error *err, const char *fmt, ...)
{
    char context[512], text[2048];
    va_list ap;

    if (!err)
        return -EIO;
    va_start(ap, fmt);
    vsnprintf(context, sizeof context, fmt, ap);
    va_end(ap);
    snprintf(text, sizeof text, "%s: %s", context, err->msg);
    /* The message is escaped already: escaping leaves escaped text as it is. */
    wfs_escape(err->msg, sizeof err->msg, text, strlen(text));
    return -err->code;
}
