#include "file_types.h"
#include "name_pattern.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Classes of tensors, by parts of their names; the first row that matches counts. */
enum category {
    OTHER, OUTPUT, TOKEN_EMBD, ATTN_V, ATTN_K, ATTN_Q, ATTN_OUT, FFN_UP, FFN_GATE, FFN_DOWN, CATEGORY_COUNT
};

static const struct {
    const char *part;
    bool whole; /* the whole name, not a part of it */
    enum category category;
} categories[] = {
    { "output.weight", true, OUTPUT },
    { "token_embd.weight", true, TOKEN_EMBD },
    { "per_layer_token_embd.weight", true, TOKEN_EMBD },
    { "attn_qkv.weight", false, ATTN_V }, /* it holds V; llama-quantize's own rule for it is never reached */
    { "attn_kv_b.weight", false, ATTN_V },
    { "attn_v.weight", false, ATTN_V },
    { "attn_k.weight", false, ATTN_K },
    { "attn_q.weight", false, ATTN_Q },
    { "attn_output.weight", false, ATTN_OUT },
    { "ffn_up", false, FFN_UP },
    { "ffn_gate", false, FFN_GATE },
    { "ffn_down", false, FFN_DOWN },
};

/* Conditions of a rule; all must hold. n is the number of layers, i the layer of the tensor. */
enum condition {
    GQA4 = 1 << 0,          /* at least four heads share a key */
    GQA4_OR_MOE4 = 1 << 1,  /* that, or at least four experts */
    EXPERTS8 = 1 << 2,      /* exactly eight experts */
    NOT_EXPERTS8 = 1 << 3,
    FALCON = 1 << 4,
    NOT_FALCON = 1 << 5,
    IMATRIX = 1 << 6,
    NO_IMATRIX = 1 << 7,
    FIRST_8TH = 1 << 8,     /* i < n/8 */
    FIRST_16TH = 1 << 9,    /* i < n/16 */
    MORE_BITS = 1 << 10,    /* the first and last eighth, and every third between */
    MIDDLE = 1 << 11,       /* n/8 <= i < 7n/8 */
    FIRST_2 = 1 << 12,      /* i < 2 */
    FIRST_4 = 1 << 13,      /* i < 4 */
    COUNTED_8TH = 1 << 14,  /* as FIRST_8TH, but i counts tensors of the class even in mixtures of experts */
};

struct rule {
    enum category category;
    unsigned conditions;
    enum wfs_ggml_type type;
};

/* The rows of one file type: the first whose class and conditions hold counts; none: the file type's default. */
enum { MAX_RULES = 9 };

enum file_flags {
    LOW = 1,         /* the rules for eight experts and for 70B models do not apply; neither does OUT8 */
    OUTPUT_Q5 = 2,   /* the output tensor is Q5_K, not Q6_K */
    OUTPUT_Q8 = 4,   /* the output tensor is Q8_0 whatever its shape */
    OUT8 = 8,        /* with eight experts, attention output is Q5_K (but for Falcon) */
};

struct file_type {
    enum wfs_file_type number;
    enum wfs_ggml_type type;
    unsigned flags;
    struct rule rules[MAX_RULES];
};

#define T(x) WFS_TYPE_##x

/* With eight experts, V and K are small beside the experts. */
static const struct rule rules_of_8_experts[] = { { ATTN_V, EXPERTS8, T(Q8_0) }, { ATTN_K, EXPERTS8, T(Q8_0) } };

/* Rows that several of the smallest types share. v: V and the first eighth of DOWN. */
#define LOW_RULES(v)                                                                                                   \
    { ATTN_V, GQA4_OR_MOE4, T(Q4_K) }, { ATTN_V, 0, v }, { ATTN_K, EXPERTS8, T(Q4_K) },                                \
    { FFN_DOWN, COUNTED_8TH, v }, { ATTN_OUT, EXPERTS8, T(Q5_K) }

