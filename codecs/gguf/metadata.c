#include "metadata.h"
#include "../base/cleanup.h"
#include "../base/utf8.h"
#include "card.h"
#include "naming.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum field {
    NAME,
    AUTHOR,
    VERSION,
    ORGANIZATION,
    FINETUNE,
    BASENAME,
    DESCRIPTION,
    SIZE_LABEL,
    LICENSE,
    LICENSE_NAME,
    LICENSE_LINK,
    SOURCE_URL,
    SOURCE_DOI,
    SOURCE_UUID,
    SOURCE_REPO_URL,
    FIELD_COUNT
};

/* The GGUF keys in the order in which they are written. */
static const char *const keys[FIELD_COUNT] = {
    [NAME] = "general.name",
    [AUTHOR] = "general.author",
    [VERSION] = "general.version",
    [ORGANIZATION] = "general.organization",
    [FINETUNE] = "general.finetune",
    [BASENAME] = "general.basename",
    [DESCRIPTION] = "general.description",
    [SIZE_LABEL] = "general.size_label",
    [LICENSE] = "general.license",
    [LICENSE_NAME] = "general.license.name",
    [LICENSE_LINK] = "general.license.link",
    [SOURCE_URL] = "general.source.url",
    [SOURCE_DOI] = "general.source.doi",
    [SOURCE_UUID] = "general.source.uuid",
    [SOURCE_REPO_URL] = "general.source.repo_url",
};

/* Which key of a card gives which field; the first that is there and not empty counts. */
static const struct {
    enum field field;
    const char *card_key;
} card_rows[] = {
    { NAME, "name" },
    { AUTHOR, "author" },
    { VERSION, "version" },
    { ORGANIZATION, "organization" },
    { DESCRIPTION, "description" },
    { FINETUNE, "finetune" },
    { BASENAME, "basename" },
    { SIZE_LABEL, "size_label" },
    { SOURCE_URL, "url" },
    { SOURCE_DOI, "doi" },
    { SOURCE_UUID, "uuid" },
    { SOURCE_REPO_URL, "repo_url" },
    { NAME, "model_name" },
    { AUTHOR, "model_author" },
    { VERSION, "model_version" },
    { ORGANIZATION, "model_organization" },
    { DESCRIPTION, "model_description" },
    { FINETUNE, "model_finetune" },
    { BASENAME, "model_basename" },
    { SIZE_LABEL, "model_size_label" },
    { SOURCE_URL, "model_url" },
    { SOURCE_DOI, "model_doi" },
    { SOURCE_UUID, "model_uuid" },
    { SOURCE_REPO_URL, "model_repo_url" },
    { AUTHOR, "model_creator" },
    { BASENAME, "model_type" },
    { LICENSE, "license" },
    { LICENSE_NAME, "license_name" },
    { LICENSE_LINK, "license_link" },
};

/* The fields of a model: from the card as they stand there, or a text. */
struct metadata {
    struct {
        const struct wfs_yaml_node *node; /* of the card */
        const char *card_key;
        char *text; /* owned */
    } fields[FIELD_COUNT];
};

static void metadata_done(struct metadata *m)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        free(m->fields[i].text);
}

static bool is_set(const struct metadata *m, enum field f)
{
    return m->fields[f].node || m->fields[f].text;
}

static void take_from_card(struct metadata *m, const struct wfs_yaml_node *card)
{
    for (size_t i = 0; i < sizeof card_rows / sizeof *card_rows; i++) {
        const struct wfs_yaml_node *v = wfs_yaml_get(card, card_rows[i].card_key);

        if (v && v->kind != WFS_YAML_NULL && !is_set(m, card_rows[i].field)) {
            m->fields[card_rows[i].field].node = v;
            m->fields[card_rows[i].field].card_key = card_rows[i].card_key;
        }
    }
}

/* Sets a field to a copy of text (NULL = None, which sets nothing) unless it has a value. */
static int take_text(struct metadata *m, enum field f, const char *text, bool title)
{
    if (!text || is_set(m, f))
        return 0;
    m->fields[f].text = title ? wfs_naming_title(text) : strdup(text);
    return m->fields[f].text ? 0 : -ENOMEM;
}

/* What a model id (a folder's name or _name_or_path) says, for the fields that have no value yet. */
static int take_from_id(struct metadata *m, const char *id, uint64_t total_params)
{
    struct wfs_model_id parts;
    int r = wfs_naming_split(id, total_params, &parts);

    if (r < 0)
        return r;
    r = take_text(m, NAME, parts.name, true);
    if (r == 0)
        r = take_text(m, ORGANIZATION, parts.organization, true);
    if (r == 0)
        r = take_text(m, BASENAME, parts.basename, false);
    if (r == 0)
        r = take_text(m, FINETUNE, parts.finetune, false);
    if (r == 0)
        r = take_text(m, VERSION, parts.version, false);
    if (r == 0)
        r = take_text(m, SIZE_LABEL, parts.size_label, false);
    wfs_model_id_done(&parts);
    return r;
}

