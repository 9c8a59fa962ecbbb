/* What stands at an offset of a view, in words: for people who compare files. */
#ifndef WFS_MOUNT_LOCATE_H
#define WFS_MOUNT_LOCATE_H

#include "base/buf.h"
#include "engine.h"
#include "model.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Writes "tensor blk.0.ffn_up.weight (from model.layers.0.mlp.up_proj.weight), byte 12 of its 4096", "the header",
 * "padding" into out. object: of a view; model: of the same generation, may be NULL; offset: less than the view's
 * size.
 */
void wfs_locate(const struct wfs_object *object, const struct wfs_model *model, uint64_t offset, char *out,
                size_t size);

/* Appends the header that a view holds itself: the literal bytes in front of its first tensor. */
void wfs_locate_header(const struct wfs_layout *l, struct wfs_buf *out);

/*
 * The tensor of a GGUF file whose data hold offset, from the file's header (len bytes, may be longer or cut): its
 * name is copied to name, *ret_begin is where its data begin. False when the header cannot be read or offset is
 * before the data.
 */
bool wfs_locate_gguf(const uint8_t *header, size_t len, uint64_t offset, char *name, size_t size, uint64_t *ret_begin);

#endif
