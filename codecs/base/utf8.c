#include "utf8.h"

unsigned wfs_utf8_decode(const void *text, size_t len, uint32_t *ret_code_point)
{
    const uint8_t *p = text;
    uint32_t c;
    unsigned n;

    if (len == 0)
        return 0;
    if (p[0] < 0x80) {
        if (ret_code_point)
            *ret_code_point = p[0];
        return 1;
    }
    if (p[0] >= 0xc2 && p[0] <= 0xdf) {
        n = 2;
        c = p[0] & 0x1fu;
    } else if ((p[0] & 0xf0) == 0xe0) {
        n = 3;
        c = p[0] & 0x0fu;
    } else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        n = 4;
        c = p[0] & 0x07u;
    } else {
        return 0;
    }
    if (len < n)
        return 0;
    for (unsigned i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    if ((n == 3 && (c < 0x800 || (c >= 0xd800 && c <= 0xdfff))) || (n == 4 && (c < 0x10000 || c > 0x10ffff)))
        return 0;
    if (ret_code_point)
        *ret_code_point = c;
    return n;
}

unsigned wfs_utf8_encode(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        if (c >= 0xd800 && c <= 0xdfff)
            return 0;
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    if (c > 0x10ffff)
        return 0;
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

size_t wfs_utf8_check(const void *text, size_t len)
{
    const uint8_t *p = text;
    size_t i = 0;

    while (i < len) {
        unsigned n;

        if (p[i] < 0x80) {
            i++;
            continue;
        }
        n = wfs_utf8_decode(p + i, len - i, NULL);
        if (n == 0)
            return i;
        i += n;
    }
    return len;
}
