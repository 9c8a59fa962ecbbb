/*
 * Which files make a model and what becomes of contradictions. Expected outcomes: the pinned converter's index_tensors
 * and transformers' choice of files, both read in their sources.
 */
#include "shards.h"
#include "base/buf.h"

/* A file with F32 tensors of one element, in this order of bytes. */
static struct bytes shard(const char *const *names)
{
    struct wfs_buf b = WFS_BUF_INIT;
    unsigned n = 0;

    wfs_buf_u64le(&b, 0);
    wfs_buf_str(&b, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (; names[n]; n++)
        wfs_buf_printf(&b, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%u,%u]}", names[n], 4 * n,
                       4 * n + 4);
    wfs_buf_str(&b, "}");
    for (unsigned i = 0; i < 8; i++)
        b.data[i] = (uint8_t)((b.len - 8) >> (8 * i));
    wfs_buf_fill(&b, 1, 4 * n);
    return (struct bytes){ b.data, b.len };
}
#define SHARD(...) shard((const char *const[]){ __VA_ARGS__, NULL })
#define S1 "model-00001-of-00002.safetensors"
#define S2 "model-00002-of-00002.safetensors"

struct expect {
    const char *tensors; /* "name@file index" of each, joined by spaces */
    const char *problem, *problem_gguf, *note; /* parts of them; NULL = none */
};

static void check_text(const char *got, const char *want, const char *what)
{
    if (!want && got)
        fail_msg("%s: \"%s\"", what, got);
    if (want && !got)
        fail_msg("%s: none, not \"%s\"", what, want);
    if (want)
        assert_contains(got, want);
}

static void check(struct folder f, struct expect want)
{
    struct wfs_model *m = build_model(&f);
    struct wfs_buf list = WFS_BUF_INIT;

    for (size_t i = 0; i < m->n_tensors; i++) {
        uint32_t at = UINT32_MAX;

        wfs_buf_printf(&list, "%s%s@%u", i ? " " : "", m->tensors[i].name, m->tensors[i].file);
        assert_true(wfs_map_get(&m->by_name, m->tensors[i].name, m->tensors[i].name_len, &at));
        assert_int_equal(at, i);
    }
    wfs_buf_u8(&list, 0);
    assert_string_equal((const char *)list.data, want.tensors);
    check_text(m->problem, want.problem, "problem");
    check_text(m->problem_gguf, want.problem_gguf, "problem_gguf");
    check_text(m->note, want.note, "note");
    wfs_buf_done(&list);
    wfs_model_free(m);
    for (size_t i = 0; i < f.n; i++)
        free(f.files[i].data);
}

static void single(void **state)
{
    (void)state;
    check((struct folder){ { "model.safetensors" }, { SHARD("b", "a", "C") }, 1, NULL },
          (struct expect){ "C@0 a@0 b@0", NULL, NULL, NULL });
    check((struct folder){ { "config.json" }, { { NULL, 0 } }, 1, NULL },
          (struct expect){ "",
                           "no model.safetensors, model.safetensors.index.json or model-*.safetensors in the folder",
                           NULL, NULL });
    check((struct folder){ { "consolidated.safetensors" }, { SHARD("a") }, 1, NULL },
          (struct expect){ "", "(consolidated.safetensors is not read)", NULL, NULL });
    check((struct folder){ { "pytorch_model-00001-of-00001.bin" }, { { NULL, 0 } }, 1, NULL },
          (struct expect){ "", "(pytorch_model-00001-of-00001.bin is not read)", NULL, NULL });
    /* transformers takes model.safetensors, the converter would take both. */
    check((struct folder){ { "model.fp16.safetensors", "model.safetensors" }, { SHARD("a"), SHARD("a", "b") }, 2,
                           NULL },
          (struct expect){ "a@0 b@0", NULL, "model.fp16.safetensors lies beside model.safetensors", NULL });
}

static void shards_without_index(void **state)
{
    (void)state;
    check((struct folder){ { S1, S2 }, { SHARD("z", "b"), SHARD("a") }, 2, NULL },
          (struct expect){ "b@0 z@0 a@1", NULL, NULL, NULL });
    check((struct folder){ { "consolidated.safetensors", S1, S2 }, { SHARD("q"), SHARD("b"), SHARD("a") }, 3, NULL },
          (struct expect){ "b@0 a@1", NULL, NULL, NULL });
    check((struct folder){ { S2 }, { SHARD("a") }, 1, NULL },
          (struct expect){ "a@0", S1 " is absent, and there is no index", NULL, NULL });
    check((struct folder){ { S1, S2 }, { SHARD("a", "b"), SHARD("b", "c") }, 2, NULL },
          (struct expect){ "a@0 c@1", "tensor \"b\" is both in " S1 " and in " S2, NULL, NULL });
}

