/*
 * What AutoTokenizer.from_pretrained of transformers 4.57.6 makes of a tokenizer.json. Source: tokenization_auto.py,
 * tokenization_utils_base.py (_from_pretrained), tokenization_utils_fast.py and the classes named below.
 */
#include "../base/cleanup.h"
#include "hf.h"
#include "pyjson.h"

#include <errno.h>
#include <stdlib.h>

/* The special tokens that every class has, in the order in which transformers goes through them. */
enum attribute { BOS, EOS, UNK, SEP, PAD, CLS, MASK, N_ATTRIBUTES };

static const char *const attribute_names[N_ATTRIBUTES] = { "bos_token", "eos_token", "unk_token", "sep_token",
                                                           "pad_token", "cls_token", "mask_token" };

struct class {
    const char *name; /* without "Fast" */
    const char *defaults[N_ATTRIBUTES];
    bool own_template;   /* rewrites the post-processor from bos and eos */
    bool makes_added;    /* strings become AddedToken(special, not normalized) */
    bool prefix_default_none; /* add_prefix_space is None when not given, and given it asks for the slow tokenizer */
    bool infill;         /* CodeLlama's four tokens */
};

static const struct class classes[] = {
    { .name = "PreTrainedTokenizer" },
    { .name = "LlamaTokenizer",
      .defaults = { [BOS] = "<s>", [EOS] = "</s>", [UNK] = "<unk>" },
      .own_template = true,
      .prefix_default_none = true },
    { .name = "CodeLlamaTokenizer",
      .defaults = { [BOS] = "<s>", [EOS] = "</s>", [UNK] = "<unk>" },
      .own_template = true,
      .infill = true },
    { .name = "Qwen2Tokenizer",
      .defaults = { [EOS] = "<|endoftext|>", [UNK] = "<|endoftext|>", [PAD] = "<|endoftext|>" },
      .makes_added = true },
    { .name = "GPT2Tokenizer",
      .defaults = { [BOS] = "<|endoftext|>", [EOS] = "<|endoftext|>", [UNK] = "<|endoftext|>" } },
};

/* The class of a model that names none. Source: TOKENIZER_MAPPING_NAMES. */
static const struct {
    const char *model_type, *class;
} class_of_model[] = {
    { "llama", "LlamaTokenizer" }, { "mistral", "LlamaTokenizer" }, { "code_llama", "CodeLlamaTokenizer" },
    { "qwen2", "Qwen2Tokenizer" }, { "qwen3", "Qwen2Tokenizer" },
};

/* A token as transformers holds it: a string, or an AddedToken whose "normalized" may be left open. */
struct value {
    const char *text; /* NULL = None */
    bool added;
    unsigned flags; /* of enum wfs_added_flags */
    bool normalized_given;
    int64_t id; /* of added_tokens_decoder */
};

struct loading {
    struct wfs_hf *hf;
    struct wfs_tokenizer_files *files;
    const cJSON *config; /* tokenizer_config.json; NULL = none */
    const cJSON *map;    /* special_tokens_map.json when it counts; NULL = not */
    const struct class *class;
    struct value attributes[N_ATTRIBUTES];
    struct wfs_buf more;    /* of struct value: additional_special_tokens and extra_special_tokens */
    struct wfs_buf decoder; /* of struct value: added_tokens_decoder */
    struct wfs_map by_content; /* of decoder: content -> index, the last */
};

static void loading_done(struct loading *l)
{
    wfs_buf_done(&l->more);
    wfs_buf_done(&l->decoder);
    wfs_map_done(&l->by_content);
}

