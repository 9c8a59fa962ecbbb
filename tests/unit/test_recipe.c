/* Recipes of users. The words are llama-quantize's flags; that their bytes are, tests/interop shows. */
#include "check.h"
#include "gguf/name_pattern.h"
#include "gguf/recipe.h"

#include <errno.h>
#include <string.h>

static struct wfs_gguf_recipe *recipe;
static struct wfs_error err;

static int parse(const char *text)
{
    recipe = NULL;
    return wfs_gguf_recipe_parse(text, strlen(text), &recipe, &err);
}

static void test_words(void **state)
{
    const struct wfs_quant_recipe *q;

    (void)state;
    assert_int_equal(parse("model-mine.gguf q4_k_m output=q8_0 token-embedding=Q6_K tensor-type=FFN_down=q5_k\t"
                           "tensor-type=attn_v=bf16 pure leave-output-tensor imatrix=a\\ b.dat"), 0);
    q = &recipe->request.recipe;
    assert_string_equal(recipe->view, "model-mine.gguf");
    assert_false(recipe->request.converter);
    assert_int_equal(q->file_type, WFS_FTYPE_Q4_K_M);
    assert_int_equal(q->output, WFS_TYPE_Q8_0);
    assert_int_equal(q->token_embedding, WFS_TYPE_Q6_K);
    assert_true(q->pure && q->leave_output);
    assert_string_equal(recipe->request.imatrix_file, "a b.dat");
    assert_int_equal(q->n_overrides, 2);
    assert_int_equal(q->overrides[0].type, WFS_TYPE_Q5_K);
    assert_int_equal(wfs_name_pattern_matches(q->overrides[0].pattern, "blk.0.ffn_down.weight", &err), 1);
    assert_int_equal(q->overrides[1].type, WFS_TYPE_BF16);
    wfs_gguf_recipe_unref(wfs_gguf_recipe_ref(recipe));
    wfs_gguf_recipe_unref(recipe);
}

static void test_plain(void **state)
{
    (void)state;
    assert_int_equal(parse("  x.gguf   IQ4_XS  "), 0);
    assert_int_equal(recipe->request.recipe.file_type, WFS_FTYPE_IQ4_XS);
    assert_int_equal(recipe->request.recipe.output, WFS_TYPE_COUNT);
    assert_int_equal(recipe->request.recipe.token_embedding, WFS_TYPE_COUNT);
    assert_null(recipe->request.imatrix_file);
    wfs_gguf_recipe_unref(recipe);
    /* The flags by their whole names; a backslash that is no blank's stays in a pattern. */
    assert_int_equal(parse("x.gguf f16 output-tensor-type=q8_0 token-embedding-type=q4_0 "
                           "tensor-type=blk\\.0\\.=q8_0"), 0);
    assert_false(recipe->request.converter); /* llama-quantize's F16, not the converter's */
    assert_int_equal(recipe->request.recipe.output, WFS_TYPE_Q8_0);
    assert_int_equal(recipe->request.recipe.token_embedding, WFS_TYPE_Q4_0);
    assert_int_equal(wfs_name_pattern_matches(recipe->request.recipe.overrides[0].pattern, "blk.0.x", &err), 1);
    assert_int_equal(wfs_name_pattern_matches(recipe->request.recipe.overrides[0].pattern, "blk.0-x", &err), 0);
    wfs_gguf_recipe_unref(recipe);
}

static void test_errors(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        { "", "it is empty" },
        { "model-mine.gguf", "behind \"model-mine.gguf\" comes a file type" },
        { "model-mine q4_k_m", "\"model-mine\": a recipe begins with the name" },
        { ".gguf q4_k_m", "begins with the name of a file" },
        { ".x.gguf q4_k_m", "begins with no dot" },
        { "a/b.gguf q4_k_m", "\"a/b.gguf\": a name is UTF-8 without /" },
        { "a*.gguf q4_k_m", "a name is UTF-8 without" },
        { "a\xff.gguf q4_k_m", "a name is UTF-8" },
        { "a\x01.gguf q4_k_m", "no control characters" },
        { "model-q4_k_m.gguf q4_k_m", "\"model-q4_k_m.gguf\": there is a view of this name already" },
        { "x.gguf q9", "\"q9\" is not a file type of llama-quantize; allowed are f32, f16, bf16, q8_0" },
        { "x.gguf copy", "\"copy\" is not a file type" },
        { "x.gguf q4_0 outptu=q8_0", "\"outptu=q8_0\" is not a word of a recipe; allowed are output=TYPE, token-" },
        { "x.gguf q4_0 output", "\"output\": this word needs a value" },
        { "x.gguf q4_0 output=", "\"output=\": this word needs a value" },
        { "x.gguf q4_0 output=q8_k", "\"output=q8_k\" does not end in a type of tensors" },
        { "x.gguf q4_0 output=q4_k_m", "allowed are f32, f16, q4_0" },
        { "x.gguf q4_0 output=q8_0 output=q8_0", "said before" },
        { "x.gguf q4_0 pure pure", "\"pure\": this was said before" },
        { "x.gguf q4_0 pure=1", "\"pure=1\": this word takes no value" },
        { "x.gguf q4_0 tensor-type=q8_0", "after tensor-type= comes a pattern" },
        { "x.gguf q4_0 tensor-type==q8_0", "after tensor-type= comes a pattern" },
        { "x.gguf q4_0 tensor-type=a=b", "\"tensor-type=a=b\" does not end in a type" },
        { "x.gguf q4_0 tensor-type=(a=q8_0", "the pattern \"(a\" at byte 3: a group is not closed" },
        { "x.gguf q4_0 imatrix=a imatrix=b", "said before" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (parse(cases[i].text) != -EINVAL)
            fail_msg("taken: %s", cases[i].text);
        assert_null(recipe);
        assert_contains(err.msg, cases[i].said);
    }
    assert_int_equal(wfs_gguf_recipe_parse("x.gguf q4_0 \0", 13, &recipe, &err), -EINVAL);
    wfs_gguf_recipe_unref(NULL);
}

