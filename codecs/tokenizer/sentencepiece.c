#include "sentencepiece.h"
#include "../base/cleanup.h"
#include "../base/cursor.h"
#include "../base/map.h"
#include "../base/utf8.h"
#include "vocab.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Field numbers of ModelProto, its pieces and its trainer_spec. */
enum {
    MODEL_PIECES = 1,
    MODEL_TRAINER_SPEC = 2,
    PIECE_TEXT = 1,
    PIECE_SCORE = 2,
    PIECE_TYPE = 3,
    TRAINER_BYTE_FALLBACK = 35
};

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_GROUP = 3, WIRE_GROUP_END = 4, WIRE_32 = 5 };

enum { MAX_GROUPS = 64, N_BYTES = 256 };

struct field {
    uint32_t number;
    enum wire wire;
    uint64_t value;         /* of WIRE_VARINT, WIRE_64 and WIRE_32 */
    struct wfs_cursor data; /* of WIRE_BYTES */
};

/* Reads one field; groups are only told apart by the caller. False when the bytes are no field. */
static bool next_field(struct wfs_cursor *c, struct field *ret)
{
    uint64_t tag, len;
    uint32_t value;
    const uint8_t *data;

    if (!wfs_cursor_varint(c, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
        return false;
    *ret = (struct field){ .number = (uint32_t)(tag >> 3), .wire = (enum wire)(tag & 7) };
    switch (ret->wire) {
    case WIRE_VARINT:
        return wfs_cursor_varint(c, &ret->value);
    case WIRE_64:
        return wfs_cursor_u64le(c, &ret->value);
    case WIRE_32:
        if (!wfs_cursor_u32le(c, &value))
            return false;
        ret->value = value;
        return true;
    case WIRE_BYTES:
        if (!wfs_cursor_varint(c, &len) || len > wfs_cursor_left(c))
            return false;
        data = wfs_cursor_take(c, len);
        ret->data = wfs_cursor_over(data, len);
        return data != NULL;
    case WIRE_GROUP:
    case WIRE_GROUP_END:
        return true;
    }
    return false;
}

/* Steps over what an unknown group holds. */
static bool skip_group(struct wfs_cursor *c, uint32_t number)
{
    uint32_t open[MAX_GROUPS];
    size_t depth = 0;
    struct field f;

    open[depth++] = number;
    while (depth) {
        if (!next_field(c, &f))
            return false;
        if (f.wire == WIRE_GROUP && depth == MAX_GROUPS)
            return false;
        if (f.wire == WIRE_GROUP)
            open[depth++] = f.number;
        if (f.wire == WIRE_GROUP_END && open[--depth] != f.number)
            return false;
    }
    return true;
}

/* The next field that is no group. 1, 0 at the end, -1 when the bytes are not protobuf. */
static int plain_field(struct wfs_cursor *c, struct field *ret)
{
    while (wfs_cursor_left(c)) {
        if (!next_field(c, ret) || ret->wire == WIRE_GROUP_END)
            return -1;
        if (ret->wire != WIRE_GROUP)
            return 1;
        if (!skip_group(c, ret->number))
            return -1;
    }
    return 0;
}

static bool parse_piece(struct wfs_cursor c, struct wfs_sentencepiece *ret)
{
    struct field f;
    int r;

    *ret = (struct wfs_sentencepiece){ .text = "", .type = WFS_PIECE_NORMAL };
    while ((r = plain_field(&c, &f)) == 1) {
        if (f.number == PIECE_TEXT && f.wire == WIRE_BYTES) {
            ret->text = (const char *)f.data.data;
            ret->len = (uint32_t)f.data.len;
        } else if (f.number == PIECE_SCORE && f.wire == WIRE_32) {
            uint32_t bits = (uint32_t)f.value;

            memcpy(&ret->score, &bits, sizeof bits);
        } else if (f.number == PIECE_TYPE && f.wire == WIRE_VARINT) {
            int32_t type = (int32_t)f.value;

            /* A value that the enum lacks counts as an unknown field. */
            if (type >= WFS_PIECE_NORMAL && type <= WFS_PIECE_BYTE)
                ret->type = (enum wfs_piece_type)type;
        }
    }
    return r == 0;
}

static bool parse_trainer(struct wfs_cursor c, bool *byte_fallback)
{
    struct field f;
    int r;

    while ((r = plain_field(&c, &f)) == 1) {
        if (f.number == TRAINER_BYTE_FALLBACK && f.wire == WIRE_VARINT)
            *byte_fallback = f.value != 0;
    }
    return r == 0;
}

static int invalid(struct wfs_error *err, size_t i, const struct wfs_sentencepiece *p, const char *reason)
{
    return wfs_error_set(err, EINVAL, "tokenizer.model: piece %zu ('%.*s'): %s", i, (int)(p->len < 100 ? p->len : 100),
                         p->text, reason);
}

static int byte_of(const struct wfs_sentencepiece *p)
{
    char name[8];

    for (int b = 0; b < N_BYTES; b++) {
        snprintf(name, sizeof name, "<0x%02X>", b);
        if (p->len == 6 && memcmp(p->text, name, 6) == 0)
            return b;
    }
    return -1;
}

struct checks {
    struct wfs_map texts; /* no two pieces share one, of whatever type */
    bool byte_fallback, unk;
    bool bytes[N_BYTES];
};

static void checks_done(struct checks *c)
{
    wfs_map_done(&c->texts);
}

static int check_piece(struct checks *c, size_t i, const struct wfs_sentencepiece *p, struct wfs_error *err)
{
    int r, byte;

    if (p->len == 0)
        return invalid(err, i, p, "it is empty");
    /* The library refuses it within a piece, and makes a piece of it alone unused or not, by its version. */
    if (memchr(p->text, 0, p->len))
        return invalid(err, i, p, "a NUL is in it");
    if (wfs_utf8_check(p->text, p->len) != p->len)
        return invalid(err, i, p, "not valid UTF-8");
    r = wfs_map_add(&c->texts, p->text, p->len, (uint32_t)i, NULL);
    if (r < 0)
        return wfs_error_set(err, ENOMEM, "out of memory");
    if (r == 0)
        return invalid(err, i, p, "it is there twice");
    if (p->type == WFS_PIECE_UNKNOWN && c->unk)
        return invalid(err, i, p, "a second unknown piece");
    c->unk |= p->type == WFS_PIECE_UNKNOWN;
    if (p->type != WFS_PIECE_BYTE)
        return 0;
    byte = byte_of(p);
    if (!c->byte_fallback || byte < 0)
        return invalid(err, i, p, c->byte_fallback ? "no byte" : "a byte in a model without byte_fallback");
    c->bytes[byte] = true;
    return 0;
}

static int check_pieces(const struct wfs_buf *pieces, bool byte_fallback, struct wfs_error *err)
{
    WFS_CLEANUP(checks_done) struct checks c = { .byte_fallback = byte_fallback };
    const struct wfs_sentencepiece *p = (const void *)pieces->data;
    size_t n = pieces->len / sizeof *p;

    wfs_map_init(&c.texts);
    if (!wfs_map_reserve(&c.texts, n))
        return wfs_error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        int r = check_piece(&c, i, &p[i], err);

        if (r < 0)
            return r;
    }
    /* With bytes to fall back on, nothing is unknown. */
    if (!c.unk && !byte_fallback)
        return wfs_error_set(err, EINVAL, "tokenizer.model: no piece is the unknown one");
    for (int b = 0; byte_fallback && b < N_BYTES; b++) {
        if (!c.bytes[b])
            return wfs_error_set(err, EINVAL, "tokenizer.model: byte_fallback without a piece <0x%02X>", b);
    }
    return 0;
}

int wfs_sentencepiece_parse(const void *data, size_t len, struct wfs_buf *pieces, struct wfs_error *err)
{
    struct wfs_cursor c = wfs_cursor_over(data, len);
    bool byte_fallback = false, sound = true;
    struct field f;
    int r;

    if (len > UINT32_MAX)
        return wfs_error_set(err, EFBIG, "tokenizer.model: %zu bytes", len);
    while (sound && (r = plain_field(&c, &f)) != 0) {
        if (r < 0) {
            sound = false;
        } else if (f.number == MODEL_PIECES && f.wire == WIRE_BYTES) {
            struct wfs_sentencepiece p;

            sound = parse_piece(f.data, &p);
            wfs_buf_put(pieces, &p, sizeof p);
        } else if (f.number == MODEL_TRAINER_SPEC && f.wire == WIRE_BYTES) {
            sound = parse_trainer(f.data, &byte_fallback);
        }
    }
    if (!sound)
        return wfs_error_set(err, EINVAL, "tokenizer.model: not a SentencePiece model: broken at byte %zu", c.at);
    if (pieces->failed)
        return wfs_error_set(err, ENOMEM, "out of memory");
    if (pieces->len / sizeof(struct wfs_sentencepiece) > WFS_VOCAB_MAX)
        return wfs_error_set(err, EFBIG, "tokenizer.model: more than %d pieces", WFS_VOCAB_MAX);
    return check_pieces(pieces, byte_fallback, err);
}