static int find_class(struct loading *l, struct wfs_error *err)
{
    const cJSON *config, *class = wfs_json_get(l->config, "tokenizer_class");
    const char *name = wfs_json_string(class), *where = "tokenizer_config.json";
    size_t n;
    int r;

    if (!name) {
        where = "config.json";
        r = wfs_tokenizer_files_get(l->files, WFS_FILE_CONFIG, &config, err);
        if (r < 0)
            return r;
        if (wfs_py_is_none(class))
            class = wfs_json_get(config, "tokenizer_class");
        name = wfs_json_string(class);
        if (!name && !wfs_py_is_none(class))
            return wfs_error_set(err, EINVAL, "tokenizer_config.json or config.json: tokenizer_class is not a string");
        for (size_t i = 0; !name && i < sizeof class_of_model / sizeof *class_of_model; i++) {
            const char *type = wfs_json_string(wfs_json_get(config, "model_type"));

            if (type && strcmp(type, class_of_model[i].model_type) == 0)
                name = class_of_model[i].class;
        }
    }
    if (!name)
        return wfs_error_set(err, ENOTSUP,
                             "neither tokenizer_config.json nor config.json says which tokenizer_class it is");
    n = strlen(name);
    if (n > 4 && strcmp(name + n - 4, "Fast") == 0)
        n -= 4;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strlen(classes[i].name) == n && strncmp(classes[i].name, name, n) == 0) {
            l->class = &classes[i];
            return 0;
        }
    }
    return wfs_error_set(err, ENOTSUP, "%s: the tokenizer_class '%s' is not supported", where, name);
}

/* AddedToken(**object) */
static int added_token(const cJSON *o, const char *file, struct value *ret, struct wfs_error *err)
{
    const cJSON *content = wfs_json_get(o, "content");

    if (!cJSON_IsObject(o) || (!wfs_py_is_none(content) && !cJSON_IsString(content)))
        return wfs_error_set(err, EINVAL, "%s: an added token that is no object with a content", file);
    *ret = (struct value){ .text = cJSON_IsString(content) ? content->valuestring : "", .added = true };
    for (size_t i = 0; i < WFS_ADDED_N_FLAGS; i++) {
        const cJSON *v = wfs_json_get(o, wfs_added_flags[i].key);

        if (v && !cJSON_IsBool(v))
            return wfs_error_set(err, EINVAL, "%s: the added token '%s': %s is not a boolean", file, ret->text,
                                 wfs_added_flags[i].key);
        ret->flags |= cJSON_IsTrue(v) ? wfs_added_flags[i].flag : 0;
        ret->normalized_given |= v && wfs_added_flags[i].flag == WFS_ADDED_NORMALIZED;
    }
    return 0;
}

static unsigned flags_of(const struct value *v, bool special)
{
    unsigned flags = v->flags & ~(unsigned)WFS_ADDED_SPECIAL;

    if (!v->normalized_given)
        flags = special ? flags & ~(unsigned)WFS_ADDED_NORMALIZED : flags | WFS_ADDED_NORMALIZED;
    return special ? flags | WFS_ADDED_SPECIAL : flags;
}

/*
 * One special token of a file: null, a string, or an object (from the map any, in the config one marked as AddedToken).
 */
static int special_value(const cJSON *v, const char *key, bool from_map, struct value *ret, struct wfs_error *err)
{
    const char *file = from_map ? "special_tokens_map.json" : "tokenizer_config.json";
    const char *type = wfs_json_string(wfs_json_get(v, "__type"));
    int r;

    *ret = (struct value){ .text = NULL };
    if (wfs_py_is_none(v))
        return 0;
    if (cJSON_IsString(v)) {
        ret->text = v->valuestring;
        return 0;
    }
    if (!from_map && !(type && strcmp(type, "AddedToken") == 0))
        return wfs_error_set(err, EINVAL, "%s: %s is neither a string nor an AddedToken", file, key);
    r = added_token(v, file, ret, err);
    if (from_map)
        ret->flags |= WFS_ADDED_SPECIAL;
    return r;
}

static int put_value(struct wfs_buf *list, const struct value *v, struct wfs_error *err)
{
    wfs_buf_put(list, v, sizeof *v);
    return list->failed ? wfs_error_nomem(err) : 0;
}

static int more_values(struct loading *l, const cJSON *list, bool from_map, struct wfs_error *err)
{
    const char *key = "additional_special_tokens";
    struct value v;
    int r = 0;

    if (wfs_py_is_none(list))
        return 0;
    if (!cJSON_IsArray(list))
        return wfs_error_set(err, EINVAL, "%s: not a list", key);
    for (const cJSON *o = list->child; o && r == 0; o = o->next) {
        r = special_value(o, key, from_map, &v, err);
        if (r == 0 && !v.text)
            r = wfs_error_set(err, EINVAL, "%s: null in the list", key);
        if (r == 0)
            r = put_value(&l->more, &v, err);
    }
    return r;
}

