#include "split.h"
#include "../base/cleanup.h"
#include "../json.h"
#include "byte_level.h"
#include "regex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum behaviour { REMOVED, ISOLATED, MERGED_WITH_PREVIOUS, MERGED_WITH_NEXT, CONTIGUOUS };

static const char *const behaviour_names[] = { "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                               "Contiguous" };

struct step {
    struct wfs_regex *regex; /* owned; NULL = no split */
    enum behaviour behaviour;
    bool invert;       /* what does not match is the delimiter */
    bool prefix_space; /* a space is put in front of a piece without one, before the split */
    bool byte_level;   /* bytes become characters, after the split */
};

enum { MAX_STEPS = 64, MAX_NESTING = 8 };

struct wfs_splitter {
    struct step steps[MAX_STEPS];
    size_t n_steps;
};

/* The pattern of GPT-2, which a ByteLevel has unless use_regex is off. */
#define GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* \w as the pre-tokenizer Whitespace means it (Rust's regex crate). */
#define RUST_WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}"

void wfs_splitter_free(struct wfs_splitter *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_steps; i++)
        wfs_regex_free(s->steps[i].regex);
    free(s);
}

static void splitter_free(struct wfs_splitter **s)
{
    wfs_splitter_free(*s);
}

static int invalid(struct wfs_error *err, const char *what)
{
    return wfs_error_set(err, EINVAL, "tokenizer.json: pre_tokenizer: %s", what);
}

static int new_regex(const char *pattern, enum wfs_regex_kind kind, struct step *step, struct wfs_error *err)
{
    int r = wfs_regex_new(pattern, kind, &step->regex, err);

    if (r < 0)
        wfs_error_wrap(err, "tokenizer.json: pre_tokenizer");
    return r;
}

static int get_behaviour(const cJSON *value, enum behaviour *ret, struct wfs_error *err)
{
    const char *name = wfs_json_string(value);

    for (size_t i = 0; name && i < sizeof behaviour_names / sizeof *behaviour_names; i++) {
        if (strcmp(name, behaviour_names[i]) == 0) {
            *ret = (enum behaviour)i;
            return 0;
        }
    }
    return invalid(err, "a behavior that is not known");
}

static int add_split(const cJSON *o, struct step *step, struct wfs_error *err)
{
    const cJSON *pattern = wfs_json_get(o, "pattern"), *invert = wfs_json_get(o, "invert");
    const char *regex = wfs_json_string(wfs_json_get(pattern, "Regex"));
    const char *literal = wfs_json_string(wfs_json_get(pattern, "String"));
    int r = get_behaviour(wfs_json_get(o, "behavior"), &step->behaviour, err);

    if (r < 0)
        return r;
    if (!regex == !literal)
        return invalid(err, "a Split whose pattern is neither a Regex nor a String");
    if (!cJSON_IsBool(invert))
        return invalid(err, "a Split whose invert is not a boolean");
    step->invert = cJSON_IsTrue(invert);
    return new_regex(regex ? regex : literal, regex ? WFS_REGEX_PATTERN : WFS_REGEX_LITERAL, step, err);
}

static int add_byte_level(const cJSON *o, enum wfs_prefix_space prefix_space, struct step *step, struct wfs_error *err)
{
    const cJSON *add = wfs_json_get(o, "add_prefix_space"), *use = wfs_json_get(o, "use_regex");

    if (!cJSON_IsBool(add) || (use && !cJSON_IsBool(use)))
        return invalid(err, "a ByteLevel without booleans for add_prefix_space and use_regex");
    step->prefix_space =
        prefix_space == WFS_PREFIX_SPACE_KEEP ? cJSON_IsTrue(add) : prefix_space == WFS_PREFIX_SPACE_ON;
    step->byte_level = true;
    step->behaviour = ISOLATED;
    return use && cJSON_IsFalse(use) ? 0 : new_regex(GPT2_PATTERN, WFS_REGEX_PATTERN, step, err);
}

