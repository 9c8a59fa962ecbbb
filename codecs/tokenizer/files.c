#include "files.h"
#include "../base/cleanup.h"
#include "pyjson.h"

#include <errno.h>

static const char *const names[] = {
    [WFS_FILE_TOKENIZER] = "tokenizer.json",
    [WFS_FILE_TOKENIZER_CONFIG] = "tokenizer_config.json",
    [WFS_FILE_CONFIG] = "config.json",
    [WFS_FILE_SPECIAL_TOKENS_MAP] = "special_tokens_map.json",
    [WFS_FILE_ADDED_TOKENS] = "added_tokens.json",
    [WFS_FILE_CHAT_TEMPLATE] = "chat_template.json",
};

void wfs_tokenizer_files_init(struct wfs_tokenizer_files *f, const struct wfs_folder *folder)
{
    memset(f, 0, sizeof *f);
    f->folder = folder;
}

void wfs_tokenizer_files_done(struct wfs_tokenizer_files *f)
{
    for (size_t i = 0; i < WFS_N_TOKENIZER_FILES; i++) {
        wfs_json_free(f->files[i].json);
        f->files[i].json = NULL;
    }
}

int wfs_tokenizer_files_get(struct wfs_tokenizer_files *f, enum wfs_tokenizer_file which, const cJSON **ret,
                            struct wfs_error *err)
{
    WFS_CLEANUP(wfs_blob_done) struct wfs_blob blob = { NULL, 0 };
    int r;

    if (!f->files[which].asked) {
        r = f->folder->read(f->folder->ctx, names[which], &blob, err);
        if (r == 1)
            /* The tokenizers library reads tokenizer.json first, and is strict. */
            r = wfs_json_parse(blob.data, blob.len, which == WFS_FILE_TOKENIZER ? &WFS_JSON_CONFIG : &WFS_JSON_PYTHON,
                               names[which], &f->files[which].json, err);
        if (r < 0)
            return r;
        f->files[which].asked = true;
    }
    *ret = f->files[which].json ? wfs_json_root(f->files[which].json) : NULL;
    if (*ret && !cJSON_IsObject(*ret))
        return wfs_error_set(err, EINVAL, "%s: not an object", names[which]);
    return 0;
}

bool wfs_py_int(const char *text, int64_t *ret)
{
    bool negative = false, digit = false;
    int64_t value = 0;

    while (*text && strchr(" \t\n\r\f\v", *text))
        text++;
    if (*text == '-' || *text == '+')
        negative = *text++ == '-';
    for (; (*text >= '0' && *text <= '9') || (*text == '_' && digit && text[1] >= '0' && text[1] <= '9'); text++) {
        if (*text == '_')
            continue;
        digit = true;
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value))
            return false;
    }
    while (*text && strchr(" \t\n\r\f\v", *text))
        text++;
    *ret = negative ? -value : value;
    return digit && *text == 0;
}
