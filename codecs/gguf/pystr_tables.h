/* Tables of character properties and mappings, as Python's str methods have them. */
#ifndef WFS_GGUF_PYSTR_TABLES_H
#define WFS_GGUF_PYSTR_TABLES_H

#include <stddef.h>
#include <stdint.h>

struct range { /* lo to hi, both included */
    uint32_t lo, hi;
};

struct run { /* lo, lo + step … hi map to themselves plus delta */
    uint32_t lo, hi, step;
    int32_t delta;
};

struct full { /* one character that becomes several (0 = none) */
    uint32_t from, to[3];
};

struct wfs_char_ranges {
    const struct range *ranges; /* ascending */
    size_t n;
};

struct wfs_char_map {
    const struct run *runs;
    size_t n_runs;
    const struct full *full;
    size_t n_full;
};

extern const struct wfs_char_ranges wfs_char_alpha, wfs_char_alnum, wfs_char_decimal, wfs_char_lower,
    wfs_char_upper, /* upper or title case */
    wfs_char_cased, wfs_char_ignorable;
extern const struct wfs_char_map wfs_char_to_lower, wfs_char_to_upper, wfs_char_to_title;

#endif
