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

void wfs_json_put_string(struct wfs_buf *b, const char *text, size_t len)
{
    size_t run = 0, i = 0;

    wfs_buf_u8(b, '"');
    while (i < len) {
        unsigned char c = (unsigned char)text[i];
        unsigned n = c < 0x80 ? 1 : wfs_utf8_decode(text + i, len - i, NULL);

        if (n && c >= 0x20 && c != '"' && c != '\\') {
            i += n;
            continue;
        }
        wfs_buf_put(b, text + run, i - run);
        if (n) {
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
