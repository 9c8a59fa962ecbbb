#include "human.h"

#include "base/utf8.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* Three digits: 9.99, 99.9, 999. */
static void print(double value, const char *unit, char *out, size_t size)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

    snprintf(out, size, "%.*f%s", decimals, value, unit);
}

const char *wfs_human_bytes(uint64_t bytes, char *out, size_t size)
{
    static const char *const units[] = { " KiB", " MiB", " GiB", " TiB", " PiB", " EiB" };
    double value = (double)bytes / 1024;
    size_t unit = 0;

    if (bytes < 1024) {
        snprintf(out, size, "%u B", (unsigned)bytes);
        return out;
    }
    for (; value >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1024;
    print(value, units[unit], out, size);
    return out;
}

const char *wfs_human_count(uint64_t count, char *out, size_t size)
{
    static const char *const units[] = { " K", " M", " B", " T" };
    double value = (double)count / 1000;
    size_t unit = 0;

    if (count < 1000) {
        snprintf(out, size, "%u", (unsigned)count);
        return out;
    }
    for (; value >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1000;
    print(value, units[unit], out, size);
    return out;
}

size_t wfs_human_width(const char *text)
{
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL), before = NULL;
    size_t len = strlen(text), width = 0;
    uint32_t code_point;

    if (utf8)
        before = uselocale(utf8); /* what wcwidth goes by */
    for (size_t at = 0; at < len;) {
        unsigned bytes = wfs_utf8_decode(text + at, len - at, &code_point);
        int columns = bytes > 1 && utf8 ? wcwidth((wchar_t)code_point) : 1;

        at += bytes ? bytes : 1;
        width += columns < 0 ? 1 : (size_t)columns;
    }
    if (utf8) {
        uselocale(before);
        freelocale(utf8);
    }
    return width;
}

const char *wfs_human_seconds(double seconds, char *out, size_t size)
{
    uint64_t s = seconds < 0 ? 0 : seconds > 1e9 ? 1000000000 : (uint64_t)(seconds + 0.5);

    if (s < 60)
        snprintf(out, size, "%us", (unsigned)s);
    else if (s < 3600)
        snprintf(out, size, "%um%02us", (unsigned)(s / 60), (unsigned)(s % 60));
    else
        snprintf(out, size, "%uh%02um", (unsigned)(s / 3600), (unsigned)(s / 60 % 60));
    return out;
}
