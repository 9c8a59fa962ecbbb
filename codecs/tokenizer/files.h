/* The JSON files of a folder that say something of its tokenizer: each read and parsed once, when first asked for. */
#ifndef WFS_TOKENIZER_FILES_H
#define WFS_TOKENIZER_FILES_H

#include "../folder.h"
#include "../json.h"

enum wfs_tokenizer_file {
    WFS_FILE_TOKENIZER,          /* tokenizer.json */
    WFS_FILE_TOKENIZER_CONFIG,   /* tokenizer_config.json */
    WFS_FILE_CONFIG,             /* config.json */
    WFS_FILE_SPECIAL_TOKENS_MAP, /* special_tokens_map.json */
    WFS_FILE_ADDED_TOKENS,       /* added_tokens.json */
    WFS_FILE_CHAT_TEMPLATE,      /* chat_template.json */
    WFS_N_TOKENIZER_FILES
};

struct wfs_tokenizer_files {
    const struct wfs_folder *folder;
    struct {
        bool asked;
        struct wfs_json *json; /* owned; NULL when there is no such file */
    } files[WFS_N_TOKENIZER_FILES];
};

void wfs_tokenizer_files_init(struct wfs_tokenizer_files *f, const struct wfs_folder *folder);
void wfs_tokenizer_files_done(struct wfs_tokenizer_files *f);

/*
 * The file's object, valid until _done; *ret is NULL when there is no such file. 0; -EINVAL when it is no object; or
 * the read's error.
 */
int wfs_tokenizer_files_get(struct wfs_tokenizer_files *f, enum wfs_tokenizer_file which, const cJSON **ret,
                            struct wfs_error *err);

#endif
