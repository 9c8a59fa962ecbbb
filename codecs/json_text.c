#include "json_text.h"
#include "base/utf8.h"

static void put_escape(struct wfs_buf *b, unsigned char c)
{
    static const char shorts[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };

    if (c == '"' || c == '\\')
        wfs_buf_printf(b, "\\%c", c);
    else if (c < sizeof shorts && shorts[c])
        wfs_buf_printf(b, "\\%c", shorts[c]);
    else
        wfs_buf_printf(b, "\\u%04x", c);
}

/* As wfs_escape does. */
static bool is_unseen(uint32_t c)
{
    return (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static void put_string(struct wfs_buf *b, const char *text, size_t len, bool shown)
{
    size_t run = 0, i = 0;

    wfs_buf_u8(b, '"');
    while (i < len) {
        unsigned char c = (unsigned char)text[i];
        uint32_t whole = c;
        unsigned n = c < 0x80 ? 1 : wfs_utf8_decode(text + i, len - i, &whole);
        bool unseen = shown && n && is_unseen(whole);

        if (n && c >= 0x20 && c != '"' && c != '\\' && !unseen) {
            i += n;
            continue;
        }
        wfs_buf_put(b, text + run, i - run);
        if (unseen) {
            wfs_buf_printf(b, "\\u%04x", (unsigned)whole);
            i += n;
        } else if (n) {
            put_escape(b, c);
            i++;
        } else if (c == 0xc0 && i + 1 < len && (unsigned char)text[i + 1] == 0x80) {
            wfs_buf_str(b, "\\u0000");
            i += 2;
        } else {
            wfs_buf_str(b, "\xef\xbf\xbd");
            i++;
        }
        run = i;
    }
    wfs_buf_put(b, text + run, i - run);
    wfs_buf_u8(b, '"');
}

void wfs_json_put_string(struct wfs_buf *b, const char *text, size_t len)
{
    put_string(b, text, len, false);
}

void wfs_json_put_shown(struct wfs_buf *b, const char *text, size_t len)
{
    put_string(b, text, len, true);
}
