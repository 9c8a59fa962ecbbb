/* The read loop over every kind of segment, against a whole file that the test makes by itself. */
#include "engine_rig.h"

enum { ROWS = 16, COLS = 64, N = ROWS * COLS };

struct image {
    struct rig_dir dir;
    uint8_t bf16[N * 2]; /* at 100 in w.bin */
    uint8_t f32[N * 4];  /* at 100 + 2N */
    uint8_t plain[400];  /* at the end, and alone in p.bin */
    uint8_t whole[64 * 1024];
    size_t size;
    struct wfs_tensor tensors[2];
    uint64_t dims[2];
    struct wfs_layout layout;
    struct wfs_source *source;
    struct wfs_source_file *files[2];
    struct rig_errors errors;
    struct wfs_engine *engine;
    struct wfs_object object;
};

static void put(struct image *m, const void *data, size_t len)
{
    assert_true(m->size + len <= sizeof m->whole);
    memcpy(m->whole + m->size, data, len);
    m->size += len;
}

static void put_zero(struct image *m, size_t len)
{
    memset(m->whole + m->size, 0, len);
    m->size += len;
}

static float bf16_value(const uint8_t *p)
{
    uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24; /* bfloat16 is the upper half of a float32 */
    float f;

    memcpy(&f, &bits, 4);
    return f;
}

static void fill_source(struct image *m)
{
    static uint8_t file[100 + N * 6 + 400];
    uint32_t seed = 12345;

    for (size_t i = 0; i < N; i++) {
        m->bf16[2 * i] = (uint8_t)rig_random(&seed);
        m->bf16[2 * i + 1] = (uint8_t)(0x3c + rig_random(&seed) % 8 + (rig_random(&seed) % 2 ? 0x80 : 0)); /* no NaN */
    }
    for (size_t i = 0; i < N; i++) {
        float f = (float)(int32_t)rig_random(&seed) / 65536.0f;

        memcpy(m->f32 + 4 * i, &f, 4);
    }
    for (size_t i = 0; i < sizeof m->plain; i++)
        m->plain[i] = (uint8_t)rig_random(&seed);
    memset(file, 0xee, 100);
    memcpy(file + 100, m->bf16, sizeof m->bf16);
    memcpy(file + 100 + N * 2, m->f32, sizeof m->f32);
    memcpy(file + 100 + N * 6, m->plain, sizeof m->plain);
    rig_write(&m->dir, "w.bin", file, sizeof file);
    rig_write(&m->dir, "p.bin", m->plain, sizeof m->plain);
}

/* The converter's permute: reshape(n_heads, 2, n / n_heads / 2, cols).swapaxes(1, 2), spelt out over indices. */
static void put_rope_f32(struct image *m, size_t n_heads)
{
    size_t half = ROWS / n_heads / 2;

    for (size_t h = 0; h < n_heads; h++) {
        for (size_t j = 0; j < half; j++) {
            for (size_t two = 0; two < 2; two++)
                put(m, m->f32 + ((h * 2 + two) * half + j) * COLS * 4, COLS * 4);
        }
    }
}

static uint16_t f16_bits(float f) /* by the compiler's conversion, for values in f16's normal range */
{
    _Float16 h = (_Float16)f;
    uint16_t bits;

    memcpy(&bits, &h, 2);
    return bits;
}

/* Q8_0 as its format says: d = max|x| / 127 as f16, q = round(x / d) half away from zero, computed in float32. */
static void put_q8_0(struct image *m)
{
    for (size_t b = 0; b < N / 32; b++) {
        float max = 0, d, id;
        uint16_t bits;
        int8_t q[32];

        for (size_t i = 0; i < 32; i++) {
            float x = bf16_value(m->bf16 + 2 * (b * 32 + i));

            x = x < 0 ? -x : x;
            max = x > max ? x : max;
        }
        d = max / 127;
        id = d != 0 ? 1 / d : 0;
        bits = f16_bits(d);
        for (size_t i = 0; i < 32; i++) {
            float x = bf16_value(m->bf16 + 2 * (b * 32 + i)) * id;

            q[i] = (int8_t)(x < 0 ? -(int)((double)-x + 0.5) : (int)((double)x + 0.5));
        }
        put(m, &bits, 2);
        put(m, q, 32);
    }
}

static void add_tensor(struct image *m, int which, enum wfs_ggml_type dst, enum wfs_row_order order, uint32_t n_heads)
{
    struct wfs_plan plan = {
        .tensor = &m->tensors[which], .row_elems = COLS, .n_rows = ROWS, .order = order, .n_heads = n_heads,
        .via = WFS_TYPE_F32, .dst = dst,
    };

    assert_int_equal(wfs_layout_add_tensor(&m->layout, &plan), 0);
}

