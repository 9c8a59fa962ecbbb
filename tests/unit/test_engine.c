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

/* IEEE binary16, to nearest even, for positive values in its normal range (clang 14 has no _Float16 here). */
static uint16_t f16_bits(float f)
{
    uint32_t u, kept, rest;

    memcpy(&u, &f, sizeof u);
    kept = (u >> 13) - (112u << 10);
    rest = u & 0x1fff;
    return (uint16_t)(kept + (rest > 0x1000 || (rest == 0x1000 && (kept & 1))));
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
    m->tensors[0] = (struct wfs_tensor){
        .name = "t.bf16", .dims = m->dims, .n_dims = 2, .offset = 100, .n_bytes = N * 2, .n_elems = N, .dtype = WFS_BF16
    };
    m->tensors[1] = (struct wfs_tensor){
        .name = "t.f32", .dims = m->dims, .n_dims = 2, .offset = 100 + N * 2, .n_bytes = N * 4, .n_elems = N,
        .dtype = WFS_F32
    };
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
    struct wfs_engine_options options =
        more ? *more : (struct wfs_engine_options){ .cache_size = 64 << 20, .n_workers = 2 };
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


/* As on NFS or FUSE, where looking at a file may wait: it is looked at through the ring. */
static void make_remote(struct image *m)
{
    for (int i = 0; i < 2; i++) {
        assert_true(wfs_source_fd_get(m->source, m->files[i], NULL) >= 0);
        m->files[i]->local = false;
    }
}

static void windows_of_a_remote_source(void **state)
{
    (void)state;
    for (int ring = 0; ring < 2; ring++) {
        struct image *m =
            image_new(&(struct wfs_engine_options){ .cache_size = 1, .n_workers = 2, .no_io_uring = !ring });

        make_remote(m);
        for (uint64_t offset = 0; offset < m->size; offset += 97)
            check_window(m, offset, m->size - offset < 700 ? m->size - offset : 700);
        assert_int_equal(m->errors.count, 0);
        image_free(m);
    }
}

/* ---- what goes wrong ---- */

static int read_at(struct image *m, uint64_t offset, size_t len)
{
    uint8_t buf[64 * 1024];

    return wfs_engine_pread(m->engine, &m->object, offset, buf, len);
}

static void input_errors(void **state)
{
    enum { TENSOR = 64, EXTENT = 64 + N * 4 };
    struct rig_faults faults = { .bad = UINT64_MAX };
    struct wfs_io_hooks hooks = { &faults, rig_inject };
    struct image *m =
        image_new(&(struct wfs_engine_options){ .cache_size = 64 << 20, .n_workers = 2, .hooks = &hooks });
    struct wfs_engine_stats stats;

    (void)state;
    faults.bad = 150; /* in the bf16 tensor */
    assert_int_equal(read_at(m, 0, TENSOR), 0); /* what does not need it is served */
    assert_int_equal(read_at(m, TENSOR + 10, 4), -EIO);
    assert_int_equal(m->errors.count, 1);
    assert_contains(m->errors.last.msg, "image: tensor 't.bf16': w.bin: read of 2048 bytes at 100: Input/output error");
    assert_int_equal(read_at(m, TENSOR + 10, 4), -EIO); /* asked again, told once */
    assert_int_equal(m->errors.count, 1);
    assert_int_equal(read_at(m, TENSOR - 5, 10), -EIO); /* no bytes of a part */
    assert_int_equal(read_at(m, EXTENT, 293), 0);
    faults.bad = 100 + N * 6 + 160;
    assert_int_equal(read_at(m, EXTENT, 10), 0);
    assert_int_equal(read_at(m, EXTENT + 100, 100), -EIO);
    assert_int_equal(m->errors.count, 2);
    assert_contains(m->errors.last.msg, "image: w.bin: read of 100 bytes");
    wfs_engine_stats(m->engine, &stats);
    assert_int_equal(stats.read_errors, 4);
    faults.bad = UINT64_MAX; /* the disk is well again: nothing failed is kept */
    check_window(m, 0, m->size);
    assert_int_equal(m->errors.count, 2);
    assert_int_equal(m->object.failures, 2);
    image_free(m);
}

struct seen {
    struct image *m;
    unsigned most;
};

static int count_waiting(void *ctx, struct wfs_io *io)
{
    struct seen *seen = ctx;
    struct wfs_engine_stats stats;

    wfs_engine_stats(seen->m->engine, &stats);
    seen->most = stats.reads_open > seen->most ? stats.reads_open : seen->most;
    return io->result;
}

/* What waits for the source is counted, and is not once it is answered, in whatever way. */
static void reads_that_wait(void **state)
{
    enum { TENSOR = 64 };
    struct seen seen = { 0 };
    struct wfs_io_hooks hooks = { &seen, count_waiting };
    struct wfs_engine_stats stats;

    (void)state;
    seen.m = image_new(&(struct wfs_engine_options){ .cache_size = 64 << 20, .n_workers = 1, .hooks = &hooks });
    assert_int_equal(read_at(seen.m, TENSOR, 4), 0);
    assert_int_equal(read_at(seen.m, seen.m->size, 0), 0);
    assert_int_equal(seen.most, 1);
    wfs_engine_stats(seen.m->engine, &stats);
    assert_int_equal(stats.reads_open, 0);
    image_free(seen.m);
}

static void outside_the_file(void **state)
{
    struct image *m = image_new(NULL);
    struct wfs_read r = { .object = &m->object, .offset = m->size, .len = 5 };

    (void)state;
    assert_int_equal(read_at(m, m->size, 0), 0);
    assert_int_equal(read_at(m, m->size, 1), -EINVAL);
    assert_int_equal(read_at(m, m->size - 1, 2), -EINVAL);
    assert_int_equal(read_at(m, UINT64_MAX, 2), -EINVAL);
    (void)r;
    image_free(m);
}

/* A file that is another by now gives an error, and what was made before it changed stays what it was. */
static void change_it(bool remote)
{
    struct image *m = image_new(NULL);
    uint8_t byte = 1;
    int fd;
    char path[128];

    if (remote)
        make_remote(m);
    check_window(m, 64, 100); /* makes the first tile */
    snprintf(path, sizeof path, "%s/w.bin", m->dir.path);
    usleep(12000);
    fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, &byte, 1, 101), 1); /* in place, the same size */
    close(fd);
    check_window(m, 64, 100);
    assert_int_equal(read_at(m, 64 + N * 4 + 293 + 4, 4), -ESTALE);
    assert_int_equal(m->errors.count, 1);
    assert_contains(m->errors.last.msg, "image: tensor 't.f32': w.bin: the file has changed since it was mounted");
    assert_int_equal(read_at(m, 64 + N * 4, 100), -ESTALE); /* an extent */
    assert_int_equal(m->errors.count, 1);                   /* the same cause */
    check_window(m, 64 + N * 4 + 200, 93);                  /* of the other file */
    image_free(m);
}

