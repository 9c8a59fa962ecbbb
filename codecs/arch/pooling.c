#include "../base/cleanup.h"
#include "arch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Reads and parses a file of the folder. 1, 0 when it is not there, or a negative errno. */
static int read_json(const struct wfs_folder *folder, const char *name, struct wfs_json **ret, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_blob_done) struct wfs_blob blob = { NULL, 0 };
    int r = folder->read(folder->ctx, name, &blob, err);

    if (r <= 0)
        return r;
    r = wfs_json_parse(blob.data, blob.len, &WFS_JSON_PYTHON, name, ret, err);
    return r < 0 ? r : 1;
}

/* The path of the first module whose type ends with "Pooling"; "" and 0 when there is none. */
static int find_pooling(const cJSON *modules, char *path, size_t size, struct wfs_error *err)
{
    static const char END[] = "Pooling";

    path[0] = '\0';
    if (!cJSON_IsArray(modules))
        return wfs_error_set(err, EINVAL, "modules.json: not a list");
    for (const cJSON *m = modules->child; m; m = m->next) {
        const char *type = wfs_json_string(wfs_json_get(m, "type")), *where = wfs_json_string(wfs_json_get(m, "path"));
        size_t len = type ? strlen(type) : 0;

        if (!type)
            return wfs_error_set(err, EINVAL, "modules.json: a module without \"type\"");
        if (len < sizeof END - 1 || strcmp(type + len - (sizeof END - 1), END) != 0)
            continue;
        if (!where)
            return wfs_error_set(err, EINVAL, "modules.json: the pooling module has no \"path\"");
        /* Only a plain folder inside the model's: the reference would follow any path. */
        if (where[0] == '/' || strstr(where, "..") || (size_t)snprintf(path, size, "%s/config.json", where) >= size)
            return wfs_error_set(err, EINVAL, "modules.json: path \"%s\" leads out of the folder", where);
        return 1;
    }
    return 0;
}

int wfs_arch_put_pooling_type(const struct wfs_arch_input *in, struct wfs_kv_list *kv, struct wfs_error *err)
{
    enum { MEAN = 1, CLS = 2, LAST = 3 }; /* llama.cpp's LLAMA_POOLING_TYPE numbers */
    static const struct {
        const char *flag, *mode;
        uint32_t type;
    } modes[] = { { "pooling_mode_mean_tokens", "mean", MEAN },
                  { "pooling_mode_cls_token", "cls", CLS },
                  { "pooling_mode_lasttoken", "lasttoken", LAST } };
    struct wfs_json *modules = NULL, *pooling = NULL;
    char path[1024], key[64];
    const char *mode;
    uint32_t type = 0;
    int r = read_json(in->folder, "modules.json", &modules, err);

    if (r <= 0)
        return r;
    r = find_pooling(wfs_json_root(modules), path, sizeof path, err);
    wfs_json_free(modules);
    if (r <= 0)
        return r;
    r = read_json(in->folder, path, &pooling, err);
    if (r == 0)
        r = wfs_error_set(err, ENOENT, "%s, named by modules.json, is missing", path);
    if (r < 0)
        return r;
    for (size_t i = 0; i < sizeof modes / sizeof *modes && !type; i++) {
        if (wfs_hvalue_is_true(wfs_hvalue_from(wfs_json_get(wfs_json_root(pooling), modes[i].flag))))
            type = modes[i].type;
    }
    mode = wfs_json_string(wfs_json_get(wfs_json_root(pooling), "pooling_mode"));
    for (size_t i = 0; mode && i < sizeof modes / sizeof *modes && !type; i++) {
        if (strcmp(mode, modes[i].mode) == 0)
            type = modes[i].type;
    }
    wfs_json_free(pooling);
    if (!type)
        return wfs_error_set(err, EINVAL, "%s: only mean, cls and lasttoken pooling can be converted", path);
    snprintf(key, sizeof key, "%s.pooling_type", in->name);
    wfs_kv_u32(kv, key, type);
    return 0;
}