/* The special tokens that the files name, before the class adds its own. */
static int read_attributes(struct loading *l, bool given[N_ATTRIBUTES], struct wfs_error *err)
{
    const cJSON *more = wfs_json_get(l->config, "additional_special_tokens");
    int r = 0;

    for (int a = 0; a < N_ATTRIBUTES && r == 0; a++) {
        const cJSON *from_map = wfs_json_get(l->map, attribute_names[a]);
        const cJSON *v = from_map ? from_map : wfs_json_get(l->config, attribute_names[a]);

        given[a] = v != NULL;
        r = special_value(v, attribute_names[a], from_map != NULL, &l->attributes[a], err);
    }
    if (r == 0)
        r = more_values(l, more, false, err);
    if (r == 0)
        r = more_values(l, wfs_json_get(l->map, "additional_special_tokens"), true, err);
    return r;
}

static bool is_attribute_text(const struct loading *l, const char *text)
{
    const struct value *more = (const void *)l->more.data;

    for (int a = 0; a < N_ATTRIBUTES; a++) {
        if (l->attributes[a].text && strcmp(l->attributes[a].text, text) == 0)
            return true;
    }
    for (size_t i = 0; i < l->more.len / sizeof *more; i++) {
        if (strcmp(more[i].text, text) == 0)
            return true;
    }
    return false;
}

static int put_decoder(struct loading *l, const struct value *v, struct wfs_error *err)
{
    if (strlen(v->text) > WFS_ADDED_MAX_LEN || l->decoder.len / sizeof *v >= WFS_ADDED_MAX)
        return wfs_error_set(err, EFBIG, "added tokens: more than %d, or one of more than %d bytes", WFS_ADDED_MAX,
                             WFS_ADDED_MAX_LEN);
    if (wfs_map_set(&l->by_content, v->text, strlen(v->text), (uint32_t)(l->decoder.len / sizeof *v)) < 0)
        return wfs_error_nomem(err);
    return put_value(&l->decoder, v, err);
}

/* added_tokens_decoder of tokenizer_config.json; without one, added_tokens.json and tokenizer.json stand in for it. */
static int read_decoder(struct loading *l, struct wfs_error *err)
{
    const cJSON *decoder = wfs_json_get(l->config, "added_tokens_decoder"), *list;
    struct value v;
    int r;

    if (decoder) {
        if (!cJSON_IsObject(decoder))
            return wfs_error_set(err, EINVAL, "tokenizer_config.json: added_tokens_decoder is not an object");
        for (const cJSON *o = decoder->child; o; o = o->next) {
            r = added_token(o, "tokenizer_config.json", &v, err);
            if (r == 0 && !wfs_py_int(o->string, &v.id))
                r = wfs_error_set(err, EINVAL, "tokenizer_config.json: added_tokens_decoder: '%s' is not an id",
                                  o->string);
            if (r == 0)
                r = put_decoder(l, &v, err);
            if (r < 0)
                return r;
        }
        return 0;
    }
    r = wfs_tokenizer_files_get(l->files, WFS_FILE_ADDED_TOKENS, &list, err);
    for (const cJSON *o = list && r == 0 ? list->child : NULL; o && r == 0; o = o->next) {
        v = (struct value){ .text = o->string, .added = true, .normalized_given = true };
        v.flags = is_attribute_text(l, o->string) ? WFS_ADDED_SPECIAL : WFS_ADDED_NORMALIZED;
        if (!wfs_json_i64(o, &v.id))
            r = wfs_error_set(err, EINVAL, "added_tokens.json: the id of '%s' is not an integer", o->string);
        else
            r = put_decoder(l, &v, err);
    }
    list = wfs_json_get(l->hf->json, "added_tokens");
    if (r == 0 && !list)
        r = wfs_error_set(err, EINVAL, "tokenizer.json: no added_tokens");
    for (const cJSON *o = list && r == 0 ? list->child : NULL; o && r == 0; o = o->next) {
        r = added_token(o, "tokenizer.json", &v, err);
        wfs_json_i64(wfs_json_get(o, "id"), &v.id);
        if (r == 0)
            r = put_decoder(l, &v, err);
    }
    return r;
}

