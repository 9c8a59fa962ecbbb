/* .npy files against numpy.save's own bytes (tests/vectors/make_containers.py), and the file-name rule. */
#include "shards.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/utf8.h"
#include "writers/npy.h"
#include "writers/npy_names.h"

static void same_as_numpy(void **state)
{
    struct folder f = { .names = { "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors" }, .n = 2 };
    struct bytes all = load_vector("containers/npy.bin");
    struct wfs_cursor c = wfs_cursor_over(all.data, all.len);
    struct wfs_model *m;
    size_t n = 0;

    (void)state;
    f.files[0] = load_vector("containers/model-00001-of-00002.safetensors");
    f.files[1] = load_vector("containers/model-00002-of-00002.safetensors");
    m = build_model(&f);
    assert_null(m->problem);
    while (wfs_cursor_left(&c)) {
        uint32_t name_len = 0, body_len = 0, at = 0;
        const char *name;
        const uint8_t *body;
        struct wfs_buf model_name = WFS_BUF_INIT;
        struct wfs_layout l;
        struct wfs_error err;
        struct bytes got;
        uint64_t size = 0;
        bool raw;

        assert_true(wfs_cursor_u32le(&c, &name_len) && wfs_cursor_u32le(&c, &body_len));
        name = (const char *)wfs_cursor_take(&c, name_len);
        body = wfs_cursor_take(&c, body_len);
        raw = name_len > 4 && memcmp(name, "raw:", 4) == 0;
        for (size_t i = raw ? 4 : 0; i < name_len; i++) {
            if (name[i])
                wfs_buf_u8(&model_name, (uint8_t)name[i]);
            else
                wfs_buf_str(&model_name, "\xc0\x80");
        }
        assert_true(wfs_map_get(&m->by_name, model_name.data, model_name.len, &at));
        assert_true(wfs_npy_size(&m->tensors[at], raw, &size));
        assert_int_equal(size, body_len);
        assert_int_equal(wfs_npy_layout(&m->tensors[at], raw, &l, &err), 0);
        got = read_layout(&l, f.files, m);
        assert_int_equal(got.len, body_len);
        assert_memory_equal(got.data, body, body_len);
        wfs_layout_done(&l);
        wfs_buf_done(&model_name);
        free(got.data);
        n++;
    }
    assert_int_equal(n, 16 + 4); /* every tensor, and the twins of two bf16 and two fp8 ones */
    wfs_model_free(m);
    free(all.data);
    free(f.files[0].data);
    free(f.files[1].data);
}

static void rows_fit_tiles(void **state)
{
    static const uint64_t counts[] = { 1, 65536, 65537 /* prime */, 131072, 3 * 1000003, (uint64_t)1 << 40 };

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct wfs_tensor t = { .name = "x", .dims = &counts[i], .n_dims = 1, .n_elems = counts[i],
                                .n_bytes = 2 * counts[i], .dtype = WFS_BF16 };
        struct wfs_layout l;

        assert_int_equal(wfs_npy_layout(&t, false, &l, NULL), 0);
        assert_int_equal(l.segments[1].plan->row_elems * l.segments[1].plan->n_rows, counts[i]);
        assert_true(l.segments[1].plan->row_elems <= 65536);
        assert_int_equal(l.size, 128 + 4 * counts[i]);
        wfs_layout_done(&l);
    }
}

/* Tiles are numbered with 32 bits: what would need more must not be offered, or one tile would be shown as another. */
static void too_many_elements_are_refused(void **state)
{
    uint64_t count = ((uint64_t)1 << 46) + 8, size;
    struct wfs_tensor t = { .name = "x", .dims = &count, .n_dims = 1, .n_elems = count, .n_bytes = count,
                            .dtype = WFS_F8_E4M3 };
    struct wfs_layout l;

    (void)state;
    assert_false(wfs_npy_size(&t, false, &size));
    assert_int_equal(wfs_npy_layout(&t, false, &l, NULL), -75 /* EOVERFLOW */);
    assert_true(wfs_npy_size(&t, true, &size));
}

static struct wfs_model *model_of(const char *const *names, const size_t *lens, const enum wfs_dtype *dtypes, size_t n)
{
    struct wfs_model *m = calloc(1, sizeof *m);

    wfs_map_init(&m->by_name);
    m->tensors = calloc(n + 1, sizeof *m->tensors);
    m->n_tensors = n;
    for (size_t i = 0; i < n; i++) {
        m->tensors[i].name = names[i];
        m->tensors[i].name_len = (uint32_t)(lens ? lens[i] : strlen(names[i]));
        m->tensors[i].dtype = (uint8_t)dtypes[i];
        assert_int_equal(wfs_map_add(&m->by_name, names[i], m->tensors[i].name_len, (uint32_t)i, NULL), 1);
    }
    return m;
}

