#include "suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 32 };

void wfs_suggest_begin(struct wfs_suggestion *s, const char *typed)
{
    *s = (struct wfs_suggestion){ .typed = typed };
}

/* Which of - and _ a word has is the likeliest slip of all, so they count as the same. */
static bool same(char a, char b)
{
    return (a == '-' ? '_' : a) == (b == '-' ? '_' : b);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/*
 * The number of letters to put in, leave out, change or swap with the next one (optimal string alignment), of words of
 * at most LONGEST letters.
 */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned rows[3][LONGEST + 1];

    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3], *before = rows[(i - 1) % 3], *two_before = rows[(i + 1) % 3];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = least(before[j - 1] + !same(a[i - 1], b[j - 1]), least(before[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = least(row[j], two_before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

void wfs_suggest_consider(struct wfs_suggestion *s, const char *word)
{
    size_t n = strlen(s->typed), m = strlen(word);
    unsigned d, allowed = n < 3 ? 0 : n < 6 ? 1 : 2; /* of short words almost every other one is near */

    if (n > LONGEST || m > LONGEST)
        return;
    d = distance(s->typed, n, word, m);
    if (d <= allowed && (!s->best || d < s->distance)) {
        s->best = word;
        s->distance = d;
    }
}

const char *wfs_suggest_text(const struct wfs_suggestion *s, const char *prefix, char *out, size_t size)
{
    out[0] = 0;
    if (s->best)
        snprintf(out, size, "; did you mean %s%s?", prefix, s->best);
    return out;
}
