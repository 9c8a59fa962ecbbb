/*
 * Lays model.safetensors out: byte for byte what safetensors' save_file(tensors, metadata={"format": "pt"}) writes.
 * Source of the order and the header's form: safetensors 0.8.0, tensor.rs (prepare) and serde_json's compact form.
 */
#ifndef WFS_WRITERS_SAFETENSORS_H
#define WFS_WRITERS_SAFETENSORS_H

#include "../layout.h"
#include "../model.h"

/*
 * All tensors of the model in one file: sorted by dtype (widest alignment first), then by name as bytes, packed without
 * gaps. 0; -EFBIG when the header would pass the reference's limit; -EOVERFLOW; -ENOMEM. ret is initialised here and
 * the caller's to free (_done).
 */
int wfs_safetensors_layout(const struct wfs_model *model, struct wfs_layout *ret, struct wfs_error *err);

/* A whole source file as it stands: file is its index in the model's files. */
int wfs_safetensors_layout_as_is(const struct wfs_model *model, uint32_t file, struct wfs_layout *ret,
                                 struct wfs_error *err);

#endif
