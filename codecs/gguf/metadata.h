/*
 * The general.* keys: sampling defaults, names, licence, origins and tags, from the model card, generation_config.json,
 * config.json and the folder's name. Source: gguf-py's metadata.py and ModelBase.prepare_metadata of the pinned
 * llama.cpp.
 */
#ifndef WFS_GGUF_METADATA_H
#define WFS_GGUF_METADATA_H

#include "../folder.h"
#include "../json.h"
#include "kv.h"
#include "yaml.h"

#include <stdint.h>

/*
 * Writes general.type and all that follows it up to general.languages. config is config.json's object (for its
 * _name_or_path), model_name the converter's --model-name or NULL. 0, or a negative errno with a message where the
 * converter fails.
 */
int wfs_metadata_write(const struct wfs_folder *folder, const char *model_name, uint64_t total_params,
                       const cJSON *config, struct wfs_kv_list *kv, struct wfs_error *err);

/* Parts of it, for their own files. */

/* sampling.c: general.sampling.* from generation_config.json. */
int wfs_sampling_write(const struct wfs_folder *folder, struct wfs_kv_list *kv, struct wfs_error *err);

/* lineage.c: general.base_model.* and general.dataset.* from the card (NULL = none). */
int wfs_lineage_write(const struct wfs_yaml_node *card, uint64_t total_params, struct wfs_kv_list *kv,
                      struct wfs_error *err);

/* add_string: a key with a text (C0 80 stands for NUL); the empty text writes nothing. */
void wfs_metadata_text(struct wfs_kv_list *kv, const char *key, const char *text);

/* add_string of a card's value: nothing when it is false, an error (naming card_key) when it is no text. */
int wfs_metadata_node(struct wfs_kv_list *kv, const char *key, const struct wfs_yaml_node *node, const char *card_key,
                      struct wfs_error *err);

#endif