/* _name_or_path, if it is the name of a model rather than a path. */
static int take_from_config(struct metadata *m, const cJSON *config, uint64_t total_params, struct wfs_error *err)
{
    const cJSON *node = wfs_json_get(config, "_name_or_path");
    const char *text = wfs_json_string(node);
    size_t slashes = 0;
    int r;

    if (!node || cJSON_IsNull(node))
        return 0;
    if (!text)
        return wfs_error_set(err, EINVAL, "config.json: \"_name_or_path\" is not a string");
    for (const char *p = text; *p; p++)
        slashes += *p == '/';
    if (slashes > 1)
        return 0;
    r = take_from_id(m, text, total_params);
    return r < 0 ? wfs_error_set(err, -r, "config.json: \"_name_or_path\" cannot be read as a name") : 0;
}

/* The last part of a path, as pathlib has it ("" for "/"). malloc'ed. */
static char *last_part(const char *path)
{
    size_t end = strlen(path), from;

    while (end > 0 && path[end - 1] == '/')
        end--;
    for (from = end; from > 0 && path[from - 1] != '/'; from--)
        ;
    return strndup(path + from, end - from);
}

static int take_from_folder(struct metadata *m, const char *path, uint64_t total_params, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *name = last_part(path);
    int r = name ? take_from_id(m, name, total_params) : -ENOMEM;

    if (r == -EINVAL)
        return wfs_error_set(err, EILSEQ, "the folder's name is not UTF-8, which GGUF metadata must be");
    return r < 0 ? wfs_error_set(err, ENOMEM, "out of memory") : 0;
}

void wfs_metadata_text(struct wfs_kv_list *kv, const char *key, const char *text)
{
    struct wfs_buf b = WFS_BUF_INIT;

    if (*text == '\0')
        return;
    for (const char *p = text; *p; p++) {
        bool nul = p[0] == '\xc0' && p[1] == '\x80';

        wfs_buf_u8(&b, nul ? 0 : (uint8_t)*p);
        p += nul;
    }
    if (b.failed)
        kv->failed = true;
    else
        wfs_kv_string(kv, key, (const char *)b.data, b.len);
    wfs_buf_done(&b);
}

int wfs_metadata_node(struct wfs_kv_list *kv, const char *key, const struct wfs_yaml_node *node, const char *card_key,
                      struct wfs_error *err)
{
    if (!wfs_yaml_is_true(node))
        return 0;
    if (node->kind != WFS_YAML_STRING)
        return wfs_error_set(err, EINVAL, "README.md: \"%s\" is %s where the converter needs a text", card_key,
                             wfs_yaml_kind_name(node));
    wfs_metadata_text(kv, key, node->text);
    return 0;
}

/* A list of licences is joined with commas. */
static int put_licenses(const struct wfs_yaml_node *list, struct wfs_kv_list *kv, struct wfs_error *err)
{
    struct wfs_buf b = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_free) char *text = NULL;

    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i]->kind != WFS_YAML_STRING) {
            wfs_buf_done(&b);
            return wfs_error_set(err, EINVAL, "README.md: \"license\" holds %s where the converter needs a text",
                                 wfs_yaml_kind_name(list->items[i]));
        }
        if (i > 0)
            wfs_buf_str(&b, ",");
        wfs_buf_str(&b, list->items[i]->text);
    }
    text = (char *)wfs_buf_steal(&b, NULL);
    if (!text)
        return wfs_error_set(err, ENOMEM, "out of memory");
    wfs_metadata_text(kv, keys[LICENSE], text);
    return 0;
}

static int put_fields(const struct metadata *m, struct wfs_kv_list *kv, struct wfs_error *err)
{
    int r = 0;

    for (size_t i = 0; i < FIELD_COUNT && r == 0; i++) {
        const struct wfs_yaml_node *node = m->fields[i].node;

        if (m->fields[i].text)
            wfs_metadata_text(kv, keys[i], m->fields[i].text);
        else if (node && i == LICENSE && node->kind == WFS_YAML_LIST)
            r = put_licenses(node, kv, err);
        else if (node)
            r = wfs_metadata_node(kv, keys[i], node, m->fields[i].card_key, err);
    }
    return r;
}

/* An array under construction: its elements have the type of the first. */
struct array {
    enum wfs_gguf_value_type type;
    uint64_t n;
    struct wfs_buf items;
};

