/* "Did you mean": the known word that a mistyped one is nearest to. */
#ifndef WFS_MOUNT_SUGGEST_H
#define WFS_MOUNT_SUGGEST_H

#include <stddef.h>

struct wfs_suggestion {
    const char *typed;
    const char *best;  /* NULL = none that is near enough */
    unsigned distance; /* of best */
};

/* Begins with typed, which is not copied. */
void wfs_suggest_begin(struct wfs_suggestion *s, const char *typed);

/* Takes a known word (not copied) into account; the first of equally near ones stays. */
void wfs_suggest_consider(struct wfs_suggestion *s, const char *word);

/* "; did you mean PREFIXword?", or "" when no word is near enough; returns out. */
const char *wfs_suggest_text(const struct wfs_suggestion *s, const char *prefix, char *out, size_t size);

#endif