static void a_changed_source(void **state)
{
    (void)state;
    change_it(false);
    change_it(true);
}

static void a_truncated_source(void **state)
{
    struct image *m = image_new(NULL);
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s/w.bin", m->dir.path);
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_equal(read_at(m, 64, 4), -ESTALE);
    assert_int_equal(m->errors.count, 1);
    image_free(m);
}

static void an_absent_file(void **state)
{
    struct image *m = image_new(NULL);
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s/w.bin", m->dir.path);
    assert_int_equal(unlink(path), 0); /* before it was opened */
    assert_int_equal(read_at(m, 64, 4), -ENOENT);
    assert_contains(m->errors.last.msg, "w.bin: cannot be opened: No such file or directory");
    assert_int_equal(read_at(m, 64 + N * 4, 4), -ENOENT);
    image_free(m);
}

/* ---- values that llama-quantize refuses ---- */

static void a_refused_value(void **state)
{
    struct image *m = image_new(NULL);
    struct wfs_plan plan = {
        .tensor = &m->tensors[0], .row_elems = COLS, .n_rows = ROWS, .via = WFS_TYPE_BF16, .dst = WFS_TYPE_Q8_0,
        .validate_via = true, .validate = true,
    };
    struct wfs_source *source = NULL;
    struct wfs_source_file *file;
    struct wfs_layout layout;
    struct wfs_object object;
    struct wfs_error err;
    uint8_t bytes[100 + N * 2], buf[64];

    (void)state;
    memcpy(bytes + 100, m->bf16, sizeof m->bf16);
    bytes[100 + 2 * (5 * COLS + 9)] = 0xc0; /* NaN in row 5 */
    bytes[101 + 2 * (5 * COLS + 9)] = 0x7f;
    rig_write(&m->dir, "nan.bin", bytes, sizeof bytes);
    assert_int_equal(wfs_source_open(m->dir.path, NULL, &source, &err), 0);
    file = wfs_source_find(source, "nan.bin");
    wfs_layout_init(&layout);
    wfs_layout_add_tensor(&layout, &plan);
    assert_int_equal(wfs_object_init(&object, m->engine, &layout, source, &file, 1, "model-q8_0.gguf"), 0);
    assert_int_equal(wfs_engine_pread(m->engine, &object, 0, buf, 64), -EIO);
    assert_int_equal(wfs_engine_pread(m->engine, &object, 0, buf, 64), -EIO);
    assert_int_equal(m->errors.count, 1);
    assert_contains(m->errors.last.msg, "model-q8_0.gguf: tensor 't.bf16': ");
    assert_contains(m->errors.last.msg, "element 329, row 5");
    wfs_object_done(&object, m->engine);
    wfs_layout_done(&layout);
    wfs_source_close(source);
    image_free(m);
}