static int compare_ids(const void *va, const void *vb)
{
    const struct value *const *a = va, *const *b = vb;

    if ((*a)->id != (*b)->id)
        return (*a)->id < (*b)->id ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

/* Gives each attribute the class's default, and the flags that added_tokens_decoder has for its text. */
static int settle_attributes(struct loading *l, const bool given[N_ATTRIBUTES], struct wfs_error *err)
{
    static const struct {
        const char *key, *text;
    } infill[] = {
        { "prefix_token", "\xe2\x96\x81<PRE>" },
        { "middle_token", "\xe2\x96\x81<MID>" },
        { "suffix_token", "\xe2\x96\x81<SUF>" },
        { "eot_token", "\xe2\x96\x81<EOT>" },
    };
    const cJSON *padding = wfs_json_get(l->hf->json, "padding");
    const struct value *decoder = (const void *)l->decoder.data;
    int r = 0;

    for (int a = 0; a < N_ATTRIBUTES; a++) {
        struct value *v = &l->attributes[a];
        uint32_t i;

        if (v->text && wfs_map_get(&l->by_content, v->text, strlen(v->text), &i))
            *v = decoder[i];
        if (!given[a])
            v->text = l->class->defaults[a];
        if (!given[a] && a == PAD && !l->class->makes_added && cJSON_IsObject(padding))
            v->text = wfs_json_string(wfs_json_get(padding, "pad_token"));
        if (l->class->makes_added && v->text && !v->added && (a == BOS || a == EOS || a == UNK || a == PAD))
            *v = (struct value){ .text = v->text, .added = true, .flags = WFS_ADDED_SPECIAL, .normalized_given = true };
    }
    for (size_t i = 0; l->class->infill && i < sizeof infill / sizeof *infill && r == 0; i++) {
        const cJSON *o = wfs_json_get(l->config, infill[i].key);
        struct value v = { .text = infill[i].text };

        if (o)
            r = special_value(o, infill[i].key, false, &v, err);
        if (r == 0 && v.text)
            r = put_value(&l->more, &v, err);
    }
    return r;
}

static int extra_tokens(struct loading *l, struct wfs_error *err)
{
    const cJSON *extra = wfs_json_get(l->config, "extra_special_tokens");
    struct value v;
    int r = 0;

    if (!extra)
        return 0;
    if (!cJSON_IsObject(extra))
        return wfs_error_set(err, EINVAL,
                             "tokenizer_config.json: extra_special_tokens is no object; transformers 4.57.6, "
                             "with which the converter runs, cannot load that");
    for (const cJSON *o = extra->child; o && r == 0; o = o->next) {
        r = special_value(o, o->string, false, &v, err);
        if (r == 0 && !v.text)
            r = wfs_error_set(err, EINVAL, "tokenizer_config.json: extra_special_tokens: %s is null", o->string);
        if (r == 0)
            r = put_value(&l->more, &v, err);
    }
    return r;
}

/* Lists all special tokens, each text once. */
static int list_specials(struct loading *l, struct wfs_buf *values, struct wfs_map *seen, struct wfs_error *err)
{
    const struct value *more = (const void *)l->more.data;
    size_t n_more = l->more.len / sizeof *more;

    for (size_t i = 0; i < N_ATTRIBUTES + n_more; i++) {
        const struct value *v = i < N_ATTRIBUTES ? &l->attributes[i] : &more[i - N_ATTRIBUTES];
        int r;

        if (!v->text || (!v->added && !*v->text))
            continue;
        r = wfs_map_add(seen, v->text, strlen(v->text), 0, NULL);
        if (r == 1) {
            wfs_buf_put(&l->hf->specials, &v->text, sizeof v->text);
            r = put_value(values, v, err);
        }
        if (r < 0 || l->hf->specials.failed)
            return wfs_error_nomem(err);
    }
    return 0;
}

static void put_token(struct wfs_buf *tokens, const struct value *v, bool special)
{
    struct wfs_added_token t = { .content = v->text, .len = (uint32_t)strlen(v->text), .flags = flags_of(v, special) };

    wfs_buf_put(tokens, &t, sizeof t);
}

/*
 * The tokens of added_tokens_decoder by their ids, then the special tokens that are no AddedToken with a known text.
 * All that is named as a special token becomes special.
 */
static int add_tokens(struct loading *l, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf specials = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf tokens = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_map_done) struct wfs_map seen;
    const struct value *v = (const void *)l->decoder.data;
    size_t n = l->decoder.len / sizeof *v;
    WFS_CLEANUP(wfs_free) const struct value **order = malloc((n + 1) * sizeof *order);
    uint32_t i32;
    int r;

    wfs_map_init(&seen);
    r = order ? list_specials(l, &specials, &seen, err) : wfs_error_nomem(err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        order[i] = &v[i];
    if (n)
        qsort(order, n, sizeof *order, compare_ids);
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && order[i + 1]->id == order[i]->id)
            continue; /* a later one of the same id has taken its place */
        put_token(&tokens, order[i],
                  order[i]->flags & WFS_ADDED_SPECIAL ||
                      wfs_map_get(&seen, order[i]->text, strlen(order[i]->text), &i32));
    }
    v = (const void *)specials.data;
    for (size_t i = 0; i < specials.len / sizeof *v; i++) {
        size_t len = strlen(v[i].text);

        if (len > WFS_ADDED_MAX_LEN)
            return wfs_error_set(err, EFBIG, "a special token of more than %d bytes", WFS_ADDED_MAX_LEN);
        if (v[i].added || (!wfs_added_find(&l->hf->added, v[i].text, len) &&
                           !wfs_map_get(&l->by_content, v[i].text, len, &i32)))
            put_token(&tokens, &v[i], true);
    }
    if (tokens.failed)
        return wfs_error_nomem(err);
    return wfs_added_add(&l->hf->added, &l->hf->bpe.vocab, (const void *)tokens.data,
                         tokens.len / sizeof(struct wfs_added_token), err);
}

