/*
 * The safetensors reader and writer against the real library: tests/vectors/make_containers.py wrote the files and the
 * library's verdict on every header of the corpus.
 */
#include "shards.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "containers/safetensors.h"
#include "writers/safetensors.h"

#include <time.h>

static const struct {
    const char *name, *message;
} messages[] = {
    { "bad empty file", "a file of 0 bytes is too short for safetensors" },
    { "bad short file", "a file of 3 bytes is too short for safetensors" },
    { "bad no header", "header: line 1 column 1: the text ends where a value should be" },
    { "bad header longer than file", "the header of 100 bytes is longer than the file: 98 bytes are missing" },
    { "bad header over the limit", "a header of 100000001 bytes, more than the limit of 100000000" },
    { "bad header huge", "a header of 18446744073709551615 bytes, more than the limit" },
    { "bad bom", "byte order mark" },
    { "bad utf8", "header: line 1 column 3: not valid UTF-8" },
    { "bad json", "header: line 1 column 6: the text ends" },
    { "bad trailing comma", "key is missing" },
    { "bad nan", "a value that JSON does not allow" },
    { "bad text behind", "something follows the JSON value" },
    { "bad nul behind", "something follows the JSON value" },
    { "bad array", "the header is not a JSON object" },
    { "bad surrogate", "half of a surrogate pair" },
    { "bad depth", "nested too deeply" },
    { "bad entry", "tensor \"a\": its entry is not an object" },
    { "bad dtype", "tensor \"a\": unknown dtype \"F33\"" },
    { "bad dtype case", "tensor \"a\": unknown dtype \"f32\"" },
    { "bad dtype number", "tensor \"a\": no dtype" },
    { "bad no dtype", "tensor \"a\": no dtype" },
    { "bad no shape", "tensor \"a\": no shape" },
    { "bad no offsets", "tensor \"a\": data_offsets is not an array of two" },
    { "bad shape negative", "tensor \"a\": dimension 0 is not a non-negative 64-bit integer" },
    { "bad shape float", "tensor \"a\": dimension 0 is not" },
    { "bad shape minus zero", "tensor \"a\": dimension 0 is not" },
    { "bad shape string", "tensor \"a\": dimension 0 is not" },
    { "bad shape object", "tensor \"a\": no shape, or one that is not an array" },
    { "bad shape over 64 bits", "tensor \"a\": dimension 0 is not" },
    { "bad shape overflow", "tensor \"a\": its number of elements overflows 64 bits" },
    { "bad shape overflow then zero", "tensor \"a\": its number of elements overflows 64 bits" },
    { "bad size overflow", "tensor \"a\": its size overflows 64 bits" },
    { "bad offsets one", "array of two" },
    { "bad offsets three", "array of two" },
    { "bad offsets negative", "array of two non-negative" },
    { "bad offsets float", "array of two" },
    { "bad offsets reversed", "tensor \"a\": data_offsets end (0) before they begin (4)" },
    { "bad shape and offsets", "tensor \"a\": its shape and dtype take 8 bytes, its data_offsets span 4" },
    { "bad overlap", "tensor \"b\": its bytes overlap those of tensor \"a\"" },
    { "bad same bytes", "overlap those of tensor" },
    { "bad hole", "tensor \"b\": a hole of 4 bytes in front of its bytes" },
    { "bad hole at start", "tensor \"a\": a hole of 4 bytes in front of its bytes" },
    { "bad truncated", "the file is truncated: 7 bytes are missing of the 20 bytes of tensors" },
    { "bad trailing bytes", "3 bytes of no tensor at the end of the file" },
    { "bad past the end", "the file is truncated: 1152921504606846972 bytes are missing" },
    { "bad sub-byte", "tensor \"a\": 3 elements of 4 bits do not fill whole bytes" },
    { "bad metadata number", "__metadata__: the value of \"a\" is not a string" },
    { "bad metadata array", "__metadata__ is not an object" },
    { "bad lfs pointer", "a Git LFS pointer instead of the 4976698672 bytes of weights" },
    { "strict duplicate key", "the key \"a\" appears twice" },
    { "strict duplicate metadata key", "the key \"a\" appears twice" },
    { "strict array entry", "tensor \"a\": its entry is not an object" },
    { "strict dimensions", "tensor \"a\": more than 32 dimensions" },
};

static const char *find_message(const char *name)
{
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        if (strcmp(messages[i].name, name) == 0)
            return messages[i].message;
    }
    fail_msg("no message for \"%s\"", name);
    return NULL;
}

