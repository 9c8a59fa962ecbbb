#include "../base/cleanup.h"
#include "../base/text.h"
#include "metadata.h"
#include "naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a card says about the models or data sets that a model was made from. */
struct origin {
    const char *keys[3]; /* in the card; the first that is there counts */
    const char *prefix;  /* of the GGUF keys */
};

static const struct origin origins[] = {
    { { "base_model", "base_models", "base_model_sources" }, "general.base_model" },
    { { "datasets", "dataset", "dataset_sources" }, "general.dataset" },
};

struct writer {
    const struct origin *origin;
    const char *card_key;
    uint64_t total_params;
    struct wfs_kv_list *kv;
    struct wfs_error *err;
    uint32_t index;
};

static void put(const struct writer *w, const char *field, const char *text)
{
    char key[96];

    snprintf(key, sizeof key, "%s.%u.%s", w->origin->prefix, w->index, field);
    wfs_metadata_text(w->kv, key, text);
}

static int put_title(const struct writer *w, const char *field, const char *text)
{
    WFS_CLEANUP(wfs_free) char *title = text ? wfs_naming_title(text) : NULL;

    if (!text)
        return 0;
    if (!title)
        return wfs_error_set(w->err, ENOMEM, "out of memory");
    put(w, field, title);
    return 0;
}

/* The model id in https?://huggingface.co/ORG/NAME, or NULL. (The dot is any character in the reference's pattern.) */
static const char *hub_id(const char *url)
{
    static const char host[] = "huggingface", domain[] = "co/";
    const char *p = url, *slash;
    size_t n;

    if (strncmp(p, "http", 4) != 0)
        return NULL;
    p += 4;
    p += *p == 's';
    if (strncmp(p, "://", 3) != 0 || strncmp(p + 3, host, sizeof host - 1) != 0)
        return NULL;
    p += 3 + sizeof host - 1;
    if (*p == '\0' || *p == '\n')
        return NULL;
    for (p++; ((unsigned char)*p & 0xc0) == 0x80;)
        p++;
    if (strncmp(p, domain, sizeof domain - 1) != 0)
        return NULL;
    p += sizeof domain - 1;
    n = strcspn(p, "/");
    slash = p + n;
    return n && *slash && slash[1] && !strchr(slash + 1, '/') ? p : NULL;
}

/* One entry that is a text: a URL or a model id. The keys stand in the reference's order: name, version, organization,
 * url. */
static int put_id(const struct writer *w, const char *text)
{
    bool url = wfs_starts_with(text, "http://") || wfs_starts_with(text, "https://") || wfs_starts_with(text, "ssh://");
    const char *id = !url ? text : strstr(text, "huggingface.co") ? hub_id(text) : NULL;
    struct wfs_model_id parts = { NULL, NULL, NULL, NULL, NULL, NULL };
    char *repo = NULL;
    int r = id ? wfs_naming_split(id, w->total_params, &parts) : 0;

    if (r < 0)
        return wfs_error_set(w->err, -r, "README.md: \"%s\": %s", w->card_key,
                             r == -ENOMEM ? "out of memory" : "not UTF-8");
    r = put_title(w, "name", parts.name);
    if (r == 0 && parts.version)
        put(w, "version", parts.version);
    if (r == 0)
        r = put_title(w, "organization", parts.organization);
    if (r == 0 && url) {
        put(w, "repo_url", text);
    } else if (r == 0 && parts.organization && parts.name) {
        if (asprintf(&repo, "https://huggingface.co/%s/%s", parts.organization, parts.name) < 0)
            r = wfs_error_set(w->err, ENOMEM, "out of memory");
        else
            put(w, "repo_url", repo);
    }
    free(repo);
    wfs_model_id_done(&parts);
    return r;
}

/* One entry that is a mapping: its values as they stand. */
static int put_dict(const struct writer *w, const struct wfs_yaml_node *dict)
{
    static const char *const fields[] = { "name", "author", "version", "organization", "description",
                                          "url",  "doi",    "uuid",    "repo_url" };
    char key[96];
    int r = 0;

    for (size_t i = 0; i < sizeof fields / sizeof *fields && r == 0; i++) {
        const struct wfs_yaml_node *v = wfs_yaml_get(dict, fields[i]);

        snprintf(key, sizeof key, "%s.%u.%s", w->origin->prefix, w->index, fields[i]);
        if (v)
            r = wfs_metadata_node(w->kv, key, v, w->card_key, w->err);
    }
    return r;
}

static int put_entry(const struct writer *w, const struct wfs_yaml_node *entry)
{
    if (entry->kind == WFS_YAML_STRING)
        return put_id(w, entry->text);
    return entry->kind == WFS_YAML_DICT ? put_dict(w, entry) : 0;
}

static int put_origin(struct writer *w, const struct wfs_yaml_node *card)
{
    const struct wfs_yaml_node *value = NULL;
    char key[96];
    size_t n;
    int r = 0;

    for (size_t i = 0; i < 3 && !value; i++) {
        w->card_key = w->origin->keys[i];
        value = wfs_yaml_get(card, w->card_key);
    }
    if (!value)
        return 0;
    n = value->kind == WFS_YAML_LIST ? value->n : value->kind == WFS_YAML_STRING;
    snprintf(key, sizeof key, "%s.count", w->origin->prefix);
    wfs_kv_u32(w->kv, key, (uint32_t)n);
    for (w->index = 0; w->index < n && r == 0; w->index++)
        r = put_entry(w, value->kind == WFS_YAML_LIST ? value->items[w->index] : value);
    return r;
}

int wfs_lineage_write(const struct wfs_yaml_node *card, uint64_t total_params, struct wfs_kv_list *kv,
                      struct wfs_error *err)
{
    int r = 0;

    for (size_t i = 0; i < sizeof origins / sizeof *origins && r == 0; i++) {
        struct writer w = { .origin = &origins[i], .total_params = total_params, .kv = kv, .err = err };

        r = put_origin(&w, card);
    }
    return r;
}