static int template_token(struct loading *l, enum attribute a, const char *option, uint32_t *ret_id,
                          struct wfs_error *err)
{
    const char *text = l->attributes[a].text, *unk = l->attributes[UNK].text;

    if (!text)
        return wfs_error_set(err, EINVAL, "tokenizer_config.json: %s asks for a %s, and there is none (the reference "
                             "refuses that)", option, attribute_names[a]);
    if (!*text || *text == '$' || strpbrk(text, " :"))
        return wfs_error_set(err, EINVAL, "tokenizer_config.json: the %s '%s' cannot stand in a template",
                             attribute_names[a], text);
    if (wfs_hf_id(l->hf, text, ret_id) || (unk && wfs_hf_id(l->hf, unk, ret_id)))
        return 0;
    return wfs_error_set(err, EINVAL, "tokenizer_config.json: the %s '%s' has no id", attribute_names[a], text);
}

static int apply_template(struct loading *l, struct wfs_error *err)
{
    const cJSON *add_bos = wfs_json_get(l->config, "add_bos_token");
    struct wfs_hf *hf = l->hf;
    int r = 0;

    hf->own_template = l->class->own_template;
    if (!hf->own_template)
        return 0;
    hf->add_bos = !add_bos || wfs_py_truthy(add_bos);
    hf->add_eos = wfs_py_truthy(wfs_json_get(l->config, "add_eos_token"));
    if (hf->add_bos)
        r = template_token(l, BOS, "add_bos_token", &hf->bos_id, err);
    if (r == 0 && hf->add_eos)
        r = template_token(l, EOS, "add_eos_token", &hf->eos_id, err);
    return r;
}

