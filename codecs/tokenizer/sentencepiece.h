/*
 * The pieces of a SentencePiece model (tokenizer.model, a protobuf message). Source of the layout:
 * sentencepiece_model.proto; of what is refused: ModelInterface::InitializePieces of sentencepiece 0.2.
 */
#ifndef WFS_TOKENIZER_SENTENCEPIECE_H
#define WFS_TOKENIZER_SENTENCEPIECE_H

#include "../base/buf.h"
#include "../base/error.h"

#include <stddef.h>
#include <stdint.h>

enum wfs_piece_type {
    WFS_PIECE_NORMAL = 1,
    WFS_PIECE_UNKNOWN = 2,
    WFS_PIECE_CONTROL = 3,
    WFS_PIECE_USER_DEFINED = 4,
    WFS_PIECE_UNUSED = 5,
    WFS_PIECE_BYTE = 6,
};

struct wfs_sentencepiece {
    const char *text; /* in the model's bytes; valid UTF-8, not NUL-terminated */
    uint32_t len;
    float score;
    enum wfs_piece_type type;
};

/*
 * Appends the model's pieces (struct wfs_sentencepiece) to pieces. 0; -EINVAL when the library would not load it;
 * -EFBIG, -ENOMEM.
 */
int wfs_sentencepiece_parse(const void *data, size_t len, struct wfs_buf *pieces, struct wfs_error *err);

#endif
