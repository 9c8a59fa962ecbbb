/*
 * Whether the tokenizers library would take what stands in a tokenizer.json around its model. Parts that change no
 * byte of a GGUF count too: when the library refuses the file, the converter stops.
 *
 * Source: what tokenizers 0.22 accepts, asked with tests/vectors/make_parts.py. Parts without a type or with one
 * that is not here are refused, though the library guesses the type of some from their members.
 */
#include "hf.h"
#include "pyjson.h"
#include "regex.h"

#include <errno.h>
#include <string.h>

enum { MAX_NESTING = 16, MAX_MEMBERS = 6 };

enum member_kind {
    BOOLEAN,
    TEXT,
    CHARACTER, /* one code point */
    NUMBER,    /* 32 bits without sign */
    PATTERN,   /* { "String": text } or { "Regex": text } */
    BEHAVIOUR,
    SCHEME,
    PAIR, /* [token, id] */
    TEMPLATE,
    SPECIALS,
    SIDE,
    CUT,
    FILL, /* "BatchLongest" or { "Fixed": length } */
    SIZE,
    PARTS
};

enum { MAY_LACK = 1, MAY_BE_NULL = 2, OPTIONAL = MAY_LACK | MAY_BE_NULL };

struct member {
    const char *key;
    enum member_kind kind;
    unsigned flags;
};

struct part {
    const char *type;
    struct member members[MAX_MEMBERS];
};

#define NONE { { NULL, BOOLEAN, 0 } }
#define BYTE_LEVEL \
    { "ByteLevel", { { "add_prefix_space", BOOLEAN, 0 }, { "trim_offsets", BOOLEAN, 0 }, \
                     { "use_regex", BOOLEAN, MAY_LACK } } }
#define METASPACE \
    { "Metaspace", { { "replacement", CHARACTER, 0 }, { "prepend_scheme", SCHEME, MAY_LACK }, \
                     { "split", BOOLEAN, OPTIONAL }, { "add_prefix_space", BOOLEAN, OPTIONAL }, \
                     { "str_rep", TEXT, OPTIONAL } } }
#define REPLACE { "Replace", { { "pattern", PATTERN, 0 }, { "content", TEXT, 0 } } }
#define SEQUENCE(key) { "Sequence", { { key, PARTS, 0 } } }

static const struct part normalizers[] = {
    { "BertNormalizer", { { "clean_text", BOOLEAN, 0 }, { "handle_chinese_chars", BOOLEAN, 0 },
                          { "strip_accents", BOOLEAN, OPTIONAL }, { "lowercase", BOOLEAN, 0 } } },
    { "Strip", { { "strip_left", BOOLEAN, 0 }, { "strip_right", BOOLEAN, 0 } } },
    { "StripAccents", NONE }, { "NFC", NONE }, { "NFD", NONE }, { "NFKC", NONE },
    { "NFKD", NONE }, { "Lowercase", NONE }, { "Nmt", NONE }, { "ByteLevel", NONE },
    { "Prepend", { { "prepend", TEXT, 0 } } }, REPLACE, SEQUENCE("normalizers"), { NULL, NONE },
};

static const struct part pre_tokenizers[] = {
    BYTE_LEVEL, METASPACE, { "BertPreTokenizer", NONE }, { "Whitespace", NONE },
    { "WhitespaceSplit", NONE }, { "UnicodeScripts", NONE },
    { "CharDelimiterSplit", { { "delimiter", CHARACTER, 0 } } },
    { "Punctuation", { { "behavior", BEHAVIOUR, MAY_LACK } } },
    { "Digits", { { "individual_digits", BOOLEAN, 0 } } }, { "FixedLength", { { "length", NUMBER, MAY_LACK } } },
    { "Split", { { "pattern", PATTERN, 0 }, { "behavior", BEHAVIOUR, 0 }, { "invert", BOOLEAN, 0 } } },
    SEQUENCE("pretokenizers"), { NULL, NONE },
};

static const struct part post_processors[] = {
    BYTE_LEVEL, { "BertProcessing", { { "sep", PAIR, 0 }, { "cls", PAIR, 0 } } },
    { "RobertaProcessing", { { "sep", PAIR, 0 }, { "cls", PAIR, 0 }, { "trim_offsets", BOOLEAN, MAY_LACK },
                             { "add_prefix_space", BOOLEAN, MAY_LACK } } },
    { "TemplateProcessing", { { "single", TEMPLATE, 0 }, { "pair", TEMPLATE, 0 }, { "special_tokens", SPECIALS, 0 } } },
    SEQUENCE("processors"), { NULL, NONE },
};

