#include "recipe.h"
#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/utf8.h"
#include "name_pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 255, MAX_OVERRIDES = 1000 };

/* A recipe under construction. */
struct builder {
    struct wfs_gguf_recipe *recipe;
    struct wfs_quant_override *overrides; /* the recipe's, as long as it can still grow */
    size_t n_overrides;
    struct wfs_error *err;
};

static int refuse(struct builder *b, const char *word, const char *why)
{
    return wfs_error_set(b->err, EINVAL, "\"%s\": %s", word, why);
}

static int refuse_with_list(struct builder *b, const char *word, const char *what, struct wfs_buf *list)
{
    wfs_buf_u8(list, 0);
    if (list->failed)
        return wfs_error_nomem(b->err);
    return wfs_error_set(b->err, EINVAL, "\"%s\" %s; allowed are %s", word, what, (const char *)list->data);
}

static int take_type(struct builder *b, const char *word, const char *name, enum wfs_ggml_type *ret)
{
    struct wfs_buf WFS_CLEANUP(wfs_buf_done) list = WFS_BUF_INIT;

    for (size_t i = 0; i < WFS_TYPE_COUNT; i++) {
        if (!wfs_ggml_types[i].name)
            continue;
        if (strcasecmp(wfs_ggml_types[i].name, name) == 0) {
            *ret = (enum wfs_ggml_type)i;
            return 0;
        }
        wfs_buf_printf(&list, "%s%s", list.len ? ", " : "", wfs_ggml_types[i].name);
    }
    return refuse_with_list(b, word, "does not end in a type of tensors that llama-quantize writes", &list);
}

static int take_given_type(struct builder *b, const char *word, const char *name, enum wfs_ggml_type *field)
{
    if (*field != WFS_TYPE_COUNT)
        return refuse(b, word, "this was said before");
    return take_type(b, word, name, field);
}

static int take_output(struct builder *b, const char *word, const char *value)
{
    return take_given_type(b, word, value, &b->recipe->request.recipe.output);
}

static int take_token_embedding(struct builder *b, const char *word, const char *value)
{
    return take_given_type(b, word, value, &b->recipe->request.recipe.token_embedding);
}

/* REGEX=TYPE, cut at the first "=" as llama-quantize does. */
static int take_tensor_type(struct builder *b, const char *word, const char *value)
{
    const char *equals = strchr(value, '=');
    struct wfs_quant_override o, *grown;
    int r;

    if (!equals || equals == value)
        return refuse(b, word, "after tensor-type= comes a pattern for names of tensors, = and a type");
    if (b->n_overrides == MAX_OVERRIDES)
        return refuse(b, word, "there are 1000 before it, which is the limit");
    r = take_type(b, word, equals + 1, &o.type);
    if (r < 0)
        return r;
    grown = reallocarray(b->overrides, b->n_overrides + 1, sizeof *grown);
    if (!grown)
        return wfs_error_nomem(b->err);
    b->overrides = grown;
    o.word = strdup(word);
    if (!o.word)
        return wfs_error_nomem(b->err);
    r = wfs_name_pattern_new(value, (size_t)(equals - value), &o.pattern, b->err);
    if (r == 0)
        grown[b->n_overrides++] = o;
    else
        free(o.word);
    return r;
}

static int take_flag(struct builder *b, const char *word, bool *field)
{
    if (*field)
        return refuse(b, word, "this was said before");
    *field = true;
    return 0;
}

static int take_pure(struct builder *b, const char *word, const char *value)
{
    (void)value;
    return take_flag(b, word, &b->recipe->request.recipe.pure);
}

static int take_leave_output(struct builder *b, const char *word, const char *value)
{
    (void)value;
    return take_flag(b, word, &b->recipe->request.recipe.leave_output);
}

static int take_imatrix(struct builder *b, const char *word, const char *value)
{
    if (b->recipe->request.imatrix_file)
        return refuse(b, word, "this was said before");
    b->recipe->request.imatrix_file = strdup(value);
    return b->recipe->request.imatrix_file ? 0 : wfs_error_nomem(b->err);
}

/* The words behind the file type. The names of llama-quantize's flags are taken too. */
static const struct {
    const char *name;
    const char *value; /* what it takes, or NULL */
    int (*take)(struct builder *b, const char *word, const char *value);
    bool alias;
} words[] = {
    { "output", "TYPE", take_output, false },
    { "output-tensor-type", "TYPE", take_output, true },
    { "token-embedding", "TYPE", take_token_embedding, false },
    { "token-embedding-type", "TYPE", take_token_embedding, true },
    { "tensor-type", "PATTERN=TYPE", take_tensor_type, false },
    { "pure", NULL, take_pure, false },
    { "leave-output-tensor", NULL, take_leave_output, false },
    { "imatrix", "FILE", take_imatrix, false },
};

static int take_word(struct builder *b, const char *word)
{
    struct wfs_buf WFS_CLEANUP(wfs_buf_done) list = WFS_BUF_INIT;
    size_t len = strcspn(word, "=");

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].name) == len && memcmp(words[i].name, word, len) == 0) {
            if (!words[i].value && word[len])
                return refuse(b, word, "this word takes no value");
            if (words[i].value && (!word[len] || !word[len + 1]))
                return refuse(b, word, "this word needs a value, as in word=value");
            return words[i].take(b, word, word[len] ? word + len + 1 : NULL);
        }
        if (!words[i].alias)
            wfs_buf_printf(&list, "%s%s%s%s", list.len ? ", " : "", words[i].name, words[i].value ? "=" : "",
                           words[i].value ? words[i].value : "");
    }
    return refuse_with_list(b, word, "is not a word of a recipe", &list);
}

