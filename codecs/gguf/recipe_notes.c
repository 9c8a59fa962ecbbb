/* Words of a recipe that decide about nothing: llama-quantize says nothing of them, and a slip hides there. */
#include "file_types.h"
#include "name_pattern.h"

#include <stdio.h>

struct notes {
    const struct wfs_quant_recipe *recipe;
    const struct wfs_quant_tensor *tensors;
    const struct wfs_quant_choice *choices;
    size_t n;
    bool plain; /* F32, F16 or BF16, which have no rules */
    struct wfs_buf *out;
};

static bool decided(const struct notes *s, uint32_t by)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->choices[i].by == by)
            return true;
    }
    return false;
}

static size_t find(const struct notes *s, bool (*is)(const struct wfs_quant_tensor *t))
{
    size_t i = 0;

    while (i < s->n && !is(&s->tensors[i]))
        i++;
    return i;
}

static void note(const struct notes *s, const char *word, const char *why)
{
    wfs_buf_printf(s->out, "%s decides about no tensor: %s\n", word, why);
}

/* Who came first, where output= is for the embedding. */
static const char *explain_tied(const struct notes *s)
{
    size_t embedding = find(s, wfs_quant_is_token_embedding);
    uint32_t by = embedding < s->n ? s->choices[embedding].by : (uint32_t)WFS_QUANT_BY_NAME;

    if (by == WFS_QUANT_BY_TOKEN_EMBEDDING)
        return "the model has no output.weight, and token-embedding= comes first for its embedding";
    if (by == WFS_QUANT_BY_PURE)
        return "the model has no output.weight, and pure comes first for its embedding";
    if (by >= WFS_QUANT_BY_OVERRIDE)
        return "the model has no output.weight, and tensor-type= comes first for its embedding";
    return "the model has no output.weight";
}

static const char *explain_override(const struct notes *s, const struct wfs_quant_override *o)
{
    if (s->plain)
        return "patterns count in quantised files only";
    for (size_t i = 0; i < s->n; i++) {
        if (wfs_name_pattern_matches(o->pattern, s->tensors[i].name, NULL) > 0)
            return "what it is found in is not quantised, or another word comes first there";
    }
    return "its pattern is found in no tensor's name";
}

void wfs_quant_notes(const struct wfs_quant_recipe *recipe, const struct wfs_quant_tensor *tensors,
                     const struct wfs_quant_choice *choices, size_t n, struct wfs_buf *out)
{
    enum wfs_ggml_type type = wfs_quant_default_type(recipe->file_type);
    struct notes s = { .recipe = recipe, .tensors = tensors, .choices = choices, .n = n, .out = out };
    char word[64];

    s.plain = type != WFS_TYPE_COUNT && wfs_ggml_types[type].block_elems == 1;
    if (recipe->output != WFS_TYPE_COUNT && !decided(&s, WFS_QUANT_BY_OUTPUT)) {
        snprintf(word, sizeof word, "output=%s", wfs_ggml_types[recipe->output].name);
        note(&s, word, decided(&s, WFS_QUANT_BY_LEAVE_OUTPUT) ? "leave-output-tensor comes first" : explain_tied(&s));
    }
    if (recipe->token_embedding != WFS_TYPE_COUNT && !decided(&s, WFS_QUANT_BY_TOKEN_EMBEDDING)) {
        snprintf(word, sizeof word, "token-embedding=%s", wfs_ggml_types[recipe->token_embedding].name);
        note(&s, word, "the embedding is not quantised");
    }
    if (recipe->leave_output && !decided(&s, WFS_QUANT_BY_LEAVE_OUTPUT))
        note(&s, "leave-output-tensor", "the model has no output.weight");
    if (recipe->pure && !decided(&s, WFS_QUANT_BY_PURE))
        note(&s, "pure", s.plain ? "files of this type have no rules to leave out"
                                 : "other words decide about every tensor");
    for (size_t i = 0; i < recipe->n_overrides; i++) {
        const struct wfs_quant_override *o = &recipe->overrides[i];

        if (o->word && !decided(&s, WFS_QUANT_BY_OVERRIDE + (uint32_t)i))
            note(&s, o->word, explain_override(&s, o));
    }
}
