/*
 * The chat templates of a folder, as SpecialVocab of the converter finds them and GGUFWriter.add_chat_template writes
 * them.
 */
#ifndef WFS_TOKENIZER_CHAT_TEMPLATE_H
#define WFS_TOKENIZER_CHAT_TEMPLATE_H

#include "../gguf/kv.h"
#include "files.h"

/*
 * Writes tokenizer.chat_template, tokenizer.chat_template.NAME and tokenizer.chat_templates. config is
 * tokenizer_config.json's object. 0; -EINVAL; -ENOTSUP when the converter's result has no defined order (two named
 * templates or more); -ENOMEM or the read's error.
 */
int wfs_chat_template_write(struct wfs_tokenizer_files *files, const cJSON *config, struct wfs_kv_list *kv,
                            struct wfs_error *err);

#endif