static const struct part decoders[] = {
    BYTE_LEVEL, METASPACE, REPLACE, { "Fuse", NONE }, { "ByteFallback", NONE },
    { "BPEDecoder", { { "suffix", TEXT, 0 } } },
    { "WordPiece", { { "prefix", TEXT, 0 }, { "cleanup", BOOLEAN, 0 } } },
    { "CTC", { { "pad_token", TEXT, 0 }, { "word_delimiter_token", TEXT, 0 }, { "cleanup", BOOLEAN, 0 } } },
    { "Strip", { { "content", CHARACTER, 0 }, { "start", NUMBER, 0 }, { "stop", NUMBER, 0 } } },
    SEQUENCE("decoders"), { NULL, NONE },
};

/* What is no part of the chain and has no type. */
static const struct part truncation = { NULL, { { "direction", SIDE, MAY_LACK }, { "max_length", SIZE, 0 },
                                                { "strategy", CUT, 0 }, { "stride", SIZE, 0 } } };
static const struct part padding = { NULL, { { "strategy", FILL, 0 }, { "direction", SIDE, 0 },
                                             { "pad_to_multiple_of", SIZE, OPTIONAL }, { "pad_id", NUMBER, 0 },
                                             { "pad_type_id", NUMBER, 0 }, { "pad_token", TEXT, 0 } } };

static bool is_word(const char *text, const char *const *words)
{
    for (; text && *words; words++) {
        if (strcmp(text, *words) == 0)
            return true;
    }
    return false;
}

static bool is_id(const cJSON *value)
{
    uint64_t id;

    return wfs_json_is_int(value) && wfs_json_u64(value, &id) && id <= UINT32_MAX;
}

static bool is_one_of(const cJSON *value, const char *const *words)
{
    return is_word(wfs_json_string(value), words);
}

static bool is_size(const cJSON *value)
{
    uint64_t size;

    return wfs_json_is_int(value) && wfs_json_u64(value, &size);
}

static bool is_fill(const cJSON *value)
{
    static const char *const longest[] = { "BatchLongest", NULL };
    const cJSON *only = cJSON_IsObject(value) ? value->child : NULL;

    return is_one_of(value, longest) ||
           (only && !only->next && strcmp(only->string, "Fixed") == 0 && is_size(only));
}

