/*
 * The tokenizer against vectors of the reference (tests/vectors/tokenizer, written by tests/interop/check_tokenizer.py
 * --vectors), and against broken input.
 */
#include "check.h"
#include "json.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/fingerprint.h"
#include "tokenizer/hf.h"
#include "tokenizer/regex.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/split.h"
#include "tokenizer/tokenizer.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#define VECTORS WFS_TEST_VECTORS "/tokenizer"

enum { MAX_FILES = 12 };

/* A folder in memory. */
struct memory_folder {
    struct wfs_folder folder;
    struct {
        char name[256];
        struct wfs_blob blob;
    } files[MAX_FILES];
    size_t n;
    const char *names[MAX_FILES];
};

static int read_memory(void *ctx, const char *name, struct wfs_blob *ret, struct wfs_error *err)
{
    const struct memory_folder *m = ctx;

    (void)err;
    for (size_t i = 0; i < m->n; i++) {
        if (strcmp(m->files[i].name, name) == 0) {
            ret->len = m->files[i].blob.len;
            ret->data = malloc(ret->len + 1);
            memcpy(ret->data, m->files[i].blob.data, ret->len);
            return 1;
        }
    }
    return 0;
}

static struct wfs_blob read_whole(const char *path)
{
    struct wfs_blob blob = { NULL, 0 };
    FILE *file = fopen(path, "rb");
    struct stat st;

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    blob.len = (size_t)st.st_size;
    blob.data = malloc(blob.len + 1);
    assert_int_equal(fread(blob.data, 1, blob.len, file), blob.len);
    blob.data[blob.len] = 0;
    fclose(file);
    return blob;
}

static void add_file(struct memory_folder *m, const char *name, struct wfs_blob blob)
{
    assert_true(m->n < MAX_FILES);
    snprintf(m->files[m->n].name, sizeof m->files[m->n].name, "%s", name);
    m->names[m->n] = m->files[m->n].name;
    m->files[m->n++].blob = blob;
    m->folder = (struct wfs_folder){ .ctx = m, .read = read_memory, .names = m->names, .n_names = m->n, .path = "/m" };
}

static void add_text(struct memory_folder *m, const char *name, const char *text)
{
    add_file(m, name, (struct wfs_blob){ (uint8_t *)strdup(text), strlen(text) });
}

static void load_folder(struct memory_folder *m, const char *name)
{
    char path[512];
    struct dirent *entry;
    DIR *dir;

    memset(m, 0, sizeof *m);
    snprintf(path, sizeof path, VECTORS "/%s", name);
    dir = opendir(path);
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, VECTORS "/%s/%s", name, entry->d_name);
        add_file(m, entry->d_name, read_whole(path));
    }
    closedir(dir);
}

static void free_folder(struct memory_folder *m)
{
    for (size_t i = 0; i < m->n; i++)
        wfs_blob_done(&m->files[i].blob);
}

static struct wfs_blob *file_of(struct memory_folder *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++) {
        if (strcmp(m->files[i].name, name) == 0)
            return &m->files[i].blob;
    }
    return NULL;
}

struct asked {
    char method[16], pre[32], hash[80];
    int size;
};

static int write_keys(const struct memory_folder *m, const struct asked *a, const char *pre, struct wfs_buf *out,
                      struct wfs_error *err)
{
    struct wfs_tokenizer_request request = {
        .folder = &m->folder,
        .method = strcmp(a->method, "qwen2") == 0 ? WFS_VOCAB_QWEN2 : WFS_VOCAB_LLAMA,
        .vocab_size = a->size,
        .force_pre = pre && strcmp(pre, "-") != 0 ? pre : NULL,
    };
    struct wfs_kv_list kv;
    uint64_t n_tokens = UINT64_MAX;
    int r;

    *err = (struct wfs_error){ 0, "" };
    wfs_kv_init(&kv);
    r = wfs_tokenizer_write(&request, &kv, &n_tokens, err);
    if (r == 0) {
        assert_int_equal(wfs_kv_serialise(&kv, out), 0);
        assert_true(n_tokens <= INT32_MAX);
    } else {
        assert_true(r < 0);
        assert_int_equal(r, -err->code);
        assert_true(err->msg[0] != 0);
    }
    wfs_kv_done(&kv);
    return r;
}

static struct asked asked_of(struct memory_folder *m)
{
    struct asked a;