static const struct file_type file_types[] = {
    { WFS_FTYPE_F32, T(F32), 0, { { 0 } } },
    { WFS_FTYPE_F16, T(F16), 0, { { 0 } } },
    { WFS_FTYPE_BF16, T(BF16), 0, { { 0 } } },
    { WFS_FTYPE_Q8_0, T(Q8_0), 0, { { 0 } } },
    { WFS_FTYPE_Q4_0, T(Q4_0), 0, { { FFN_DOWN, IMATRIX | FIRST_8TH, T(Q4_1) } } },
    { WFS_FTYPE_Q4_1, T(Q4_1), 0, { { 0 } } },
    { WFS_FTYPE_Q5_0, T(Q5_0), 0, { { FFN_DOWN, IMATRIX | FIRST_8TH, T(Q5_1) } } },
    { WFS_FTYPE_Q5_1, T(Q5_1), 0, { { 0 } } },
    { WFS_FTYPE_Q2_K, T(Q2_K), OUT8,
      { { ATTN_V, GQA4, T(Q4_K) }, { ATTN_V, 0, T(Q3_K) }, { FFN_DOWN, 0, T(Q3_K) },
        { ATTN_OUT, NOT_FALCON, T(Q3_K) } } },
    { WFS_FTYPE_Q2_K_S, T(Q2_K), 0, { { ATTN_V, GQA4, T(Q4_K) }, { FFN_DOWN, FIRST_8TH, T(Q4_K) } } },
    { WFS_FTYPE_Q3_K_S, T(Q3_K), OUT8, { { 0 } } },
    { WFS_FTYPE_Q3_K_M, T(Q3_K), OUT8,
      { { ATTN_V, FIRST_2, T(Q5_K) }, { ATTN_V, 0, T(Q4_K) }, { FFN_DOWN, FIRST_16TH, T(Q5_K) },
        { FFN_DOWN, NOT_FALCON, T(Q4_K) }, { FFN_DOWN, MORE_BITS, T(Q4_K) }, { ATTN_OUT, NOT_FALCON, T(Q4_K) } } },
    { WFS_FTYPE_Q3_K_L, T(Q3_K), 0,
      { { ATTN_V, 0, T(Q5_K) }, { FFN_DOWN, FALCON, T(Q4_K) }, { FFN_DOWN, 0, T(Q5_K) },
        { ATTN_OUT, FALCON, T(Q4_K) }, { ATTN_OUT, NOT_EXPERTS8, T(Q5_K) } } },
    { WFS_FTYPE_Q4_K_S, T(Q4_K), OUT8,
      { { ATTN_V, FIRST_4, T(Q5_K) }, { FFN_DOWN, NOT_FALCON | FIRST_8TH, T(Q5_K) } } },
    { WFS_FTYPE_Q4_K_M, T(Q4_K), OUT8,
      { { ATTN_V, MORE_BITS, T(Q6_K) }, { FFN_DOWN, FALCON | FIRST_16TH, T(Q6_K) },
        { FFN_DOWN, FALCON | MORE_BITS, T(Q5_K) }, { FFN_DOWN, NOT_FALCON | MORE_BITS, T(Q6_K) } } },
    { WFS_FTYPE_Q5_K_S, T(Q5_K), 0, { { 0 } } },
    { WFS_FTYPE_Q5_K_M, T(Q5_K), 0, { { ATTN_V, MORE_BITS, T(Q6_K) }, { FFN_DOWN, MORE_BITS, T(Q6_K) } } },
    { WFS_FTYPE_Q6_K, T(Q6_K), 0, { { 0 } } },
    { WFS_FTYPE_IQ1_S, T(IQ1_S), LOW | OUTPUT_Q5,
      { LOW_RULES(T(Q2_K)), { ATTN_OUT, 0, T(IQ2_XXS) }, { TOKEN_EMBD, 0, T(Q2_K) } } },
    { WFS_FTYPE_IQ1_M, T(IQ1_M), LOW | OUTPUT_Q5,
      { LOW_RULES(T(Q2_K)), { ATTN_OUT, 0, T(IQ2_XXS) }, { TOKEN_EMBD, 0, T(Q2_K) } } },
    { WFS_FTYPE_IQ2_XXS, T(IQ2_XXS), LOW | OUTPUT_Q5, { LOW_RULES(T(Q2_K)), { TOKEN_EMBD, 0, T(Q2_K) } } },
    { WFS_FTYPE_IQ2_XS, T(IQ2_XS), LOW | OUTPUT_Q5, { LOW_RULES(T(Q2_K)), { TOKEN_EMBD, 0, T(Q2_K) } } },
    { WFS_FTYPE_IQ2_S, T(IQ2_XS), LOW | OUTPUT_Q5,
      { LOW_RULES(T(IQ3_S)), { ATTN_OUT, 0, T(IQ3_S) }, { TOKEN_EMBD, 0, T(IQ3_S) } } },
    { WFS_FTYPE_IQ2_M, T(IQ2_S), LOW | OUTPUT_Q5,
      { LOW_RULES(T(IQ3_S)), { ATTN_OUT, 0, T(IQ3_S) }, { TOKEN_EMBD, 0, T(IQ3_S) } } },
    { WFS_FTYPE_IQ3_XXS, T(IQ3_XXS), OUTPUT_Q5 | OUT8,
      { { ATTN_V, GQA4, T(Q4_K) }, { ATTN_V, NO_IMATRIX, T(IQ3_S) }, { ATTN_K, 0, T(IQ2_S) }, { ATTN_Q, 0, T(IQ2_S) },
        { FFN_DOWN, NO_IMATRIX | FIRST_8TH, T(Q4_K) }, { FFN_DOWN, NO_IMATRIX, T(Q3_K) },
        { ATTN_OUT, NOT_FALCON, T(IQ3_S) }, { TOKEN_EMBD, 0, T(IQ3_S) } } },
    { WFS_FTYPE_IQ3_XS, T(IQ3_S), OUT8,
      { { ATTN_V, GQA4, T(Q4_K) }, { ATTN_K, 0, T(IQ3_XXS) }, { ATTN_Q, 0, T(IQ3_XXS) },
        { FFN_GATE, MIDDLE, T(IQ3_XXS) }, { FFN_UP, MIDDLE, T(IQ3_XXS) } } },
    { WFS_FTYPE_IQ3_S, T(IQ3_S), OUT8, { { ATTN_V, GQA4, T(Q4_K) } } },
    { WFS_FTYPE_IQ3_M, T(IQ3_S), OUT8,
      { { ATTN_V, 0, T(Q4_K) }, { FFN_DOWN, FIRST_8TH, T(Q4_K) }, { FFN_DOWN, EXPERTS8 | MORE_BITS, T(Q4_K) },
        { ATTN_OUT, NOT_FALCON, T(Q4_K) } } },
    { WFS_FTYPE_IQ4_NL, T(IQ4_NL), OUT8,
      { { ATTN_V, GQA4, T(Q5_K) }, { FFN_DOWN, NO_IMATRIX | FIRST_8TH, T(Q5_K) } } },
    { WFS_FTYPE_IQ4_XS, T(IQ4_XS), OUT8,
      { { ATTN_V, GQA4, T(Q5_K) }, { FFN_DOWN, NO_IMATRIX | FIRST_8TH, T(Q5_K) } } },
    { WFS_FTYPE_TQ1_0, T(TQ1_0), 0, { { TOKEN_EMBD, 0, T(Q4_K) } } },
    { WFS_FTYPE_TQ2_0, T(TQ2_0), 0, { { TOKEN_EMBD, 0, T(Q4_K) } } },
    { WFS_FTYPE_Q1_0, T(Q1_0), 0, { { 0 } } },
    { WFS_FTYPE_Q2_0, T(Q2_0), 0, { { TOKEN_EMBD, 0, T(Q4_K) } } },
    /* Stacks of experts keep the default; see choose_mixture for the rest. */
    { WFS_FTYPE_MXFP4_MOE, T(MXFP4), LOW | OUTPUT_Q8, { { 0 } } },
};