static bool is_character(const cJSON *value)
{
    const char *text = wfs_json_string(value);
    size_t n = 0;

    for (; text && *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n == 1;
}

static bool is_pattern(const cJSON *value)
{
    const cJSON *only = cJSON_IsObject(value) ? value->child : NULL;

    return only && !only->next && cJSON_IsString(only) &&
           (strcmp(only->string, "String") == 0 || strcmp(only->string, "Regex") == 0);
}

/* The library compiles every pattern when it loads the file. */
static int check_regex(const char *pattern, struct wfs_error *err)
{
    struct wfs_regex *regex = NULL;
    int r = wfs_regex_new(pattern, WFS_REGEX_PATTERN, &regex, err);

    wfs_regex_free(regex);
    return r;
}

static bool is_pair(const cJSON *value)
{
    const cJSON *token = cJSON_IsArray(value) ? value->child : NULL;

    return cJSON_IsString(token) && is_id(token->next) && !token->next->next;
}

static bool is_template(const cJSON *value)
{
    static const char *const sequences[] = { "A", "B", NULL };

    if (!cJSON_IsArray(value))
        return false;
    for (const cJSON *piece = value->child; piece; piece = piece->next) {
        const cJSON *only = cJSON_IsObject(piece) ? piece->child : NULL;
        const cJSON *id = wfs_json_get(only, "id");
        bool sequence = only && strcmp(only->string, "Sequence") == 0;

        if (!only || only->next || !is_id(wfs_json_get(only, "type_id")))
            return false;
        if (sequence ? !is_one_of(id, sequences) : strcmp(only->string, "SpecialToken") != 0 || !cJSON_IsString(id))
            return false;
    }
    return true;
}

/* { name: { "id": text, "ids": [id …], "tokens": [text …] } } */
static bool is_specials(const cJSON *value)
{
    if (!cJSON_IsObject(value))
        return false;
    for (const cJSON *special = value->child; special; special = special->next) {
        const cJSON *ids = wfs_json_get(special, "ids"), *tokens = wfs_json_get(special, "tokens");

        if (!cJSON_IsString(wfs_json_get(special, "id")) || !cJSON_IsArray(ids) || !cJSON_IsArray(tokens))
            return false;
        for (ids = ids->child, tokens = tokens->child; ids && tokens; ids = ids->next, tokens = tokens->next) {
            if (!is_id(ids) || !cJSON_IsString(tokens))
                return false;
        }
        if (ids || tokens)
            return false;
    }
    return true;
}

struct slot {
    const char *key;
    const struct part *parts;
};

static int check_part(const struct slot *slot, const cJSON *value, unsigned nesting, struct wfs_error *err);

static int check_sequence(const struct slot *slot, const cJSON *list, unsigned nesting, struct wfs_error *err)
{
    int r = 0;

    if (!cJSON_IsArray(list) || nesting == MAX_NESTING)
        return wfs_error_set(err, EINVAL, "tokenizer.json: %s: a Sequence without a list, or nested too deep",
                             slot->key);
    for (const cJSON *value = list->child; value && r == 0; value = value->next)
        r = check_part(slot, value, nesting + 1, err);
    return r;
}

static bool is_sound(const struct member *m, const cJSON *value)
{
    static const char *const behaviours[] = { "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                              "Contiguous", NULL };
    static const char *const schemes[] = { "first", "never", "always", NULL };
    static const char *const sides[] = { "Left", "Right", NULL };
    static const char *const cuts[] = { "LongestFirst", "OnlyFirst", "OnlySecond", NULL };

    if (!value)
        return m->flags & MAY_LACK;
    if (cJSON_IsNull(value) && (m->flags & MAY_BE_NULL))
        return true;
    switch (m->kind) {
    case BOOLEAN:
        return cJSON_IsBool(value);
    case TEXT:
        return cJSON_IsString(value);
    case CHARACTER:
        return is_character(value);
    case NUMBER:
        return is_id(value);
    case PATTERN:
        return is_pattern(value);
    case BEHAVIOUR:
        return is_one_of(value, behaviours);
    case SCHEME:
        return is_one_of(value, schemes);
    case PAIR:
        return is_pair(value);
    case TEMPLATE:
        return is_template(value);
    case SPECIALS:
        return is_specials(value);
    case SIDE:
        return is_one_of(value, sides);
    case CUT:
        return is_one_of(value, cuts);
    case FILL:
        return is_fill(value);
    case SIZE:
        return is_size(value);
    case PARTS:
        break; /* check_sequence */
    }
    return false;
}

static int check_plain(const char *key, const struct part *part, const cJSON *value, struct wfs_error *err)
{
    for (const struct member *m = part->members; m < part->members + MAX_MEMBERS && m->key; m++) {
        if (!is_sound(m, wfs_json_get(value, m->key)))
            return wfs_error_set(err, EINVAL, "tokenizer.json: %s: '%s' is missing or not what it should be", key,
                                 m->key);
    }
    return 0;
}

static int check_part(const struct slot *slot, const cJSON *value, unsigned nesting, struct wfs_error *err)
{
    const char *type = wfs_json_string(wfs_json_get(value, "type"));
    const struct part *part = slot->parts;

    if (!type)
        return wfs_error_set(err, ENOTSUP, "tokenizer.json: %s: an object without a type", slot->key);
    while (part->type && strcmp(type, part->type) != 0)
        part++;
    if (!part->type)
        return wfs_error_set(err, ENOTSUP, "tokenizer.json: a %s of type '%s' is not supported", slot->key, type);
    for (const struct member *m = part->members; m < part->members + MAX_MEMBERS && m->key; m++) {
        const cJSON *member = wfs_json_get(value, m->key);
        const cJSON *regex = m->kind == PATTERN ? wfs_json_get(member, "Regex") : NULL;
        int r = 0;

        if (m->kind == PARTS)
            r = check_sequence(slot, member, nesting, err);
        else if (!is_sound(m, member))
            r = wfs_error_set(err, EINVAL, "tokenizer.json: %s: the '%s' of a %s is missing or not what it should be",
                              slot->key, m->key, type);
        else if (regex)
            r = check_regex(wfs_json_string(regex), err);
        if (r < 0)
            return r;
    }
    return 0;
}

int wfs_hf_check_parts(const cJSON *json, struct wfs_error *err)
{
    static const struct slot slots[] = {
        { "normalizer", normalizers },
        { "pre_tokenizer", pre_tokenizers },
        { "post_processor", post_processors },
        { "decoder", decoders },
    };
    static const char *const versions[] = { "1.0", NULL };
    static const char *const known[] = { "version", "truncation", "padding", "added_tokens", "normalizer",
                                         "pre_tokenizer", "post_processor", "decoder", "model", NULL };
    const cJSON *version = wfs_json_get(json, "version"), *cut = wfs_json_get(json, "truncation"),
                *fill = wfs_json_get(json, "padding");
    int r = 0;

    for (const cJSON *member = json ? json->child : NULL; member; member = member->next) {
        if (!is_word(member->string, known))
            return wfs_error_set(err, EINVAL, "tokenizer.json: the library takes no member '%s'", member->string);
    }
    if (version && !is_one_of(version, versions))
        r = wfs_error_set(err, EINVAL, "tokenizer.json: the version is not \"1.0\"");
    if (r == 0 && !wfs_py_is_none(cut))
        r = check_plain("truncation", &truncation, cut, err);
    if (r == 0 && !wfs_py_is_none(fill))
        r = check_plain("padding", &padding, fill, err);
    for (size_t i = 0; i < sizeof slots / sizeof *slots && r == 0; i++) {
        const cJSON *value = wfs_json_get(json, slots[i].key);

        if (!wfs_py_is_none(value))
            r = check_part(&slots[i], value, 0, err);
    }
    return r;
}