    assert_int_equal(
        sscanf((const char *)file_of(m, "request.txt")->data, "%15s %d %31s %79s", a.method, &a.size, a.pre, a.hash),
        4);
    return a;
}

static const char *const vectors[] = {
    "llama3", "llama3-base", "merges-legacy", "qwen3", "added-looks", "added-bytes", "post-sep-twice", "spm",
    "spm-decoder", "spm-boolean-ids", "hf", "hf-added", "chat-list-default-and-one", "chat-jinja", "affix-empty",
    "max-length-boolean",
};

static void keys_are_the_references(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct memory_folder m;
        struct wfs_buf out = WFS_BUF_INIT;
        struct wfs_error err;
        struct asked a;
        const struct wfs_blob *wanted;

        load_folder(&m, vectors[i]);
        a = asked_of(&m);
        if (write_keys(&m, &a, a.pre, &out, &err) < 0)
            fail_msg("%s: %s", vectors[i], err.msg);
        wanted = file_of(&m, "keys.bin");
        if (out.len != wanted->len || memcmp(out.data, wanted->data, out.len) != 0)
            fail_msg("%s: the keys are not those of the reference", vectors[i]);
        wfs_buf_done(&out);
        /* Not in the converter's table: the message has the hash, the patterns and the way out. */
        if (strcmp(a.hash, "-") != 0) {
            assert_true(write_keys(&m, &a, NULL, &out, &err) < 0);
            assert_contains(err.msg, a.hash);
            assert_contains(err.msg, "pretokenizer=NAME");
            assert_contains(err.msg, "'(?i:'s|'t|'re|'ve|'m|'ll|'d)|");
        }
        free_folder(&m);
    }
}

static void a_forced_name_must_be_known(void **state)
{
    struct memory_folder m;
    struct wfs_buf out = WFS_BUF_INIT;
    struct wfs_error err;
    struct asked a;

    (void)state;
    load_folder(&m, "llama3");
    a = asked_of(&m);
    assert_int_equal(write_keys(&m, &a, "llama-bpx", &out, &err), -22);
    assert_contains(err.msg, "option pretokenizer=llama-bpx: not a name that the converter knows");
    free_folder(&m);
}

static void splits_are_the_librarys(void **state)
{
    struct wfs_blob text = read_whole(VECTORS "/splits.json");
    struct wfs_json *json;
    struct wfs_error err;
    size_t rows = 0;

    (void)state;
    assert_int_equal(wfs_json_parse(text.data, text.len, &WFS_JSON_CONFIG, "splits.json", &json, &err), 0);
    for (const cJSON *row = wfs_json_root(json)->child; row; row = row->next, rows++) {
        const char *name = wfs_json_string(wfs_json_get(row, "name"));
        const char *line = wfs_json_string(wfs_json_get(row, "text"));
        const cJSON *word = wfs_json_get(row, "words")->child;
        struct wfs_pieces pieces = WFS_PIECES_INIT;
        struct wfs_splitter *splitter;

        if (wfs_splitter_new(wfs_json_get(row, "pre_tokenizer"), WFS_PREFIX_SPACE_KEEP, &splitter, &err) < 0)
            fail_msg("%s: %s", name, err.msg);
        wfs_pieces_add(&pieces, line, strlen(line), WFS_PIECE_TEXT);
        assert_int_equal(wfs_splitter_run(splitter, &pieces, &err), 0);
        for (size_t i = 0; i < wfs_pieces_count(&pieces); i++, word = word->next) {
            const struct wfs_piece *p = wfs_pieces_get(&pieces, i);

            if (!word || strlen(word->valuestring) != p->len ||
                memcmp(word->valuestring, wfs_pieces_text(&pieces, p), p->len) != 0)
                fail_msg("%s: '%s': word %zu is '%.*s', not '%s'", name, line, i, (int)p->len,
                         wfs_pieces_text(&pieces, p), word ? word->valuestring : "(none)");
        }
        assert_null(word);
        wfs_pieces_done(&pieces);
        wfs_splitter_free(splitter);
    }
    assert_true(rows > 200);
    wfs_json_free(json);
    wfs_blob_done(&text);
}

/*
 * GPT-2's encoder: "!" to "~", U+00A1 to U+00AC and U+00AE to U+00FF are themselves, the others follow from U+0100 on.
 */