/* What stays in the type it has, by a part of its name (a whole name where whole is set). */
static const struct {
    const char *part;
    bool whole;
} kept[] = {
    { "_norm.weight", false },          { "ffn_gate_inp.weight", false },   { "ffn_gate_tid2eid.weight", false },
    { "altup", false },                 { "laurel", false },                { "per_layer_model_proj", false },
    { "position_embd.weight", true },   { "token_types.weight", true },     { "ssm_conv1d", false },
    { "shortconv.conv.weight", false }, { "indexer.k_proj.weight", false }, { "indexer.q_proj.weight", false },
    { "time_mix_first.weight", false }, { "time_mix_w0.weight", false },    { "time_mix_w1.weight", false },
    { "time_mix_w2.weight", false },    { "time_mix_v0.weight", false },    { "time_mix_v1.weight", false },
    { "time_mix_v2.weight", false },    { "time_mix_a0.weight", false },    { "time_mix_a1.weight", false },
    { "time_mix_a2.weight", false },    { "time_mix_g1.weight", false },    { "time_mix_g2.weight", false },
    { "time_mix_decay_w1.weight", false }, { "time_mix_decay_w2.weight", false },
    { "time_mix_lerp_fused.weight", false }, { "attn_rel_b.weight", false }, { ".position_embd", false },
    { "sam.pos_embd", false },          { "sam.neck.", false },             { "sam.net_", false },
    { ".rel_pos", false },              { ".patch_embd", false },           { ".patch_merger", false },
    { "a.rvq.codebook", false },        { "mm.a.code_embd", false },
};