static void by_index(void **state)
{
    (void)state;
    check((struct folder){ { S1, S2 }, { SHARD("b"), SHARD("a") }, 2,
                           "{\"weight_map\":{\"a\":\"" S2 "\",\"b\":\"" S1 "\"}}" },
          (struct expect){ "b@0 a@1", NULL, NULL, NULL });
    /* one file, whatever its name */
    check((struct folder){ { "x.safetensors" }, { SHARD("a") }, 1, "{\"weight_map\":{\"a\":\"x.safetensors\"}}" },
          (struct expect){ "a@0", NULL, NULL, NULL });
    /* the last of two equal keys counts, as in Python */
    check((struct folder){ { S1, S2 }, { SHARD("b"), SHARD("a") }, 2,
                           "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"" S1 "\",\"a\":\"" S2 "\"}}" },
          (struct expect){ "b@0 a@1", NULL, NULL, NULL });
    check((struct folder){ { S1 }, { SHARD("a") }, 1, "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"" S2 "\"}}" },
          (struct expect){ "a@0", S2 ": it is absent", NULL, NULL });
    check((struct folder){ { S1, S2 }, { SHARD("a"), SHARD("b") }, 2,
                           "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"" S2 "\",\"c\":\"" S2 "\"}}" },
          (struct expect){ "a@0 b@1", "the index puts tensor \"c\" into " S2 ", which does not hold it", NULL, NULL });
    check((struct folder){ { S1, S2 }, { SHARD("a"), SHARD("b", "x") }, 2,
                           "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"" S2 "\"}}" },
          (struct expect){ "a@0 b@1", NULL, "tensor \"x\" in " S2 " is not in the index", "left out" });
    check((struct folder){ { S1, S2 }, { SHARD("a", "b"), SHARD("a", "b") }, 2,
                           "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"" S2 "\"}}" },
          (struct expect){ "a@0 b@1", NULL, "the index puts it into " S2, "is left out" });
    /* the index's file lacks the tensor that another one has */
    check((struct folder){ { S1, S2 }, { SHARD("a", "b"), SHARD("c") }, 2,
                           "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"" S2 "\",\"c\":\"" S2 "\"}}" },
          (struct expect){ "a@0 c@1", "the index puts tensor \"b\" into " S2 ", which does not hold it",
                           "tensor \"b\" is in " S1, "is left out" });
}

static void index_and_single(void **state)
{
    (void)state;
    check((struct folder){ { S1, "model.safetensors" }, { SHARD("a"), SHARD("a", "b") }, 2,
                           "{\"weight_map\":{\"a\":\"" S1 "\"}}" },
          (struct expect){ "a@0", NULL, NULL, "the folder has a model.safetensors besides an index" });
    check((struct folder){ { "model.safetensors" }, { SHARD("a") }, 1,
                           "{\"weight_map\":{\"a\":\"model.safetensors\"}}" },
          (struct expect){ "a@0", NULL, NULL, NULL });
    /* model.safetensors as one shard of several: readers of the single name see only that */
    check((struct folder){ { S1, "model.safetensors" }, { SHARD("a"), SHARD("b") }, 2,
                           "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"model.safetensors\"}}" },
          (struct expect){ "a@0 b@1", NULL, NULL, "the folder has a model.safetensors besides an index" });
    /* transformers would not look at the broken index, the converter would */
    check((struct folder){ { "model.safetensors" }, { SHARD("a") }, 1, "{" },
          (struct expect){ "a@0", NULL, "model.safetensors.index.json: JSON: line 1 column 2", NULL });
}

static void broken_index(void **state)
{
    static const struct {
        const char *index, *tensors, *problem;
    } cases[] = {
        { "[]", "a@0", "model.safetensors.index.json: no object \"weight_map\"" },
        { "{\"weight_map\":[]}", "a@0", "no object \"weight_map\"" },
        { "{\"weight_map\":{}}", "", "weight_map names no file" },
        { "\xef\xbb\xbf{}", "a@0", "byte order mark" },
        { "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"../" S1 "\"}}", "a@0", "puts tensor \"b\" into \"../" S1 "\"" },
        { "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"/etc/passwd\"}}", "a@0",
          "puts tensor \"b\" into \"/etc/passwd\"" },
        { "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"..\"}}", "a@0", "which is not the name of a file in this folder" },
        { "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"\"}}", "a@0", "which is not the name of a file in this folder" },
        { "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"sub/x.safetensors\"}}", "a@0",
          "\"sub/x.safetensors\", which is not" },
        { "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"x\\u0000\"}}", "a@0",
          "which is not the name of a file in this folder" },
        { "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":7}}", "a@0", "the value of \"b\" is not a string" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check((struct folder){ { S1 }, { SHARD("a") }, 1, cases[i].index },
              (struct expect){ cases[i].tensors, cases[i].problem, NULL, NULL });
}

/* The broken shard and the missing bytes are named; what the other one holds stays. */
static void truncated_shard(void **state)
{
    struct bytes cut = SHARD("b", "c");

    (void)state;
    cut.len -= 3;
    check((struct folder){ { S1, S2 }, { SHARD("a"), cut }, 2,
                           "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"" S2 "\",\"c\":\"" S2 "\"}}" },
          (struct expect){ "a@0", S2 ": the file is truncated: 3 bytes are missing", NULL, NULL });
}

static void hostile_names(void **state)
{
    (void)state;
    check((struct folder){ { S1, S2 }, { SHARD("a"), SHARD("b", "x\\u001b[31m") }, 2,
                           "{\"weight_map\":{\"a\":\"" S1 "\",\"b\":\"" S2 "\"}}" },
          (struct expect){ "a@0 b@1", NULL, "tensor \"x\\x1b[31m\"", "\\x1b" });
}

/* A few lines, whatever the number of causes. */
static void many_reasons(void **state)
{
    struct wfs_buf index = WFS_BUF_INIT;

    (void)state;
    wfs_buf_str(&index, "{\"weight_map\":{\"a\":\"" S1 "\"");
    for (unsigned i = 0; i < 500; i++)
        wfs_buf_printf(&index, ",\"lost.%u\":\"" S1 "\"", i);
    wfs_buf_str(&index, "}}");
    wfs_buf_u8(&index, 0);
    check((struct folder){ { S1 }, { SHARD("a") }, 1, (const char *)index.data },
          (struct expect){ "a@0", "; and 497 more like these", NULL, NULL });
    wfs_buf_done(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single),        cmocka_unit_test(shards_without_index), cmocka_unit_test(by_index),
        cmocka_unit_test(index_and_single), cmocka_unit_test(broken_index),      cmocka_unit_test(truncated_shard),
        cmocka_unit_test(hostile_names), cmocka_unit_test(many_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
