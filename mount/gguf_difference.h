/* Where two GGUF headers differ, for people. */
#ifndef WFS_MOUNT_GGUF_DIFFERENCE_H
#define WFS_MOUNT_GGUF_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Says where two headers, which may be cut anywhere, differ first: "key general.name is "A" in the view, "B" in the
 * file", "key X is only in the file", "tensor X is q4_K in the view, q5_K in the file". view and file as they are
 * called. False when one cannot be read, or nothing differs.
 */
bool wfs_gguf_difference(const uint8_t *view, size_t view_len, const uint8_t *file, size_t file_len, char *out,
                         size_t size);

#endif