static void file_names(void **state)
{
    static const struct {
        const char *tensor;
        enum wfs_dtype dtype;
        const char *file, *twin;
    } rows[] = {
        { "model.embed_tokens.weight", WFS_BF16, "model.embed_tokens.weight.npy", "model.embed_tokens.weight.u2.npy" },
        { "fp8", WFS_F8_E4M3, "fp8.npy", "fp8.u1.npy" },
        { "a-b_c d~(1)", WFS_F32, "a-b_c d~(1).npy", NULL },
        { "gr\xc3\xbc\xc3\x9f\xe2\x98\x83", WFS_I8, "gr\xc3\xbc\xc3\x9f\xe2\x98\x83.npy", NULL },
        { "a/b", WFS_F32, "a%2Fb.npy", NULL },
        { "100%", WFS_F32, "100%25.npy", NULL },
        { "a%2Fb", WFS_F32, "a%252Fb.npy", NULL },
        { ".hidden.x", WFS_F32, "%2Ehidden.x.npy", NULL },
        { "..", WFS_F32, "%2E..npy", NULL },
        { "tab\tnl\n\x7f", WFS_F32, "tab%09nl%0A%7F.npy", NULL },
        { "c1\xc2\x85", WFS_F32, "c1%C2%85.npy", NULL },
        { "nul\xc0\x80", WFS_F32, "nul%00.npy", NULL },
        { "x", WFS_BF16, "x.npy", "x.u2.npy" },
        { "x.u2", WFS_BF16, "x%2Eu2.npy", "x%2Eu2.u2.npy" },
        { "x.u1", WFS_F32, "x.u1.npy", NULL },
        { "fp8.u1", WFS_F32, "fp8%2Eu1.npy", NULL },
        { "f32", WFS_F32, "f32.npy", NULL },
        { "f32.u2", WFS_F32, "f32.u2.npy", NULL },
        { "", WFS_F32, "%.npy", NULL },
    };
    enum { N = sizeof rows / sizeof *rows };
    const char *names[N];
    enum wfs_dtype dtypes[N];
    struct wfs_npy_names files;
    struct wfs_model *m;
    char out[WFS_NPY_NAME_BYTES];
    size_t at;
    bool raw;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        names[i] = rows[i].tensor;
        dtypes[i] = rows[i].dtype;
    }
    m = model_of(names, NULL, dtypes, N);
    assert_int_equal(wfs_npy_names_init(&files, m), 0);
    for (size_t i = 0; i < N; i++) {
        wfs_npy_names_get(&files, i, false, out);
        assert_string_equal(out, rows[i].file);
        assert_true(wfs_npy_names_find(&files, out, &at, &raw));
        assert_true(at == i && !raw);
        if (!rows[i].twin)
            continue;
        wfs_npy_names_get(&files, i, true, out);
        assert_string_equal(out, rows[i].twin);
        assert_true(wfs_npy_names_find(&files, out, &at, &raw));
        assert_true(at == i && raw);
    }
    assert_false(wfs_npy_names_find(&files, "absent.npy", &at, &raw));
    assert_false(wfs_npy_names_find(&files, "f32", &at, &raw));
    assert_false(wfs_npy_names_find(&files, "f32.u1.npy", &at, &raw));
    assert_false(wfs_npy_names_find(&files, "a/b.npy", &at, &raw));
    assert_false(wfs_npy_names_find(&files, "x.u1.u2.npy", &at, &raw));
    assert_false(wfs_npy_names_find(&files, "fp8.u2.npy", &at, &raw));
    wfs_npy_names_done(&files);
    wfs_model_free(m);
}

static void long_names(void **state)
{
    enum { N = 6 };
    char text[N][700];
    const char *names[N];
    size_t lens[N];
    enum wfs_dtype dtypes[N] = { WFS_F32, WFS_F32, WFS_BF16, WFS_F32, WFS_F32, WFS_F32 };
    struct wfs_npy_names files;
    struct wfs_model *m;
    char out[WFS_NPY_NAME_BYTES], first[WFS_NPY_NAME_BYTES], plain[WFS_NPY_NAME_BYTES];

    (void)state;
    memset(text, 'a', sizeof text);
    lens[0] = 251; /* fits exactly */
    lens[1] = 252;
    lens[2] = 251; /* its twin does not fit */
    text[2][0] = 'b';
    lens[3] = 600;
    for (size_t i = 0; i < 600; i++)
        text[3][i] = i % 3 == 0 ? '\xe2' : i % 3 == 1 ? '\x98' : '\x83';
    lens[4] = 300;
    memset(text[4], '/', 300);
    lens[5] = 700;
    for (size_t i = 0; i < N; i++)
        names[i] = text[i];
    m = model_of(names, lens, dtypes, N);
    text[0][251] = 0;
    assert_int_equal(wfs_npy_names_init(&files, m), 0);
    for (size_t i = 0; i < N; i++) {
        size_t at = N;
        bool raw = true;

        wfs_npy_names_get(&files, i, false, out);
        assert_true(strlen(out) <= 255);
        assert_int_equal(wfs_utf8_check(out, strlen(out)), strlen(out));
        assert_true(wfs_npy_names_find(&files, out, &at, &raw));
        assert_true(at == i && !raw);
    }
    wfs_npy_names_get(&files, 2, true, out);
    assert_int_equal(strlen(out), 255);
    wfs_npy_names_get(&files, 4, false, out);
    assert_memory_equal(out + strlen(out) - 4 - 17 - 3, "%2F~", 4); /* no half escape */
    wfs_npy_names_get(&files, 1, false, first);
    wfs_npy_names_done(&files);
    wfs_model_free(m);

    /* A tensor whose own name is what the cut one would get: both keep a file. */
    memcpy(plain, first, sizeof plain);
    plain[strlen(plain) - 4] = 0;
    names[0] = plain;
    lens[0] = strlen(plain);
    m = model_of(names, lens, dtypes, 2);
    assert_int_equal(wfs_npy_names_init(&files, m), 0);
    wfs_npy_names_get(&files, 0, false, out);
    assert_string_equal(out, first);
    wfs_npy_names_get(&files, 1, false, out);
    assert_string_not_equal(out, first);
    wfs_npy_names_done(&files);
    wfs_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_numpy),
        cmocka_unit_test(rows_fit_tiles),
        cmocka_unit_test(too_many_elements_are_refused),
        cmocka_unit_test(file_names),
        cmocka_unit_test(long_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
