/* The keys of an architecture, from its hyperparameters. */
#ifndef WFS_GGUF_PARAMETERS_H
#define WFS_GGUF_PARAMETERS_H

#include "../arch/arch.h"

/*
 * Writes the keys that all architectures share, general.file_type last (with file_type), then those of the class.
 * Source: TextModel.set_gguf_parameters in the pinned llama.cpp's conversion/base.py. 0, or a negative errno with a
 * message that names the key of config.json.
 */
int wfs_gguf_write_parameters(const struct wfs_arch *arch, const struct wfs_arch_input *in, uint32_t file_type,
                              struct wfs_kv_list *kv, struct wfs_error *err);

#endif