/* Members of tokenizer_config.json that change nothing here, but whose form makes transformers raise. */
static int check_forms(const cJSON *config, struct wfs_error *err)
{
    const cJSON *templates = wfs_json_get(config, "chat_template"), *auto_map = wfs_json_get(config, "auto_map");
    const cJSON *max_length = wfs_json_get(config, "model_max_length");

    if (cJSON_IsString(max_length) || cJSON_IsArray(max_length) || cJSON_IsObject(max_length))
        return wfs_error_set(err, EINVAL, "tokenizer_config.json: model_max_length is not a number");
    if (auto_map && !cJSON_IsObject(auto_map))
        return wfs_error_set(err, ENOTSUP, "tokenizer_config.json: auto_map is not an object");
    for (const cJSON *t = cJSON_IsArray(templates) ? templates->child : NULL; t; t = t->next) {
        const cJSON *name = wfs_json_get(t, "name");

        if (!name || cJSON_IsArray(name) || cJSON_IsObject(name) || !wfs_json_get(t, "template"))
            return wfs_error_set(err, EINVAL,
                                 "tokenizer_config.json: chat_template: an entry without a name or a template");
    }
    return 0;
}

/* The members of tokenizer_config.json that change how a text is encoded. */
static int apply_options(struct loading *l, struct wfs_error *err)
{
    const cJSON *prefix = wfs_json_get(l->config, "add_prefix_space");
    const cJSON *clean = wfs_json_get(l->config, "clean_up_tokenization_spaces");
    struct wfs_hf *hf = l->hf;

    if ((l->class->prefix_default_none && !wfs_py_is_none(prefix)) ||
        wfs_py_truthy(wfs_json_get(l->config, "from_slow")))
        return wfs_error_set(err, EINVAL,
                             "tokenizer_config.json: %s makes transformers rebuild the tokenizer from a "
                             "tokenizer.model, and there is none",
                             wfs_py_is_none(prefix) ? "from_slow" : "add_prefix_space");
    if (wfs_py_truthy(wfs_json_get(l->config, "fix_mistral_regex")) && hf->bpe.vocab.n_tokens > 100000)
        return wfs_error_set(err, ENOTSUP, "tokenizer_config.json: fix_mistral_regex is not supported");
    if (wfs_json_get(l->config, "fast_tokenizer_files"))
        return wfs_error_set(err, ENOTSUP, "tokenizer_config.json: fast_tokenizer_files is not supported");
    if (cJSON_IsBool(prefix))
        hf->prefix_space = cJSON_IsTrue(prefix) ? WFS_PREFIX_SPACE_ON : WFS_PREFIX_SPACE_OFF;
    else if (!prefix && !l->class->prefix_default_none)
        hf->prefix_space = WFS_PREFIX_SPACE_OFF;
    hf->clean_up = wfs_py_truthy(clean);
    hf->split_special = wfs_py_truthy(wfs_json_get(l->config, "split_special_tokens"));
    return 0;
}

int wfs_hf_apply_class(struct wfs_hf *hf, struct wfs_tokenizer_files *files, struct wfs_error *err)
{
    WFS_CLEANUP(loading_done) struct loading l = {
        .hf = hf, .files = files, .more = WFS_BUF_INIT, .decoder = WFS_BUF_INIT
    };
    bool given[N_ATTRIBUTES];
    int r;

    wfs_map_init(&l.by_content);
    r = wfs_tokenizer_files_get(files, WFS_FILE_TOKENIZER_CONFIG, &l.config, err);
    if (r == 0 && !wfs_json_get(l.config, "added_tokens_decoder"))
        r = wfs_tokenizer_files_get(files, WFS_FILE_SPECIAL_TOKENS_MAP, &l.map, err);
    if (r == 0)
        r = find_class(&l, err);
    if (r == 0)
        r = check_forms(l.config, err);
    if (r == 0)
        r = apply_options(&l, err);
    if (r == 0)
        r = read_attributes(&l, given, err);
    if (r == 0)
        r = read_decoder(&l, err);
    if (r == 0)
        r = settle_attributes(&l, given, err);
    if (r == 0)
        r = extra_tokens(&l, err);
    if (r == 0)
        r = add_tokens(&l, err);
    if (r == 0)
        r = apply_template(&l, err);
    return r;
}
