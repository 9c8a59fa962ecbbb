#include "index.h"
#include "../base/cleanup.h"
#include "../base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 1000000 };

/* True when the name can only mean a file directly in the folder. */
static bool is_basename(const char *name)
{
    return name[0] != 0 && strlen(name) <= NAME_MAX && !strchr(name, '/') && !strstr(name, "\xc0\x80") &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static void note_problem(struct wfs_index *index, const char *tensor, const char *value)
{
    struct wfs_error text;

    if (index->problem)
        return;
    if (value)
        wfs_error_set(&text, EINVAL,
                "weight_map puts tensor \"%.160s\" into \"%.200s\", which is not the name of a file in this folder",
                      tensor, value);
    else
        wfs_error_set(&text, EINVAL, "weight_map: the value of \"%.160s\" is not a string", tensor);
    index->problem = strdup(text.msg);
}

static int read_entry(struct wfs_index *index, struct wfs_map *files, const cJSON *node)
{
    const char *file = wfs_json_string(node);
    uint32_t at = (uint32_t)index->n_entries, file_at = (uint32_t)index->n_files;
    int r;

    if (!file || !is_basename(file)) {
        note_problem(index, node->string, file);
        return 0;
    }
    r = wfs_map_add(files, file, strlen(file), file_at, &file_at);
    if (r < 0)
        return r;
    if (r == 1)
        index->files[index->n_files++] = file;
    r = wfs_map_add(&index->by_tensor, node->string, strlen(node->string), at, &at);
    if (r < 0)
        return r;
    index->n_entries += (size_t)r;
    index->entries[at] = (struct wfs_index_entry){ node->string, file_at };
    return 0;
}

/* Puts the files in the order of their names and the entries behind them. */
static int sort_files(struct wfs_index *index, struct wfs_map *files)
{
    uint32_t *rank = malloc((index->n_files + 1) * sizeof *rank);

    if (!rank)
        return -ENOMEM;
    qsort(index->files, index->n_files, sizeof *index->files, wfs_compare_strings);
    for (size_t i = 0; i < index->n_files; i++) {
        uint32_t old = 0;

        wfs_map_get(files, index->files[i], strlen(index->files[i]), &old);
        rank[old] = (uint32_t)i;
    }
    for (size_t i = 0; i < index->n_entries; i++)
        index->entries[i].file = rank[index->entries[i].file];
    free(rank);
    return 0;
}

static int read_weight_map(struct wfs_index *index, const cJSON *weight_map, struct wfs_error *err)
{
    struct wfs_map WFS_CLEANUP(wfs_map_done) files;
    size_t count = 0;
    int r = 0;

    wfs_map_init(&files);
    for (const cJSON *node = weight_map->child; node; node = node->next)
        count++;
    if (count > MAX_ENTRIES)
        return wfs_error_set(err, EINVAL, "weight_map names more than %d tensors", MAX_ENTRIES);
    index->files = malloc((count + 1) * sizeof *index->files);
    index->entries = malloc((count + 1) * sizeof *index->entries);
    if (!index->files || !index->entries || !wfs_map_reserve(&index->by_tensor, count))
        r = -ENOMEM;
    for (const cJSON *node = weight_map->child; node && r == 0; node = node->next)
        r = read_entry(index, &files, node);
    if (r == 0)
        r = sort_files(index, &files);
    return r < 0 ? wfs_error_set(err, ENOMEM, "out of memory for the index") : 0;
}

int wfs_index_parse(const void *text, size_t len, struct wfs_index *ret, struct wfs_error *err)
{
    struct wfs_index WFS_CLEANUP(wfs_index_done) index = { 0 };
    const cJSON *weight_map;
    int r;

    wfs_map_init(&index.by_tensor);
    r = wfs_json_parse(text, len, &WFS_JSON_CONFIG, "JSON", &index.json, err);
    if (r < 0)
        return r;
    weight_map = wfs_json_get(wfs_json_root(index.json), "weight_map");
    if (!cJSON_IsObject(weight_map))
        return wfs_error_set(err, EINVAL, "no object \"weight_map\"");
    r = read_weight_map(&index, weight_map, err);
    if (r < 0)
        return r;
    *ret = index;
    memset(&index, 0, sizeof index);
    return 0;
}

void wfs_index_done(struct wfs_index *index)
{
    wfs_json_free(index->json);
    free(index->files);
    free(index->entries);
    wfs_map_done(&index->by_tensor);
    free(index->problem);
    memset(index, 0, sizeof *index);
}
