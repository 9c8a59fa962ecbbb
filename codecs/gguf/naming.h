/*
 * The converter's heuristics for names: what a model's name, size, version and fine-tune are, from
 * "org/Name-7B-Chat-v0.2". Source: gguf-py's metadata.py (get_model_id_components, id_to_title) and utility.py
 * (size_label) of the pinned llama.cpp.
 */
#ifndef WFS_GGUF_NAMING_H
#define WFS_GGUF_NAMING_H

#include <stdint.h>

/* The parts of a model id; NULL is Python's None. All owned, UTF-8 (a NUL as C0 80). */
struct wfs_model_id {
    char *name, *organization, *basename, *finetune, *version, *size_label;
};

/* Splits id (UTF-8). total_params (0 = unknown) decides whether a size in the name is believed. 0, -EINVAL or -ENOMEM.
 */
int wfs_naming_split(const char *id, uint64_t total_params, struct wfs_model_id *ret);
void wfs_model_id_done(struct wfs_model_id *id);

/* id_to_title: words with capitals, unless they have some or look like a number or version. malloc'ed; NULL: no memory.
 */
char *wfs_naming_title(const char *text);

enum { WFS_SIZE_LABEL_BYTES = 48 };

/* "8.0B", "135M": the number of parameters with two digits or all before the point. */
void wfs_naming_size_label(uint64_t total_params, char ret[static WFS_SIZE_LABEL_BYTES]);

#endif
