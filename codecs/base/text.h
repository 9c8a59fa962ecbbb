/* Small questions about NUL-terminated texts. */
#ifndef WFS_BASE_TEXT_H
#define WFS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool wfs_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static inline bool wfs_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && memcmp(text + n - m, end, m) == 0;
}

/* Bytewise order of two elements of an array of const char *, for qsort and bsearch. */
static inline int wfs_compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

#endif