static void check_notes(const char *text, bool tied, const char *said)
{
    struct wfs_quant_tensor tensors[] = {
        { .name = "token_embd.weight", .row_elems = 256, .n_matrices = 1, .n_dims = 2, .type = WFS_TYPE_BF16 },
        { .name = "blk.0.attn_norm.weight", .row_elems = 256, .n_matrices = 1, .n_dims = 1, .type = WFS_TYPE_F32 },
        { .name = "blk.0.ffn_down.weight", .row_elems = 256, .n_matrices = 1, .n_dims = 2, .type = WFS_TYPE_BF16 },
        { .name = "output.weight", .row_elems = 256, .n_matrices = 1, .n_dims = 2, .type = WFS_TYPE_BF16 },
    };
    struct wfs_quant_model model = { "llama", 1, 1, 1, 0 };
    struct wfs_quant_choice choices[4];
    struct wfs_buf notes = WFS_BUF_INIT;
    size_t n = tied ? 3 : 4;

    for (size_t i = 0; i < n; i++)
        wfs_quant_classify(&tensors[i]);
    assert_int_equal(parse(text), 0);
    assert_int_equal(wfs_quant_choose(&recipe->request.recipe, &model, tensors, n, choices, &err), 0);
    wfs_quant_notes(&recipe->request.recipe, tensors, choices, n, &notes);
    wfs_buf_u8(&notes, 0);
    assert_string_equal((const char *)notes.data, said);
    wfs_buf_done(&notes);
    wfs_gguf_recipe_unref(recipe);
}

/* Words that the reference passes over; which one it heeds is its order in llama-quant.cpp. */
static void test_notes(void **state)
{
    (void)state;
    check_notes("x.gguf q4_k_m", false, "");
    check_notes("x.gguf q4_k_m output=q8_0 token-embedding=q6_k tensor-type=FFN_DOWN=q5_k", false, "");
    check_notes("x.gguf q4_k_m output=q8_0", true, "");
    check_notes("x.gguf q4_k_m pure leave-output-tensor", false, "");
    check_notes("x.gguf q4_k_m tensor-type=fnn=q5_k", false,
                "tensor-type=fnn=q5_k decides about no tensor: its pattern is found in no tensor's name\n");
    check_notes("x.gguf q4_k_m tensor-type=ffn=q5_k tensor-type=down=q6_k tensor-type=norm=q6_k", false,
                "tensor-type=down=q6_k decides about no tensor: what it is found in is not quantised, or another word "
                "comes first there\n"
                "tensor-type=norm=q6_k decides about no tensor: what it is found in is not quantised, or another word "
                "comes first there\n");
    check_notes("x.gguf q4_k_m output=q8_0 leave-output-tensor", false,
                "output=q8_0 decides about no tensor: leave-output-tensor comes first\n");
    check_notes("x.gguf q4_k_m output=q8_0 leave-output-tensor", true,
                "leave-output-tensor decides about no tensor: the model has no output.weight\n");
    check_notes("x.gguf q4_k_m output=q8_0 token-embedding=q6_k", true,
                "output=q8_0 decides about no tensor: the model has no output.weight, and token-embedding= comes first "
                "for its embedding\n");
    check_notes("x.gguf q4_k_m output=q8_0 pure", true,
                "output=q8_0 decides about no tensor: the model has no output.weight, and pure comes first for its "
                "embedding\n");
    check_notes("x.gguf f16 pure tensor-type=ffn=q8_0", false,
                "pure decides about no tensor: files of this type have no rules to leave out\n"
                "tensor-type=ffn=q8_0 decides about no tensor: patterns count in quantised files only\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_notes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