static void bytes_have_gpt2s_characters(void **state)
{
    static const struct {
        uint8_t byte;
        const char *character;
    } some[] = { { 0, "Ā" }, { '\n', "Ċ" }, { ' ', "Ġ" }, { '!', "!" }, { '~', "~" }, { 127, "ġ" }, { 128, "Ģ" },
                 { 160, "ł" }, { 161, "¡" }, { 172, "¬" }, { 173, "Ń" }, { 174, "®" }, { 255, "ÿ" } };
    bool seen[256] = { false };

    (void)state;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        struct wfs_buf out = WFS_BUF_INIT;

        wfs_byte_level_put(&out, (const char *)&some[i].byte, 1);
        wfs_buf_u8(&out, 0);
        assert_string_equal((const char *)out.data, some[i].character);
        wfs_buf_done(&out);
    }
    for (uint32_t c = 0; c < 0x300; c++) {
        int byte = wfs_byte_level_byte(c);

        if (byte < 0)
            continue;
        assert_false(seen[byte]);
        seen[byte] = true;
    }
    for (int byte = 0; byte < 256; byte++)
        assert_true(seen[byte]);
}

/* hashlib.sha256(str(ids).encode()).hexdigest() */
static void hashes_are_pythons(void **state)
{
    static const uint32_t ids[] = { 1, 22, 4294967295 };
    char hash[WFS_FINGERPRINT_HASH_SIZE];

    (void)state;
    assert_true(wfs_fingerprint_hash(ids, 3, hash));
    assert_string_equal(hash, "c7e5e19a45f23cd8b85a4c27694f229d30a52546e546b3305fa700ea020e953c");
    assert_true(wfs_fingerprint_hash(NULL, 0, hash));
    assert_string_equal(hash, "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945");
    assert_string_equal(wfs_fingerprint_name("0ef9807a4087ebef797fc749390439009c3b9eda9ad1a097abbe738f486c01e5"),
                        "llama-bpe");
    assert_null(wfs_fingerprint_name(hash));
    assert_true(wfs_fingerprint_known("qwen2"));
    assert_false(wfs_fingerprint_known("default"));
}

static void a_pattern_that_backtracks_without_end_fails(void **state)
{
    struct wfs_regex *regex;
    struct wfs_buf matches = WFS_BUF_INIT;
    struct wfs_error err;
    char text[200];

    (void)state;
    memset(text, 'a', sizeof text);
    assert_int_equal(wfs_regex_new("(?:a|a)+[bc]", WFS_REGEX_PATTERN, &regex, &err), 0);
    assert_int_equal(wfs_regex_find(regex, text, sizeof text, &matches, &err), -22);
    assert_contains(err.msg, "match limit exceeded");
    wfs_buf_done(&matches);
    wfs_regex_free(regex);
    assert_int_equal(wfs_regex_new("(", WFS_REGEX_PATTERN, &regex, &err), -22);
    assert_contains(err.msg, "the pattern '(' does not compile");
}

/* Every shorter model is refused or has fewer pieces (a cut between pieces leaves a sound one); none crashes. */
static void cut_sentencepiece_models_are_refused(void **state)
{
    struct memory_folder m;
    const struct wfs_blob *model;
    struct wfs_buf whole = WFS_BUF_INIT;
    size_t refused = 0;

    (void)state;
    load_folder(&m, "spm");
    model = file_of(&m, "tokenizer.model");
    assert_int_equal(wfs_sentencepiece_parse(model->data, model->len, &whole, NULL), 0);
    for (size_t len = 0; len < model->len; len++) {
        struct wfs_buf pieces = WFS_BUF_INIT;
        struct wfs_error err = { 0, "" };
        uint8_t *cut = malloc(len ? len : 1); /* so that a read beyond the end is seen */

        memcpy(cut, model->data, len);
        if (wfs_sentencepiece_parse(cut, len, &pieces, &err) < 0) {
            assert_contains(err.msg, "tokenizer.model");
            refused++;
        } else {
            assert_true(pieces.len <= whole.len);
        }
        wfs_buf_done(&pieces);
        free(cut);
    }
    assert_true(refused > model->len * 9 / 10);
    wfs_buf_done(&whole);
    free_folder(&m);
}

/* Bytes changed at random (by one seed) in every file: a message or a result, never a crash. */
/*
 * A NUL within a piece is refused by sentencepiece too; as a piece of its own it is there or not by the library's
 * version.
 */