static enum category category_of(const char *name)
{
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if (categories[i].whole ? strcmp(name, categories[i].part) == 0 : strstr(name, categories[i].part) != NULL)
            return categories[i].category;
    }
    return OTHER;
}

static bool is_kept(const char *name)
{
    static const char END[] = "weight";
    size_t len = strlen(name), end = sizeof END - 1;

    /* llama-quantize compares two positions that both wrap around for names of five bytes. */
    if (len != end - 1 && (len < end || strcmp(name + len - end, END) != 0))
        return true;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (kept[i].whole ? strcmp(name, kept[i].part) == 0 : strstr(name, kept[i].part) != NULL)
            return true;
    }
    return false;
}

void wfs_quant_classify(struct wfs_quant_tensor *t)
{
    t->category = (uint8_t)category_of(t->name);
    t->kept = is_kept(t->name);
}

bool wfs_quant_is_token_embedding(const struct wfs_quant_tensor *t)
{
    return t->category == TOKEN_EMBD;
}

bool wfs_quant_is_output(const struct wfs_quant_tensor *t)
{
    return t->category == OUTPUT;
}

static const struct file_type *find_file_type(enum wfs_file_type number)
{
    for (size_t i = 0; i < sizeof file_types / sizeof *file_types; i++) {
        if (file_types[i].number == number)
            return &file_types[i];
    }
    return NULL;
}

enum wfs_ggml_type wfs_quant_default_type(enum wfs_file_type number)
{
    const struct file_type *file = find_file_type(number);

    return file ? file->type : WFS_TYPE_COUNT;
}

/* What a type becomes when a row is not a whole number of its blocks. COUNT: llama-quantize gives up. */
static enum wfs_ggml_type fallback_of(enum wfs_ggml_type type)
{
    static const struct {
        enum wfs_ggml_type from, to;
    } table[] = {
        { T(IQ1_S), T(IQ4_NL) },   { T(IQ1_M), T(IQ4_NL) }, { T(IQ2_XXS), T(IQ4_NL) }, { T(IQ2_XS), T(IQ4_NL) },
        { T(IQ2_S), T(IQ4_NL) },   { T(IQ3_XXS), T(IQ4_NL) }, { T(IQ3_S), T(IQ4_NL) }, { T(IQ4_XS), T(IQ4_NL) },
        { T(Q2_0), T(Q4_0) },      { T(Q2_K), T(Q4_0) },    { T(Q3_K), T(Q4_0) },      { T(TQ1_0), T(Q4_0) },
        { T(TQ2_0), T(Q4_0) },     { T(Q4_K), T(Q5_0) },    { T(Q5_K), T(Q5_1) },      { T(Q6_K), T(Q8_0) },
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].from == type)
            return table[i].to;
    }
    return WFS_TYPE_COUNT;
}