static int take_file_type(struct builder *b, const char *word)
{
    struct wfs_buf WFS_CLEANUP(wfs_buf_done) list = WFS_BUF_INIT;

    for (size_t i = 0; i < wfs_gguf_n_formats; i++) {
        if (strcasecmp(wfs_gguf_formats[i].name, word) == 0) {
            b->recipe->request.recipe = wfs_gguf_formats[i].request.recipe;
            return 0;
        }
        wfs_buf_printf(&list, "%s%s", list.len ? ", " : "", wfs_gguf_formats[i].name);
    }
    return refuse_with_list(b, word, "is not a file type of llama-quantize", &list);
}

static bool is_a_format(const char *name)
{
    char usual[64];

    for (size_t i = 0; i < wfs_gguf_n_formats; i++) {
        snprintf(usual, sizeof usual, "model-%s.gguf", wfs_gguf_formats[i].name);
        if (strcmp(name, usual) == 0)
            return true;
    }
    return false;
}

/* What would mean something else in the option views or in a path is no part of a name. */
static int take_name(struct builder *b, const char *word)
{
    static const char END[] = ".gguf";
    size_t len = strlen(word), end = sizeof END - 1;

    if (len <= end || strcmp(word + len - end, END) != 0 || word[0] == '.')
        return refuse(b, word, "a recipe begins with the name of a file that ends in .gguf and begins with no dot");
    if (len > MAX_NAME)
        return refuse(b, word, "the name has more than 255 bytes");
    if (strpbrk(word, "/,:*?[]\\") || wfs_utf8_check(word, len) != len)
        return refuse(b, word, "a name is UTF-8 without / , : * ? [ ] and backslash");
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)word[i] < 0x20 || word[i] == 0x7f)
            return refuse(b, word, "a name has no control characters");
    }
    if (is_a_format(word))
        return refuse(b, word, "there is a view of this name already");
    b->recipe->view = strdup(word);
    return b->recipe->view ? 0 : wfs_error_nomem(b->err);
}

/* The next word of text, unescaped into word. False at the end. */
static bool next_word(const char *text, size_t len, size_t *at, char *word)
{
    static const char BLANKS[] = " \t\r\n";
    size_t n = 0;

    while (*at < len && memchr(BLANKS, text[*at], sizeof BLANKS - 1))
        ++*at;
    for (; *at < len && !memchr(BLANKS, text[*at], sizeof BLANKS - 1); ++*at) {
        if (text[*at] == '\\' && *at + 1 < len && memchr(BLANKS, text[*at + 1], sizeof BLANKS - 1))
            ++*at;
        word[n++] = text[*at];
    }
    word[n] = '\0';
    return n > 0;
}

static int take_words(struct builder *b, const char *text, size_t len)
{
    WFS_CLEANUP(wfs_free) char *word = malloc(len + 1);
    size_t at = 0;
    int r;

    if (!word)
        return wfs_error_nomem(b->err);
    if (memchr(text, '\0', len))
        return wfs_error_set(b->err, EINVAL, "there is a NUL byte in it");
    if (!next_word(text, len, &at, word))
        return wfs_error_set(b->err, EINVAL, "it is empty; a recipe is NAME.gguf TYPE [WORD…]");
    r = take_name(b, word);
    if (r < 0)
        return r;
    if (!next_word(text, len, &at, word))
        return wfs_error_set(b->err, EINVAL, "behind \"%s\" comes a file type, as in q4_k_m", b->recipe->view);
    r = take_file_type(b, word);
    while (r == 0 && next_word(text, len, &at, word))
        r = take_word(b, word);
    return r;
}

int wfs_gguf_recipe_parse(const char *text, size_t len, struct wfs_gguf_recipe **ret, struct wfs_error *err)
{
    struct builder b = { .recipe = calloc(1, sizeof *b.recipe), .err = err };
    int r;

    if (!b.recipe)
        return wfs_error_nomem(err);
    atomic_init(&b.recipe->refs, 1);
    r = take_words(&b, text, len);
    b.recipe->request.recipe.overrides = b.overrides;
    b.recipe->request.recipe.n_overrides = b.n_overrides;
    if (r < 0)
        wfs_gguf_recipe_unref(b.recipe);
    else
        *ret = b.recipe;
    return r;
}

struct wfs_gguf_recipe *wfs_gguf_recipe_ref(struct wfs_gguf_recipe *r)
{
    atomic_fetch_add(&r->refs, 1);
    return r;
}

void wfs_gguf_recipe_unref(struct wfs_gguf_recipe *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    for (size_t i = 0; i < r->request.recipe.n_overrides; i++) {
        wfs_name_pattern_free(r->request.recipe.overrides[i].pattern);
        free(r->request.recipe.overrides[i].word);
    }
    free((void *)r->request.recipe.overrides);
    free((char *)r->request.imatrix_file);
    free(r->view);
    free(r);
}