static int add_fixed(const char *type, const cJSON *o, struct step *step, struct wfs_error *err)
{
    const cJSON *single = wfs_json_get(o, "individual_digits"), *behaviour = wfs_json_get(o, "behavior");
    int r = 0;

    if (strcmp(type, "Digits") == 0) {
        if (!cJSON_IsBool(single))
            return invalid(err, "Digits without individual_digits");
        step->behaviour = cJSON_IsTrue(single) ? ISOLATED : CONTIGUOUS;
        return new_regex("\\p{N}", WFS_REGEX_PATTERN, step, err);
    }
    if (strcmp(type, "Punctuation") == 0) {
        step->behaviour = ISOLATED;
        if (behaviour)
            r = get_behaviour(behaviour, &step->behaviour, err);
        return r < 0 ? r : new_regex("[!-/:-@\\[-`{-~\\p{P}]", WFS_REGEX_PATTERN, step, err);
    }
    step->behaviour = REMOVED;
    if (strcmp(type, "Whitespace") == 0) {
        step->invert = true;
        return new_regex("[" RUST_WORD "]+|[^" RUST_WORD "\\s]+", WFS_REGEX_PATTERN, step, err);
    }
    if (strcmp(type, "WhitespaceSplit") == 0)
        return new_regex("\\s", WFS_REGEX_PATTERN, step, err);
    return wfs_error_set(err, ENOTSUP, "tokenizer.json: a pre_tokenizer of type '%s' is not supported", type);
}

static int add_steps(struct wfs_splitter *s, const cJSON *o, enum wfs_prefix_space prefix_space, unsigned nesting,
                     struct wfs_error *err)
{
    const char *type = wfs_json_string(wfs_json_get(o, "type"));
    const cJSON *parts = wfs_json_get(o, "pretokenizers");
    struct step *step;
    int r = 0;

    if (!type)
        return invalid(err, "an object without a type");
    if (strcmp(type, "Sequence") == 0) {
        if (!cJSON_IsArray(parts) || nesting == MAX_NESTING)
            return invalid(err, "a Sequence without a list, or nested too deeply");
        for (const cJSON *part = parts->child; part && r == 0; part = part->next)
            r = add_steps(s, part, WFS_PREFIX_SPACE_KEEP, nesting + 1, err);
        return r;
    }
    if (s->n_steps == MAX_STEPS)
        return invalid(err, "more than 64 steps");
    step = &s->steps[s->n_steps++];
    if (strcmp(type, "Split") == 0)
        return add_split(o, step, err);
    if (strcmp(type, "ByteLevel") == 0)
        return add_byte_level(o, prefix_space, step, err);
    return add_fixed(type, o, step, err);
}

int wfs_splitter_new(const cJSON *object, enum wfs_prefix_space prefix_space, struct wfs_splitter **ret,
                     struct wfs_error *err)
{
    WFS_CLEANUP(splitter_free) struct wfs_splitter *s = calloc(1, sizeof *s);
    int r = 0;

    if (!s)
        return wfs_error_set(err, ENOMEM, "out of memory");
    if (object && !cJSON_IsNull(object))
        r = add_steps(s, object, prefix_space, 0, err);
    if (r == 0)
        *ret = WFS_STEAL(s);
    return r;
}

/*
 * From stretches that match or not to the pieces that stay, in place; "matched" becomes "is removed". Returns how many.
 * A delimiter joins its neighbour only when no other delimiter lies between, and only equals join when contiguous.
 */
static size_t apply_behaviour(enum behaviour behaviour, struct wfs_match *m, size_t n)
{
    size_t kept = 0;
    bool previous = false;

    if (behaviour == REMOVED)
        return n;
    for (size_t i = 0; i < n; i++) {
        size_t at = behaviour == MERGED_WITH_NEXT ? n - 1 - i : i;
        struct wfs_match now = m[at];
        bool joins = behaviour == CONTIGUOUS ? now.matched == previous : now.matched && !previous;

        previous = now.matched;
        now.matched = false;
        if (behaviour != ISOLATED && joins && kept) {
            if (behaviour == MERGED_WITH_NEXT)
                m[n - kept].from = now.from;
            else
                m[kept - 1].to = now.to;
            continue;
        }
        kept++;
        m[behaviour == MERGED_WITH_NEXT ? n - kept : kept - 1] = now;
    }
    if (behaviour == MERGED_WITH_NEXT)
        memmove(m, m + n - kept, kept * sizeof *m);
    return kept;
}

