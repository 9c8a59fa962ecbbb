#include "byte_level.h"
#include "../base/utf8.h"

#include <stdbool.h>

/* Printable bytes stand for themselves; the others, in their order, for the characters from U+0100 on. */
static bool stands_for_itself(uint32_t byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

enum { BELOW_SPACE_END = 0x21, DEL = 0x7f, SOFT_HYPHEN = 0xad };

static uint32_t code_point_of(uint8_t byte)
{
    if (stands_for_itself(byte))
        return byte;
    if (byte < BELOW_SPACE_END)
        return 0x100 + byte;
    if (byte == SOFT_HYPHEN)
        return 0x100 + BELOW_SPACE_END + 0xa1 - DEL;
    return 0x100 + BELOW_SPACE_END + byte - DEL;
}

void wfs_byte_level_put(struct wfs_buf *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char utf8[4];
        unsigned n = wfs_utf8_encode(code_point_of((uint8_t)bytes[i]), utf8);

        wfs_buf_put(out, utf8, n);
    }
}

int wfs_byte_level_byte(uint32_t code_point)
{
    uint32_t n;

    if (code_point < 0x100)
        return stands_for_itself(code_point) ? (int)code_point : -1;
    n = code_point - 0x100;
    if (n < BELOW_SPACE_END)
        return (int)n;
    n = n - BELOW_SPACE_END + DEL;
    if (n <= 0xa0)
        return (int)n;
    return n == 0xa1 ? SOFT_HYPHEN : -1;
}
