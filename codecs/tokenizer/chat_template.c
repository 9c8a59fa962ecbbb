#include "chat_template.h"
#include "../base/cleanup.h"
#include "../base/utf8.h"
#include "kv_text.h"
#include "pyjson.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEY "tokenizer.chat_template"

/* A template under its name; neither is owned. */
struct template {
    const char *name, *text;
    size_t len;
};

/*
 * Reads a file as Python does in text mode: UTF-8, and every line ends with a line feed. 1, 0 (no such file) or an
 * error.
 */
static int read_text(const struct wfs_folder *folder, const char *name, struct wfs_blob *ret, struct wfs_error *err)
{
    int r = folder->read(folder->ctx, name, ret, err);
    size_t n = 0;

    if (r != 1)
        return r;
    if (wfs_utf8_check(ret->data, ret->len) != ret->len)
        return wfs_error_set(err, EINVAL, "%s: not valid UTF-8", name);
    for (size_t i = 0; i < ret->len; i++) {
        if (ret->data[i] == '\r') {
            ret->data[n++] = '\n';
            if (i + 1 < ret->len && ret->data[i + 1] == '\n')
                i++;
        } else {
            ret->data[n++] = ret->data[i];
        }
    }
    ret->len = n;
    return 1;
}

/* A name with '_' for every character that is no ASCII letter or digit. */
static char *plain_name(const char *name)
{
    char *out = malloc(strlen(name) + 1);
    size_t n = 0;

    for (size_t at = 0, len = strlen(name); out && at < len;) {
        unsigned char c = (unsigned char)name[at];
        unsigned width = wfs_utf8_decode(name + at, len - at, NULL);

        at += width ? width : c == 0xc0 ? 2 : 1;
        out[n++] = (char)((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ? c : '_');
    }
    if (out)
        out[n] = 0;
    return out;
}

static int write_named(struct wfs_kv_list *kv, const struct template *t, char **only_name, const char **ret_default,
                       size_t *ret_default_len, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *name = plain_name(t->name);
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf key = WFS_BUF_INIT;

    wfs_buf_printf(&key, KEY ".%s", name ? name : "");
    wfs_buf_u8(&key, 0);
    if (!name || key.failed)
        return wfs_error_set(err, ENOMEM, "out of memory");
    if (!*name || !t->text)
        return 0;
    if (strcmp(name, "default") == 0) {
        *ret_default = t->text;
        *ret_default_len = t->len;
        return 0;
    }
    if (*only_name && strcmp(*only_name, name) != 0)
        return wfs_error_set(err, ENOTSUP,
                             "two named chat templates, '%s' and '%s': the converter lists their names in an "
                             "order that changes from run to run, so there is no file to be equal to",
                             *only_name, name);
    wfs_kv_text(kv, (const char *)key.data, t->text, t->len);
    if (!*only_name)
        *only_name = WFS_STEAL(name);
    return 0;
}

static int write_list(struct wfs_kv_list *kv, const struct template *list, size_t n, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *only_name = NULL;
    struct wfs_buf names = WFS_BUF_INIT;
    const char *text = NULL;
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        int r = write_named(kv, &list[i], &only_name, &text, &len, err);

        if (r < 0)
            return r;
    }
    if (only_name) {
        wfs_kv_array_string(&names, only_name, strlen(only_name));
        wfs_kv_array(kv, "tokenizer.chat_templates", WFS_GGUF_STRING, 1, &names);
    }
    if (text)
        wfs_kv_text(kv, KEY, text, len);
    return 0;
}

/* The value of a "chat_template" member: a string or a list of objects with name and template; else it is ignored. */
static int write_value(struct wfs_kv_list *kv, const cJSON *value, const char *file, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf list = WFS_BUF_INIT;

    if (cJSON_IsString(value))
        wfs_kv_text(kv, KEY, value->valuestring, strlen(value->valuestring));
    if (!cJSON_IsArray(value))
        return 0;
    for (const cJSON *o = value->child; o; o = o->next) {
        const cJSON *name = wfs_json_get(o, "name"), *text = wfs_json_get(o, "template");
        struct template t = { "", wfs_json_string(text), 0 };

        if (!cJSON_IsObject(o) || (name && !cJSON_IsString(name)) || (!wfs_py_is_none(text) && !t.text))
            return wfs_error_set(err, EINVAL, "%s: chat_template: a list of what is not name and template", file);
        t.name = name ? name->valuestring : "";
        t.len = t.text ? strlen(t.text) : 0;
        wfs_buf_put(&list, &t, sizeof t);
    }
    if (list.failed)
        return wfs_error_set(err, ENOMEM, "out of memory");
    return write_list(kv, (const void *)list.data, list.len / sizeof(struct template), err);
}

static bool folder_has(const struct wfs_folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->n_names; i++) {
        if (strcmp(folder->names[i], name) == 0)
            return true;
    }
    return false;
}

int wfs_chat_template_write(struct wfs_tokenizer_files *files, const cJSON *config, struct wfs_kv_list *kv,
                            struct wfs_error *err)
{
    WFS_CLEANUP(wfs_blob_done) struct wfs_blob text = { NULL, 0 };
    const cJSON *value = wfs_json_get(config, "chat_template"), *alternative;
    int r;

    if (value)
        return write_value(kv, value, "tokenizer_config.json", err);
    r = read_text(files->folder, "chat_template.jinja", &text, err);
    if (r < 0)
        return r;
    if (r == 1) {
        if (folder_has(files->folder, "additional_chat_templates"))
            return wfs_error_set(err, ENOTSUP,
                                 "additional_chat_templates: chat templates in a folder of their own are not "
                                 "supported");
        wfs_kv_text(kv, KEY, (const char *)text.data, text.len);
        return 0;
    }
    r = wfs_tokenizer_files_get(files, WFS_FILE_CHAT_TEMPLATE, &alternative, err);
    return r < 0 ? r : write_value(kv, wfs_json_get(alternative, "chat_template"), "chat_template.json", err);
}