/* Every header: accepted exactly when the library accepts it, but for the "strict" ones; refusals say why. */
static void corpus(void **state)
{
    struct bytes all = load_vector("containers/corpus.bin");
    struct wfs_cursor c = wfs_cursor_over(all.data, all.len);
    size_t n_refused = 0, n_accepted = 0;

    (void)state;
    while (wfs_cursor_left(&c)) {
        uint32_t name_len = 0, body_len = 0;
        uint8_t verdict = 0;
        char name[100] = { 0 };
        struct wfs_shard shard = { 0 };
        struct wfs_error err = { 0 };
        struct bytes body;

        assert_true(wfs_cursor_u32le(&c, &name_len) && wfs_cursor_u32le(&c, &body_len) && wfs_cursor_u8(&c, &verdict));
        assert_true(name_len < sizeof name);
        memcpy(name, wfs_cursor_take(&c, name_len), name_len);
        body.len = body_len;
        body.data = malloc(body_len + 1); /* its own block, so that a sanitizer sees a read past the end */
        memcpy(body.data, wfs_cursor_take(&c, body_len), body_len);
        if (parse_shard(&body, &shard, &err) == 0) {
            if (!verdict || strncmp(name, "ok", 2) != 0)
                fail_msg("%s was accepted", name);
            n_accepted++;
        } else {
            if (strncmp(name, "ok", 2) == 0)
                fail_msg("%s was refused: %s", name, err.msg);
            assert_contains(err.msg, find_message(name));
            n_refused++;
        }
        wfs_shard_done(&shard);
        free(body.data);
    }
    free(all.data);
    assert_int_equal(n_refused, sizeof messages / sizeof *messages);
    assert_int_equal(n_accepted, 14);
}

/* No prefix of a sound file is sound, nor is the file with one byte more. */
static void prefixes(void **state)
{
    struct bytes all = load_vector("containers/model-00002-of-00002.safetensors");

    (void)state;
    for (size_t len = 0; len <= all.len; len++) {
        struct bytes cut = { malloc(len + 1), len };
        struct wfs_shard shard = { 0 };
        struct wfs_error err = { 0 };

        memcpy(cut.data, all.data, len);
        assert_int_equal(parse_shard(&cut, &shard, &err) == 0, len == all.len);
        assert_int_equal(err.code != 0, len != all.len);
        wfs_shard_done(&shard);
        free(cut.data);
    }
    free(all.data);
}

static struct wfs_model *load_model(struct bytes files[2])
{
    struct folder f = {
        .names = { "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                   "model.safetensors.index.json" },
        .n = 3,
    };
    struct bytes index = load_vector("containers/model.safetensors.index.json");
    struct wfs_model *m;