/* Plain types, whose file types take no rules. Source: is_quantized of ggml's type table. */
static bool is_plain(enum wfs_ggml_type type)
{
    return wfs_ggml_types[type].block_elems == 1;
}

static bool fits(const struct wfs_quant_tensor *t, enum wfs_ggml_type type)
{
    return t->row_elems % wfs_ggml_types[type].block_elems == 0;
}

/* llama.cpp's LLM_TYPE_70B, from the load_arch_hparams of its models. */
static bool is_70b(const struct wfs_quant_model *m)
{
    static const struct {
        const char *arch;
        uint32_t n_layers;
    } table[] = { { "llama", 80 }, { "qwen2", 80 }, { "deci", 80 }, { "olmo", 80 }, { "jais2", 68 } };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(m->arch, table[i].arch) == 0 && m->n_layers == table[i].n_layers)
            return i > 0 || (m->n_heads != m->n_heads_kv && m->n_experts != 8);
    }
    return false;
}

struct state {
    const struct wfs_quant_recipe *recipe;
    const struct file_type *file;
    const struct wfs_quant_model *model;
    unsigned holding;                 /* conditions of the model */
    bool tied;                        /* no output.weight: the token embedding is the output as well */
    int64_t seen[CATEGORY_COUNT], of[CATEGORY_COUNT]; /* counters of the classes */
};

static unsigned model_conditions(const struct wfs_quant_recipe *recipe, const struct wfs_quant_model *m)
{
    bool gqa4 = m->n_heads_kv && m->n_heads / m->n_heads_kv >= 4;
    unsigned c = gqa4 ? GQA4 : 0;

    c |= gqa4 || m->n_experts >= 4 ? GQA4_OR_MOE4 : 0;
    c |= m->n_experts == 8 ? EXPERTS8 : NOT_EXPERTS8;
    c |= strcmp(m->arch, "falcon") == 0 ? FALCON : NOT_FALCON;
    c |= recipe->has_imatrix ? IMATRIX : NO_IMATRIX;
    return c;
}

/* Conditions of the i-th of n. */
static unsigned place_conditions(int64_t i, int64_t n)
{
    unsigned c = 0;

    c |= i < n / 8 ? FIRST_8TH : 0;
    c |= i < n / 16 ? FIRST_16TH : 0;
    c |= i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2 ? MORE_BITS : 0;
    c |= i >= n / 8 && i < 7 * n / 8 ? MIDDLE : 0;
    c |= i < 2 ? FIRST_2 : 0;
    c |= i < 4 ? FIRST_4 : 0;
    return c;
}

/* Where the tensor stands among those of its class: by its layer in mixtures of experts, else by counting. */
static int find_place(const struct state *s, const struct wfs_quant_tensor *t, int64_t *ret, struct wfs_error *err)
{
    int64_t n = s->model->n_layers;
    int layer;

    *ret = s->seen[t->category];
    if (t->category < FFN_UP || s->model->n_experts <= 1 || (s->file->flags & LOW))
        return 0;
    if (sscanf(t->name, "blk.%d.", &layer) != 1)
        return wfs_error_set(err, EINVAL,
                             "tensor %s: its layer cannot be told, which llama-quantize needs in mixtures of experts",
                             t->name);
    if (layer < 0 || layer >= n)
        return wfs_error_set(err, EINVAL, "tensor %s: layer %d is not one of the model's %lld", t->name, layer,
                             (long long)n);
    *ret = layer;
    return 0;
}

static enum wfs_ggml_type apply(const struct rule *rules, size_t n, enum category category, unsigned holding,
                                enum wfs_ggml_type otherwise)
{
    for (size_t i = 0; i < n && rules[i].category != OTHER; i++) {
        if (rules[i].category == category && (rules[i].conditions & ~holding) == 0)
            return rules[i].type;
    }
    return otherwise;
}

