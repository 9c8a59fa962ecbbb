/*
 * A text on its way through a tokenizer: an ordered list of pieces, each either text still to be split and encoded or
 * an added token that is settled already. Every step reads one list and writes the next.
 */
#ifndef WFS_TOKENIZER_PIECES_H
#define WFS_TOKENIZER_PIECES_H

#include "../base/buf.h"

#include <stddef.h>
#include <stdint.h>

enum { WFS_PIECE_TEXT = -1 };

struct wfs_piece {
    size_t at, len; /* in the list's text */
    int64_t id;     /* WFS_PIECE_TEXT, or the id of an added token */
};

struct wfs_pieces {
    struct wfs_buf text;
    struct wfs_buf list; /* of struct wfs_piece */
};

#define WFS_PIECES_INIT { WFS_BUF_INIT, WFS_BUF_INIT }

static inline void wfs_pieces_done(struct wfs_pieces *p)
{
    wfs_buf_done(&p->text);
    wfs_buf_done(&p->list);
}

static inline size_t wfs_pieces_count(const struct wfs_pieces *p)
{
    return p->list.len / sizeof(struct wfs_piece);
}

static inline const struct wfs_piece *wfs_pieces_get(const struct wfs_pieces *p, size_t i)
{
    return (const struct wfs_piece *)(const void *)p->list.data + i;
}

static inline const char *wfs_pieces_text(const struct wfs_pieces *p, const struct wfs_piece *piece)
{
    return p->text.data ? (const char *)p->text.data + piece->at : "";
}

/* Appends a piece; a text without bytes is left out, as the `tokenizers` library does. */
static inline void wfs_pieces_add(struct wfs_pieces *p, const char *text, size_t len, int64_t id)
{
    struct wfs_piece piece = { p->text.len, len, id };

    if (len == 0 && id == WFS_PIECE_TEXT)
        return;
    wfs_buf_put(&p->text, text, len);
    wfs_buf_put(&p->list, &piece, sizeof piece);
}

static inline bool wfs_pieces_failed(const struct wfs_pieces *p)
{
    return p->text.failed || p->list.failed;
}

/* Makes next the list and frees the old one. */
static inline void wfs_pieces_replace(struct wfs_pieces *p, struct wfs_pieces *next)
{
    wfs_pieces_done(p);
    *p = *next;
    *next = (struct wfs_pieces)WFS_PIECES_INIT;
}

#endif