    index.data[index.len] = 0;
    f.index = (const char *)index.data;
    f.files[0] = files[0] = load_vector("containers/model-00001-of-00002.safetensors");
    f.files[1] = files[1] = load_vector("containers/model-00002-of-00002.safetensors");
    m = build_model(&f);
    free(index.data);
    assert_null(m->problem);
    assert_null(m->problem_gguf);
    assert_null(m->note);
    return m;
}

static void merged(void **state)
{
    struct bytes files[2], want = load_vector("containers/merged.safetensors"), got;
    struct wfs_model *m = load_model(files);
    struct wfs_layout l;
    struct wfs_error err;

    (void)state;
    assert_int_equal(m->n_tensors, 16);
    assert_int_equal(wfs_safetensors_layout(m, &l, &err), 0);
    assert_int_equal(l.size, want.len);
    got = read_layout(&l, files, m);
    assert_memory_equal(got.data, want.data, want.len);
    wfs_layout_done(&l);
    wfs_model_free(m);
    free(got.data);
    free(want.data);
    free(files[0].data);
    free(files[1].data);
}

/*
 * What a client reads, window by window, equals the whole: segments found by offset leave nothing out and nothing
 * twice.
 */
static void windows(void **state)
{
    struct bytes files[2], whole;
    struct wfs_model *m = load_model(files);
    struct wfs_layout l;
    struct wfs_error err;

    (void)state;
    assert_int_equal(wfs_safetensors_layout(m, &l, &err), 0);
    whole = read_layout(&l, files, m);
    for (uint64_t offset = 0; offset < l.size; offset++) {
        for (uint64_t len = 0; len < 70 && offset + len <= l.size; len++) {
            uint8_t window[70], *out = window;
            uint64_t at = offset, end = offset + len;

            for (size_t i = wfs_layout_find(&l, offset); at < end; i++) {
                const struct wfs_segment *s = &l.segments[i];
                uint64_t stop = s->end < end ? s->end : end;

                assert_true(s->begin <= at && at < s->end);
                if (s->kind == WFS_SEGMENT_DATA)
                    memcpy(out, s->data + (at - s->begin), stop - at);
                else
                    memcpy(out, files[s->extent.file].data + s->extent.offset + (at - s->begin), stop - at);
                out += stop - at;
                at = stop;
            }
            assert_memory_equal(window, whole.data + offset, len);
        }
    }
    wfs_layout_done(&l);
    wfs_model_free(m);
    free(whole.data);
    free(files[0].data);
    free(files[1].data);
}

/* A file that save_file wrote, laid out again, is itself and one extent behind its header. */
static void neighbours_coalesce(void **state)
{
    struct folder f = { .names = { "model.safetensors" }, .n = 1 };
    struct bytes file = load_vector("containers/merged.safetensors"), got;
    struct wfs_model *m;
    struct wfs_layout l;
    struct wfs_error err;

    (void)state;
    f.files[0] = file;
    m = build_model(&f);
    assert_null(m->problem);
    assert_int_equal(wfs_safetensors_layout(m, &l, &err), 0);
    assert_int_equal(l.n_segments, 2);
    got = read_layout(&l, &file, m);
    assert_int_equal(got.len, file.len);
    assert_memory_equal(got.data, file.data, file.len);
    wfs_layout_done(&l);
    assert_int_equal(wfs_safetensors_layout_as_is(m, 0, &l, &err), 0);
    assert_int_equal(l.n_segments, 1);
    assert_int_equal(l.size, file.len);
    wfs_layout_done(&l);
    wfs_model_free(m);
    free(got.data);
    free(file.data);
}

/* 100,000 tensors: the goal is a mount in under a second, of which this may take a third; sanitizers get more time. */
static void hundred_thousand(void **state)
{
    enum { N = 100000 };
    struct wfs_buf b = WFS_BUF_INIT;
    struct folder f = { .names = { "model.safetensors" }, .n = 1 };
    struct wfs_model *m;
    struct timespec t0, t1;
    double seconds;
    uint32_t at = 0;

    (void)state;
    wfs_buf_u64le(&b, 0);
    wfs_buf_str(&b, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (unsigned i = 0; i < N; i++)
        wfs_buf_printf(&b, ",\"model.layers.%u.mlp.experts.%u.down_proj.weight\":{\"dtype\":\"BF16\",\"shape\":[2,1],"
                           "\"data_offsets\":[%u,%u]}", i / 100, i % 100, 4 * i, 4 * i + 4);
    wfs_buf_str(&b, "}");
    for (unsigned i = 0; i < 8; i++)
        b.data[i] = (uint8_t)((b.len - 8) >> (8 * i));
    wfs_buf_fill(&b, 0, 4 * N);
    f.files[0] = (struct bytes){ b.data, b.len };
    clock_gettime(CLOCK_MONOTONIC, &t0);
    m = build_model(&f);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    seconds = (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9;
    print_message("100,000 tensors: %.3f s\n", seconds);
    assert_true(seconds < 3 * slowness());
    assert_null(m->problem);
    assert_int_equal(m->n_tensors, N);
    assert_true(wfs_map_get(&m->by_name, "model.layers.7.mlp.experts.31.down_proj.weight", 46, &at));
    assert_int_equal(m->tensors[at].offset, b.len - 4 * N + 4 * 731);
    wfs_model_free(m);
    wfs_buf_done(&b);
}

/* More JSON values than any model has are refused before memory is spent on them. */
static void too_many_values(void **state)
{
    struct wfs_buf b = WFS_BUF_INIT;
    struct wfs_shard shard = { 0 };
    struct wfs_error err = { 0 };
    struct bytes body;

    (void)state;
    wfs_buf_u64le(&b, 3 + 3 * (WFS_SAFETENSORS_MAX_VALUES / 2) + 3);
    wfs_buf_str(&b, "[{}");
    for (unsigned i = 0; i < WFS_SAFETENSORS_MAX_VALUES / 2; i++)
        wfs_buf_str(&b, ",[]");
    wfs_buf_str(&b, "]  ");
    body = (struct bytes){ b.data, b.len };
    assert_int_equal(parse_shard(&body, &shard, &err), -EINVAL);
    assert_contains(err.msg, "more than 4000000 JSON values");
    wfs_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus),           cmocka_unit_test(prefixes),         cmocka_unit_test(merged),
        cmocka_unit_test(windows),          cmocka_unit_test(neighbours_coalesce),
        cmocka_unit_test(hundred_thousand), cmocka_unit_test(too_many_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