static void a_piece_with_a_nul_is_refused(void **state)
{
    static const struct {
        const char *model;
        size_t len;
    } models[] = { { "\n\x07\n\x03" "a\0b\x18\x01", 9 }, { "\n\x05\n\x01" "\0\x18\x01", 7 } };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct wfs_buf pieces = WFS_BUF_INIT;
        struct wfs_error err = { 0, "" };

        assert_true(wfs_sentencepiece_parse((const uint8_t *)models[i].model, models[i].len, &pieces, &err) < 0);
        assert_contains(err.msg, "a NUL is in it");
        wfs_buf_done(&pieces);
    }
}

static void changed_bytes_do_no_harm(void **state)
{
    static const char *const files[] = { "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "config.json" };
    uint64_t chance = 88172645463325252u;
    size_t refused = 0;

    (void)state;
    for (size_t round = 0; round < 400; round++) {
        struct memory_folder m;
        struct wfs_buf out = WFS_BUF_INIT;
        struct wfs_error err;
        struct asked a;
        struct wfs_blob *blob;

        load_folder(&m, vectors[round % (sizeof vectors / sizeof *vectors)]);
        a = asked_of(&m);
        blob = file_of(&m, files[round / 7 % 4]);
        for (size_t i = 0; blob && i < 1 + round % 5; i++) {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            blob->data[chance % blob->len] =
                round % 2 ? (uint8_t)(chance >> 40) : "0123456789\"{}[],:-\\eE."[chance >> 40 & 15];
        }
        refused += write_keys(&m, &a, round % 3 ? a.pre : NULL, &out, &err) < 0;
        wfs_buf_done(&out);
        free_folder(&m);
    }
    assert_true(refused > 50);
}

/* Nothing is taken that the library refuses, and every sound part is. */
static void parts_are_the_librarys(void **state)
{
    struct wfs_blob text = read_whole(VECTORS "/parts.json");
    struct wfs_json *json;
    struct wfs_error err;
    size_t taken = 0, refused = 0;

    (void)state;
    assert_int_equal(wfs_json_parse(text.data, text.len, &WFS_JSON_CONFIG, "parts.json", &json, &err), 0);
    for (const cJSON *row = wfs_json_root(json)->child; row; row = row->next) {
        cJSON *value = row->child->next, *file = cJSON_CreateObject();
        bool takes = cJSON_IsTrue(value->next), sound = cJSON_IsTrue(value->next->next), ours;

        cJSON_AddItemReferenceToObject(file, row->child->valuestring, value);
        ours = wfs_hf_check_parts(file, &err) == 0;
        if (ours ? !takes : sound)
            fail_msg("%s is %s, but not by the library", cJSON_Print(row), ours ? "taken" : err.msg);
        if (!ours)
            assert_contains(err.msg, "tokenizer.json: ");
        taken += ours;
        refused += !ours;
        cJSON_Delete(file);
    }
    assert_true(taken > 200 && refused > 1000);
    wfs_json_free(json);
    free(text.data);
}

#define BPE(member) \
    "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]," member "},\"added_tokens\":[]}"
#define CLASS(member) "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"" member "}"

static void broken_folders_are_explained(void **state)
{
    static const struct {
        const char *file, *text, *message;
        const char *file2, *text2;
    } cases[] = {
        { "config.json", "{}", "no tokenizer.json", NULL, NULL },
        { "tekken.json", "{}", "tekken.json without a tokenizer.json", NULL, NULL },
        { "tokenizer.json", "{\"model\": {\"type\": \"BPE\"", "tokenizer.json: line 1 column", NULL, NULL },
        { "tokenizer.json", "version https://git-lfs.github.com/spec/v1\n", "tokenizer.json: line 1 column 1", NULL,
          NULL },
        { "tokenizer.json", "[]", "tokenizer.json: not an object", NULL, NULL },
        { "tokenizer.json", "{}", "no model, or one without a type", NULL, NULL },
        { "tokenizer.json", "{\"model\":{\"type\":\"WordPiece\"}}", "type 'WordPiece' is not supported", NULL, NULL },
        { "tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":16777216},\"merges\":[]}}", "over the limit",
          NULL, NULL },
        { "tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":9223372036854775808},\"merges\":[]}}",
          "not a 32-bit number", NULL, NULL },
        { "tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1,\"b\":1},\"merges\":[]}}",
          "'a' and 'b' have the same id, 1", NULL, NULL },
        { "tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1},\"merges\":[\"a b\"]}}",
          "number 0 ('a b')", NULL, NULL },
        { "tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1},\"merges\":[]},\"added_tokens\":[]}",
          "the tokenizer_class 'Strange' is not supported", "tokenizer_config.json",
          "{\"tokenizer_class\":\"Strange\"}" },
        { "tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]},\"added_tokens\":[]}",
          "an entry without a name or a template", "tokenizer_config.json",
          "{\"tokenizer_class\":\"PreTrainedTokenizerFast\",\"chat_template\":[{\"name\":\"a\"}]}" },
        { "tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]},\"added_tokens\":[]}",
          "auto_map is not an object", "tokenizer_config.json",
          "{\"tokenizer_class\":\"PreTrainedTokenizerFast\",\"auto_map\":1.5}" },
        { "tokenizer.model", "\n\x05\n\x01" "a\x18\x02\n\x05\n\x01" "a\x18\x03",
          "piece 1 ('a'): it is there twice", NULL, NULL },
        /* What follows the reference refuses as well (tokenizer_cases.py), but for the suffix. */
        { "tokenizer.json", "{\"model\":{\"type\":null,\"vocab\":{\"a\":0},\"merges\":[]}}",
          "no model, or one without a type", NULL, NULL },
        { "tokenizer.json", "{\"model\":{\"type\":1,\"vocab\":{\"a\":0},\"merges\":[]}}",
          "no model, or one without a type", NULL, NULL },
        { "tokenizer.json", BPE("\"continuing_subword_prefix\":\"##\""),
          "model.continuing_subword_prefix '##' is not supported", "tokenizer_config.json", CLASS("") },
        { "tokenizer.json", BPE("\"continuing_subword_prefix\":1"),
          "model.continuing_subword_prefix is not a string", "tokenizer_config.json", CLASS("") },
        { "tokenizer.json", BPE("\"end_of_word_suffix\":[]"), "model.end_of_word_suffix is not a string",
          "tokenizer_config.json", CLASS("") },
        { "tokenizer.json", BPE("\"end_of_word_suffix\":\"</w>\""),
          "model.end_of_word_suffix '</w>' is not supported", "tokenizer_config.json", CLASS("") },
        { "tokenizer.json", BPE("\"dropout\":null"), "model_max_length is not a number", "tokenizer_config.json",
          CLASS(",\"model_max_length\":\"4096\"") },
        { "tokenizer.json", BPE("\"dropout\":null"), "model_max_length is not a number", "tokenizer_config.json",
          CLASS(",\"model_max_length\":[4096]") },
        { "tokenizer.json", BPE("\"dropout\":null"), "model_max_length is not a number", "tokenizer_config.json",
          CLASS(",\"model_max_length\":{}") },
        { "tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}",
          "tokenizer_class is not a string", "tokenizer_config.json", "{\"tokenizer_class\":true}" },
        { "tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]},\"added_tokens\":[],"
          "\"decoder\":{\"type\":\"Strip\"}}",
          "tokenizer.json: decoder: the 'content' of a Strip is missing", "tokenizer_config.json",
          "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}" },
        { "tokenizer.model", "\n\xff\xff\xff\xff\x7f", "not a SentencePiece model", NULL, NULL },
        { "tokenizer.model", "", "no piece is the unknown one", NULL, NULL },
        { "tokenizer_config.json", "{", "tokenizer_config.json: line 1 column 2", "tokenizer.json", "{}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct memory_folder m = { .n = 0 };
        struct wfs_buf out = WFS_BUF_INIT;
        struct wfs_error err;
        struct asked a = { "llama", "", "", 100 };

        add_text(&m, cases[i].file, cases[i].text);
        if (cases[i].file2)
            add_text(&m, cases[i].file2, cases[i].text2);
        assert_true(write_keys(&m, &a, NULL, &out, &err) < 0);
        assert_contains(err.msg, cases[i].message);
        wfs_buf_done(&out);
        free_folder(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_the_references),
        cmocka_unit_test(a_forced_name_must_be_known),
        cmocka_unit_test(splits_are_the_librarys),
        cmocka_unit_test(bytes_have_gpt2s_characters),
        cmocka_unit_test(hashes_are_pythons),
        cmocka_unit_test(a_pattern_that_backtracks_without_end_fails),
        cmocka_unit_test(cut_sentencepiece_models_are_refused),
        cmocka_unit_test(a_piece_with_a_nul_is_refused),
        cmocka_unit_test(changed_bytes_do_no_harm),
        cmocka_unit_test(parts_are_the_librarys),
        cmocka_unit_test(broken_folders_are_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