static void put_part(const struct step *step, struct wfs_pieces *out, const char *text, size_t len)
{
    struct wfs_piece piece = { out->text.len, 0, WFS_PIECE_TEXT };

    if (!step->byte_level || len == 0) {
        wfs_pieces_add(out, text, len, WFS_PIECE_TEXT);
        return;
    }
    wfs_byte_level_put(&out->text, text, len);
    piece.len = out->text.len - piece.at;
    wfs_buf_put(&out->list, &piece, sizeof piece);
}

static int split_piece(const struct step *step, const char *text, size_t len, struct wfs_pieces *out,
                       struct wfs_error *err)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf room = WFS_BUF_INIT;
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf matches = WFS_BUF_INIT;
    struct wfs_match *m;
    size_t n;
    int r;

    if (step->prefix_space && text[0] != ' ') {
        wfs_buf_u8(&room, ' ');
        wfs_buf_put(&room, text, len);
        if (room.failed)
            return wfs_error_set(err, ENOMEM, "out of memory");
        text = (const char *)room.data;
        len = room.len;
    }
    if (!step->regex) {
        put_part(step, out, text, len);
        return 0;
    }
    r = wfs_regex_find(step->regex, text, len, &matches, err);
    if (r < 0)
        return r;
    m = (void *)matches.data;
    n = matches.len / sizeof *m;
    for (size_t i = 0; i < n; i++)
        m[i].matched ^= step->invert;
    n = apply_behaviour(step->behaviour, m, n);
    for (size_t i = 0; i < n; i++) {
        if (!m[i].matched)
            put_part(step, out, text + m[i].from, m[i].to - m[i].from);
    }
    return 0;
}

int wfs_splitter_run(const struct wfs_splitter *s, struct wfs_pieces *pieces, struct wfs_error *err)
{
    for (size_t i = 0; i < s->n_steps; i++) {
        WFS_CLEANUP(wfs_pieces_done) struct wfs_pieces next = WFS_PIECES_INIT;

        for (size_t j = 0; j < wfs_pieces_count(pieces); j++) {
            const struct wfs_piece *p = wfs_pieces_get(pieces, j);
            const char *text = wfs_pieces_text(pieces, p);
            int r = 0;

            if (p->id != WFS_PIECE_TEXT)
                wfs_pieces_add(&next, text, p->len, p->id);
            else
                r = split_piece(&s->steps[i], text, p->len, &next, err);
            if (r < 0)
                return r;
        }
        if (wfs_pieces_failed(&next))
            return wfs_error_set(err, ENOMEM, "out of memory");
        wfs_pieces_replace(pieces, &next);
    }
    return 0;
}

void wfs_splitter_describe(const cJSON *object, struct wfs_buf *out)
{
    const char *type = wfs_json_string(wfs_json_get(object, "type"));
    const cJSON *parts = wfs_json_get(object, "pretokenizers"), *pattern = wfs_json_get(object, "pattern");
    const char *text = wfs_json_string(wfs_json_get(pattern, "Regex"));

    if (!type) {
        wfs_buf_str(out, "none");
    } else if (strcmp(type, "Sequence") == 0 && parts) {
        for (const cJSON *part = parts->child; part; part = part->next) {
            if (part != parts->child)
                wfs_buf_str(out, ", ");
            if (wfs_json_get(part, "pretokenizers"))
                wfs_buf_str(out, "Sequence");
            else
                wfs_splitter_describe(part, out);
        }
    } else if (strcmp(type, "Split") == 0) {
        text = text ? text : wfs_json_string(wfs_json_get(pattern, "String"));
        wfs_buf_printf(out, "'%s'", text ? text : "");
    } else {
        wfs_buf_str(out, type);
    }
}