static enum wfs_ggml_type choose_output(const struct state *s, const struct wfs_quant_tensor *t)
{
    enum wfs_ggml_type type = s->file->type;

    if (s->recipe->output != WFS_TYPE_COUNT)
        return s->recipe->output;
    if ((s->file->flags & OUTPUT_Q8) || (s->holding & FALCON) || !fits(t, type))
        return T(Q8_0);
    if (s->file->flags & OUTPUT_Q5)
        return T(Q5_K);
    return type == T(Q8_0) ? type : T(Q6_K);
}

/* MXFP4_MOE: stacks of experts are MXFP4. MLA has stacks too, which only one architecture's rule tells apart. */
static enum wfs_ggml_type choose_mxfp4(const struct state *s, const struct wfs_quant_tensor *t)
{
    bool is_ffn = t->category >= FFN_UP && t->category <= FFN_DOWN;

    if (t->n_matrices > 1 && (is_ffn || strcmp(s->model->arch, "bailingmoe3") != 0))
        return T(MXFP4);
    return T(Q8_0);
}

static int choose_mixture(struct state *s, const struct wfs_quant_tensor *t, struct wfs_quant_choice *ret,
                          struct wfs_error *err)
{
    enum category c = (enum category)t->category;
    const struct file_type *file = s->file;
    unsigned holding = s->holding;
    enum wfs_ggml_type type;
    int64_t place;
    int r;

    if (c == OUTPUT || (c == TOKEN_EMBD && s->tied)) {
        ret->wanted = choose_output(s, t);
        ret->by = s->recipe->output != WFS_TYPE_COUNT ? WFS_QUANT_BY_OUTPUT : WFS_QUANT_BY_RULES;
        return 0;
    }
    if (file->number == WFS_FTYPE_MXFP4_MOE) {
        ret->wanted = choose_mxfp4(s, t);
        return 0;
    }
    r = find_place(s, t, &place, err);
    if (r < 0)
        return r;
    holding |= place_conditions(place, s->of[c]);
    holding |= s->seen[c] < s->of[c] / 8 ? COUNTED_8TH : 0;
    type = apply(file->rules, MAX_RULES, c, holding, file->type);
    if (!(file->flags & LOW)) {
        /* In a 70B model eight heads share a V, so that more bits for it cost little. */
        if (c == ATTN_V && (type == T(Q3_K) || type == T(Q4_K)) && is_70b(s->model))
            type = T(Q5_K);
        type = apply(rules_of_8_experts, sizeof rules_of_8_experts / sizeof *rules_of_8_experts, c, holding, type);
        if (c == ATTN_OUT && (holding & NOT_FALCON) && (holding & EXPERTS8) && (file->flags & OUT8))
            type = T(Q5_K);
    }
    s->seen[c]++;
    ret->wanted = type;
    return 0;
}

static int fit(const struct wfs_quant_tensor *t, enum wfs_ggml_type wanted, enum wfs_ggml_type *ret,
               struct wfs_error *err)
{
    enum wfs_ggml_type type = wanted;

    if (!fits(t, type)) {
        type = fallback_of(type);
        if (type == WFS_TYPE_COUNT)
            return wfs_error_set(err, EINVAL,
                                 "tensor %s: rows of %llu elements are not whole %s blocks, and llama-quantize "
                                 "has no type to fall back to (\"no tensor type fallback is defined\")",
                                 t->name, (unsigned long long)t->row_elems, wfs_ggml_types[wanted].name);
        if (!fits(t, type))
            type = T(F16);
    }
    *ret = type;
    return 0;
}

/* 1 and the choice when an override matches the name; 0; a negative errno. */
static int find_override(const struct wfs_quant_recipe *recipe, const char *name, struct wfs_quant_choice *ret,
                         struct wfs_error *err)
{
    for (size_t i = 0; i < recipe->n_overrides; i++) {
        int r = wfs_name_pattern_matches(recipe->overrides[i].pattern, name, err);

        if (r > 0) {
            ret->wanted = recipe->overrides[i].type;
            ret->by = WFS_QUANT_BY_OVERRIDE + (uint32_t)i;
        }
        if (r != 0)
            return r;
    }
    return 0;
}