/* ---- many readers ---- */

struct reader {
    struct image *m;
    pthread_t thread;
    uint32_t seed;
    int n_reads, wrong, failed;
};

static void *read_at_random(void *arg)
{
    struct reader *me = arg;
    struct image *m = me->m;
    uint8_t *buf = malloc(m->size);

    for (int i = 0; i < me->n_reads; i++) {
        uint64_t offset = rig_random(&me->seed) % m->size;
        size_t len = rig_random(&me->seed) % (m->size - offset + 1);

        if (wfs_engine_pread(m->engine, &m->object, offset, buf, len) != 0)
            me->failed++;
        else if (memcmp(buf, m->whole + offset, len) != 0)
            me->wrong++;
    }
    free(buf);
    return NULL;
}

static void read_by_many(struct image *m, int n_reads)
{
    struct reader readers[8];

    for (uint32_t i = 0; i < 8; i++) {
        readers[i] = (struct reader){ .m = m, .seed = i * 1000 + 1, .n_reads = n_reads };
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_at_random, &readers[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].wrong, 0);
        assert_int_equal(readers[i].failed, 0);
    }
}

static void each_tile_once(void **state)
{
    struct rig_faults faults = { .bad = UINT64_MAX, .slow_ms = 20 };
    struct wfs_io_hooks hooks = { &faults, rig_inject };
    struct image *m =
        image_new(&(struct wfs_engine_options){ .cache_size = 64 << 20, .n_workers = 2, .hooks = &hooks });
    struct wfs_engine_stats stats;

    (void)state;
    read_by_many(m, 20);
    wfs_engine_stats(m->engine, &stats);
    assert_int_equal(stats.tiles_made, 3); /* one of each tensor, whoever asked while they were made */
    assert_int_equal(stats.tile_misses + stats.readahead_tiles, 3);
    image_free(m);
}

static void many_readers_of_little_memory(void **state)
{
    static const uint64_t sizes[] = { 1, 20000, 60000 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct image *m = image_new(&(struct wfs_engine_options){ .cache_size = sizes[i], .n_workers = 3 });
        struct wfs_engine_stats stats;

        read_by_many(m, 100);
        wfs_engine_stats(m->engine, &stats);
        /* The larger of the limit and the need of one read, which is some 20 KB here. */
        assert_true(stats.cache_peak_bytes <= 60000);
        assert_true(stats.cache_bytes <= sizes[i]);
        image_free(m);
    }
}

static void more_pieces_than_may_be(void **state)
{
    enum { PIECES = 2500 };
    struct image *m = image_new(NULL);
    uint8_t *literal = malloc(PIECES), *buf = malloc(PIECES * 2);
    struct wfs_layout layout;
    struct wfs_object object;
    uint32_t seed = 6;

    (void)state;
    wfs_layout_init(&layout);
    for (size_t i = 0; i < PIECES; i++) {
        literal[i] = (uint8_t)rig_random(&seed);
        wfs_layout_add_shared(&layout, literal + i, 1);
        wfs_layout_add_zero(&layout, 1);
    }
    assert_int_equal(wfs_object_init(&object, m->engine, &layout, m->source, m->files, 2, "pieces"), 0);
    assert_int_equal(wfs_engine_pread(m->engine, &object, 0, buf, PIECES * 2), 0);
    for (size_t i = 0; i < PIECES; i++) {
        assert_int_equal(buf[2 * i], literal[i]);
        assert_int_equal(buf[2 * i + 1], 0);
    }
    wfs_object_done(&object, m->engine);
    wfs_layout_done(&layout);
    free(literal);
    free(buf);
    image_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_window),
        cmocka_unit_test(windows_by_pread),
        cmocka_unit_test(windows_without_memory),
        cmocka_unit_test(windows_of_a_remote_source),
        cmocka_unit_test(input_errors),
        cmocka_unit_test(reads_that_wait),
        cmocka_unit_test(outside_the_file),
        cmocka_unit_test(a_changed_source),
        cmocka_unit_test(a_truncated_source),
        cmocka_unit_test(an_absent_file),
        cmocka_unit_test(a_refused_value),
        cmocka_unit_test(each_tile_once),
        cmocka_unit_test(many_readers_of_little_memory),
        cmocka_unit_test(more_pieces_than_may_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