static int add_element(struct array *a, const struct wfs_yaml_node *node, const char *card_key, struct wfs_error *err)
{
    static const struct {
        enum wfs_yaml_kind kind;
        enum wfs_gguf_value_type type;
    } types[] = { { WFS_YAML_STRING, WFS_GGUF_STRING },
                  { WFS_YAML_FLOAT, WFS_GGUF_F32 },
                  { WFS_YAML_BOOL, WFS_GGUF_BOOL },
                  { WFS_YAML_INT, WFS_GGUF_I32 } };
    size_t t = 0;

    if (node->kind == WFS_YAML_LIST) /* the converter would write an array of arrays, which llama.cpp does not read */
        return wfs_error_set(err, ENOTSUP, "README.md: \"%s\" holds a list in a list, which is not supported",
                             card_key);
    while (t < sizeof types / sizeof *types && types[t].kind != node->kind)
        t++;
    if (t == sizeof types / sizeof *types || (a->n && types[t].type != a->type) ||
        (node->kind == WFS_YAML_INT && (node->i < INT32_MIN || node->i > INT32_MAX)) ||
        (node->kind == WFS_YAML_FLOAT && isinf((float)node->f) && !isinf(node->f)))
        return wfs_error_set(err, EINVAL, "README.md: \"%s\" holds %s, which the converter cannot write%s", card_key,
                             wfs_yaml_kind_name(node), a->n ? " next to values of another type" : "");
    a->type = types[t].type;
    a->n++;
    if (node->kind == WFS_YAML_STRING) {
        struct wfs_kv_list one;

        wfs_kv_init(&one);
        wfs_metadata_text(&one, "", node->text);
        if (one.count)
            wfs_buf_put(&a->items, one.items[0].value, one.items[0].value_len);
        else
            wfs_kv_array_string(&a->items, "", 0);
        a->items.failed |= one.failed;
        wfs_kv_done(&one);
    } else if (node->kind == WFS_YAML_FLOAT) {
        wfs_buf_f32le(&a->items, (float)node->f);
    } else if (node->kind == WFS_YAML_BOOL) {
        wfs_buf_u8(&a->items, (uint8_t)node->i);
    } else {
        wfs_buf_u32le(&a->items, (uint32_t)node->i);
    }
    return 0;
}

/* An array key from two keys of the card, each a text or a list; other values count as nothing. */
static int put_array(const struct wfs_yaml_node *card, const char *const card_keys[2], const char *key,
                     struct wfs_kv_list *kv, struct wfs_error *err)
{
    struct array a = { WFS_GGUF_STRING, 0, WFS_BUF_INIT };
    int r = 0;

    for (size_t k = 0; k < 2; k++) {
        const struct wfs_yaml_node *v = wfs_yaml_get(card, card_keys[k]);

        if (v && v->kind == WFS_YAML_STRING)
            r = add_element(&a, v, card_keys[k], err);
        for (size_t i = 0; v && v->kind == WFS_YAML_LIST && i < v->n && r == 0; i++)
            r = add_element(&a, v->items[i], card_keys[k], err);
        if (r < 0) {
            wfs_buf_done(&a.items);
            return r;
        }
    }
    if (a.n)
        wfs_kv_array(kv, key, a.type, a.n, &a.items);
    wfs_buf_done(&a.items);
    return 0;
}

/* Where the fields come from, in the order of precedence. */
static int gather(struct metadata *m, const struct wfs_folder *folder, const char *model_name, uint64_t total_params,
                  const cJSON *config, const struct wfs_yaml_node *card, struct wfs_error *err)
{
    char label[WFS_SIZE_LABEL_BYTES];
    int r;

    take_from_card(m, card);
    r = take_from_config(m, config, total_params, err);
    if (r == 0)
        r = take_from_folder(m, folder->path, total_params, err);
    if (r < 0)
        return r;
    if (model_name) {
        free(m->fields[NAME].text);
        m->fields[NAME].node = NULL;
        m->fields[NAME].text = NULL;
        if (wfs_utf8_check(model_name, strlen(model_name)) != strlen(model_name))
            return wfs_error_set(err, EILSEQ, "model_name is not UTF-8");
        if (take_text(m, NAME, model_name, false) < 0)
            return wfs_error_set(err, ENOMEM, "out of memory");
    }
    if (total_params > 0) {
        wfs_naming_size_label(total_params, label);
        if (take_text(m, SIZE_LABEL, label, false) < 0)
            return wfs_error_set(err, ENOMEM, "out of memory");
    }
    return 0;
}

int wfs_metadata_write(const struct wfs_folder *folder, const char *model_name, uint64_t total_params,
                       const cJSON *config, struct wfs_kv_list *kv, struct wfs_error *err)
{
    static const char *const tags[2] = { "tags", "pipeline_tag" }, *const languages[2] = { "languages", "language" };
    WFS_CLEANUP(metadata_done) struct metadata m;
    struct wfs_yaml *doc = NULL;
    const struct wfs_yaml_node *card;
    int r = wfs_card_read(folder, &doc, err);

    memset(&m, 0, sizeof m);
    if (r < 0)
        return r;
    card = doc ? wfs_yaml_root(doc) : NULL;
    wfs_kv_string(kv, "general.type", "model", 5);
    r = gather(&m, folder, model_name, total_params, config, card, err);
    if (r == 0)
        r = wfs_sampling_write(folder, kv, err);
    if (r == 0)
        r = put_fields(&m, kv, err);
    if (r == 0)
        r = wfs_lineage_write(card, total_params, kv, err);
    if (r == 0)
        r = put_array(card, tags, "general.tags", kv, err);
    if (r == 0)
        r = put_array(card, languages, "general.languages", kv, err);
    wfs_yaml_free(doc);
    return r;
}