static void lay_out(struct image *m)
{
    static const char head[] = "a header of literal bytes";

    m->dims[0] = ROWS;
    m->dims[1] = COLS;
    m->tensors[0] = (struct wfs_tensor){ .name = "t.bf16", .dims = m->dims, .n_dims = 2, .offset = 100, .n_bytes = N * 2, .n_elems = N,
                                         .dtype = WFS_BF16 };
    m->tensors[1] = (struct wfs_tensor){ .name = "t.f32", .dims = m->dims, .n_dims = 2, .offset = 100 + N * 2, .n_bytes = N * 4,
                                         .n_elems = N, .dtype = WFS_F32 };
    wfs_layout_init(&m->layout);
    wfs_layout_add_shared(&m->layout, (const uint8_t *)head, sizeof head);
    put(m, head, sizeof head);
    wfs_layout_add_zero(&m->layout, 38);
    put_zero(m, 38);
    add_tensor(m, 0, WFS_TYPE_F32, WFS_ROWS_AS_IS, 0);
    for (size_t i = 0; i < N; i++) {
        float f = bf16_value(m->bf16 + 2 * i);

        put(m, &f, 4);
    }
    wfs_layout_add_extent(&m->layout, 0, 100 + N * 6, 150);
    wfs_layout_add_extent(&m->layout, 0, 100 + N * 6 + 150, 50); /* goes on where the one before ends */
    wfs_layout_add_extent(&m->layout, 1, 7, 93);                 /* another file */
    put(m, m->plain, 200);
    put(m, m->plain + 7, 93);
    add_tensor(m, 1, WFS_TYPE_F32, WFS_ROWS_ROPE, 2);
    put_rope_f32(m, 2);
    wfs_layout_add_extent(&m->layout, 1, 399, 1);
    put(m, m->plain + 399, 1);
    add_tensor(m, 0, WFS_TYPE_Q8_0, WFS_ROWS_AS_IS, 0);
    put_q8_0(m);
    wfs_layout_add_zero(&m->layout, 5);
    put_zero(m, 5);
    assert_int_equal(m->layout.size, m->size);
}

static struct image *image_new(const struct wfs_engine_options *more)
{
    struct image *m = calloc(1, sizeof *m);
    struct wfs_engine_options options = more ? *more : (struct wfs_engine_options){ .cache_size = 64 << 20, .n_workers = 2 };
    struct wfs_error err = { 0 };

    rig_dir_init(&m->dir);
    fill_source(m);
    lay_out(m);
    pthread_mutex_init(&m->errors.lock, NULL);
    options.on_error = rig_on_error;
    options.on_error_ctx = &m->errors;
    if (wfs_engine_new(&options, &m->engine, &err) < 0 || wfs_source_open(m->dir.path, NULL, &m->source, &err) < 0)
        fail_msg("%s", err.msg);
    m->files[0] = wfs_source_find(m->source, "w.bin");
    m->files[1] = wfs_source_find(m->source, "p.bin");
    assert_non_null(m->files[0]);
    assert_non_null(m->files[1]);
    assert_int_equal(wfs_object_init(&m->object, m->engine, &m->layout, m->source, m->files, 2, "image"), 0);
    return m;
}

static void image_free(struct image *m)
{
    wfs_object_done(&m->object, m->engine);
    wfs_engine_free(m->engine);
    wfs_source_close(m->source);
    wfs_layout_done(&m->layout);
    rig_dir_done(&m->dir);
    free(m);
}

static void check_window(struct image *m, uint64_t offset, size_t len)
{
    uint8_t buf[64 * 1024];
    int r;

    memset(buf, 0xaa, len + 1);
    r = wfs_engine_pread(m->engine, &m->object, offset, buf, len);
    if (r != 0)
        fail_msg("offset %llu, len %zu: %s", (unsigned long long)offset, len, strerror(-r));
    if (memcmp(buf, m->whole + offset, len) != 0 || buf[len] != 0xaa)
        fail_msg("offset %llu, len %zu: other bytes", (unsigned long long)offset, len);
}

static void windows(const struct wfs_engine_options *options, unsigned step)
{
    struct image *m = image_new(options);

    check_window(m, 0, m->size);
    for (uint64_t offset = 0; offset < m->size; offset += step) {
        for (size_t len = 0; len < 70 && offset + len <= m->size; len++)
            check_window(m, offset, len);
    }
    assert_int_equal(m->errors.count, 0);
    image_free(m);
}

static void every_window(void **state)
{
    (void)state;
    windows(NULL, 1);
}

static void windows_by_pread(void **state)
{
    (void)state;
    windows(&(struct wfs_engine_options){ .cache_size = 64 << 20, .n_workers = 1, .no_io_uring = true }, 61);
}

static void windows_without_memory(void **state) /* a budget smaller than any tile: each read alone is let in */
{
    struct wfs_engine_options options = { .cache_size = 1, .n_workers = 2 };

    (void)state;
    windows(&options, 61);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_window),
        cmocka_unit_test(windows_by_pread),
        cmocka_unit_test(windows_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