/* A type that the user asked for is taken as it is: llama-quantize aborts when the rows do not fit. */
static int take_given(const struct wfs_quant_tensor *t, enum wfs_ggml_type given, uint32_t by,
                      struct wfs_quant_choice *ret, struct wfs_error *err)
{
    ret->wanted = given;
    ret->by = by;
    if (!fits(t, given))
        return wfs_error_set(err, EINVAL,
                             "tensor %s: rows of %llu elements are not whole %s blocks, the type that was asked for",
                             t->name, (unsigned long long)t->row_elems, wfs_ggml_types[given].name);
    ret->type = given;
    return 0;
}

static int choose(struct state *s, const struct wfs_quant_tensor *t, struct wfs_quant_choice *ret,
                  struct wfs_error *err)
{
    const struct wfs_quant_recipe *recipe = s->recipe;
    int r = 0;

    ret->type = ret->wanted = t->type;
    ret->by = WFS_QUANT_BY_NAME;
    if (t->n_dims < 2 || t->kept)
        return 0;
    if (t->category == OUTPUT && recipe->leave_output) {
        ret->by = WFS_QUANT_BY_LEAVE_OUTPUT;
        return 0;
    }
    if (t->category == TOKEN_EMBD && recipe->token_embedding != WFS_TYPE_COUNT)
        return take_given(t, recipe->token_embedding, WFS_QUANT_BY_TOKEN_EMBEDDING, ret, err);
    if (t->category == OUTPUT && recipe->output != WFS_TYPE_COUNT)
        return take_given(t, recipe->output, WFS_QUANT_BY_OUTPUT, ret, err);
    ret->wanted = s->file->type;
    ret->by = WFS_QUANT_BY_RULES;
    if (!is_plain(s->file->type)) {
        r = find_override(recipe, t->name, ret, err);
        if (r == 0 && recipe->pure)
            ret->by = WFS_QUANT_BY_PURE;
        else if (r == 0)
            r = choose_mixture(s, t, ret, err);
    }
    return r < 0 ? r : fit(t, ret->wanted, &ret->type, err);
}

/* tensor_requires_imatrix, and ggml_quantize_requires_imatrix, on which ggml aborts. */
static bool needs_weights(const struct state *s, const struct wfs_quant_tensor *t, enum wfs_ggml_type type)
{
    switch (type) {
    case T(IQ2_XXS):
    case T(IQ2_XS):
    case T(IQ1_S):
        return true;
    case T(IQ3_XXS):
    case T(IQ2_S):
    case T(IQ1_M):
        return t->category != TOKEN_EMBD && t->category != OUTPUT;
    case T(Q2_K):
        return s->file->number == WFS_FTYPE_Q2_K_S && t->category != TOKEN_EMBD && t->category != OUTPUT;
    default:
        return false;
    }
}

int wfs_quant_choose(const struct wfs_quant_recipe *recipe, const struct wfs_quant_model *model,
                     const struct wfs_quant_tensor *tensors, size_t n, struct wfs_quant_choice *ret,
                     struct wfs_error *err)
{
    struct state s = { .recipe = recipe, .model = model, .tied = true };

    s.file = find_file_type(recipe->file_type);
    if (!s.file)
        return wfs_error_set(err, ENOTSUP, "GGUF file type %d is not supported", (int)recipe->file_type);
    s.holding = model_conditions(recipe, model);
    for (size_t i = 0; i < n; i++) {
        if (tensors[i].category == OUTPUT)
            s.tied = false;
        if (tensors[i].category == ATTN_V)
            s.of[ATTN_V]++;
    }
    s.of[FFN_UP] = s.of[FFN_GATE] = s.of[FFN_DOWN] = model->n_layers;
    for (size_t i = 0; i < n; i++) {
        int r = choose(&s, &tensors[i], &ret[i], err);

        if (r < 0)
            return r;
        ret[i].needs_weights = ret[i].type != tensors[i].type && needs_weights(&s, &tensors[i], ret[i].type);
    }
    return 0;
}
