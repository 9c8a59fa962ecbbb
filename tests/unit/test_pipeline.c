/* Tiles: that they cover a tensor, that each is made as the whole is, and what is refused where. */
#include "check.h"
#include "pipeline.h"

#include <errno.h>

static uint32_t seed = 4711;

static uint32_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static const struct wfs_tensor f32_tensor = { .name = "t", .dtype = WFS_F32 };
static const struct wfs_tensor bf16_tensor = { .name = "t", .dtype = WFS_BF16 };
static const struct wfs_tensor f16_tensor = { .name = "t", .dtype = WFS_F16 };

static float float_of(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, 4);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, 4);
    return bits;
}

static void parts_cover(const struct wfs_plan *p, const struct wfs_tiling *t, uint64_t tile)
{
    uint64_t elems = wfs_pipeline_part_elems(p, t), at, begin, end, to;

    if (elems == 0)
        return;
    assert_false(wfs_plan_whole_rows(p));
    wfs_pipeline_part(p, t, tile, 0, &at, &to);
    for (unsigned part = 1; at < to; at = end, part++) {
        assert_in_range(part, 1, WFS_TILE_MAX_PARTS);
        wfs_pipeline_part(p, t, tile, part, &begin, &end);
        assert_int_equal(begin, at);
        assert_int_equal(end, begin + elems < to ? begin + elems : to);
        assert_int_equal(begin % wfs_ggml_types[p->dst].block_elems, 0);
    }
}

static void tiles_cover(const struct wfs_plan *p)
{
    struct wfs_tiling t = wfs_pipeline_tiling(p);
    uint64_t at = 0, begin, end;

    for (uint64_t tile = 0; tile < t.n_tiles; tile++) {
        uint64_t first, last;

        wfs_pipeline_tile(&t, tile, &begin, &end);
        assert_int_equal(begin, at);
        assert_true(end > begin && (end - begin <= WFS_TILE_ELEMS || end - begin == p->row_elems));
        if (wfs_plan_whole_rows(p))
            assert_int_equal(begin % p->row_elems + end % p->row_elems, 0);
        else
            assert_true(end - begin <= WFS_TILE_ELEMS);
        assert_int_equal(end % wfs_ggml_types[p->dst].block_elems, 0);
        first = wfs_pipeline_out_bytes(p, begin);
        last = wfs_pipeline_out_bytes(p, end) - 1;
        assert_int_equal(wfs_pipeline_tile_at(p, &t, first), tile);
        assert_int_equal(wfs_pipeline_tile_at(p, &t, (first + last) / 2), tile);
        assert_int_equal(wfs_pipeline_tile_at(p, &t, last), tile);
        parts_cover(p, &t, tile);
        at = end;
    }
    assert_int_equal(at, p->n_rows * p->row_elems);
}

static void tiling(void **state)
{
    static const struct {
        uint64_t rows, cols;
        uint32_t heads;
    } shapes[] = {
        { 1, 1, 0 },       { 1, 32, 0 },      { 3, 256, 0 },      { 1, 256 * 5000, 0 },
        { 128256, 64, 0 }, { 4096, 4096, 0 }, { 4096, 4096, 32 }, { 8, 256 * 1000, 2 },
        { 6, 200192, 3 },  { 5, 131072, 0 },  { 2, 131072, 1 },   { 64, 3072, 2 },
    };
    static const enum wfs_ggml_type types[] = { WFS_TYPE_F32, WFS_TYPE_F16, WFS_TYPE_Q8_0, WFS_TYPE_Q4_K,
                                                WFS_TYPE_Q4_0 };
    static const float weights[1];

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
            struct wfs_plan p = {
                .tensor = &f32_tensor, .row_elems = shapes[i].cols, .n_rows = shapes[i].rows, .dst = types[k],
                .order = shapes[i].heads ? WFS_ROWS_ROPE : WFS_ROWS_AS_IS, .n_heads = shapes[i].heads,
            };

            if (p.row_elems % wfs_ggml_types[p.dst].block_elems != 0)
                continue;
            tiles_cover(&p);
            p.weights = weights;
            tiles_cover(&p);
        }
    }
}

/* Goes through all tiles, every other one by its parts where it has some. Begin with zeros. */
struct walk {
    uint64_t tile, begin, end;
    unsigned part, n_made;
};

static bool walk_on(struct walk *w, const struct wfs_plan *p, const struct wfs_tiling *t)
{
    uint64_t from, to;

    if (w->n_made++ > 0) {
        wfs_pipeline_tile(t, w->tile, &from, &to);
        w->part = w->end < to ? w->part + 1 : 0;
        w->tile += w->end == to;
    }
    if (w->tile == t->n_tiles)
        return false;
    if (w->part == 0 && w->tile % 2 == 1 && wfs_pipeline_part_elems(p, t) > 0)
        w->part = 1;
    wfs_pipeline_part(p, t, w->tile, w->part, &w->begin, &w->end);
    return true;
}

static uint8_t scratch[WFS_PIPELINE_SCRATCH] __attribute__((aligned(64)));

static int make(const struct wfs_plan *p, uint64_t begin, uint64_t end, const void *source, void *out,
                struct wfs_bad_value *bad)
{
    uint64_t bytes = wfs_pipeline_source_bytes(p, 1);
    uint8_t *gathered = malloc((end - begin) * bytes); /* of exactly that size, for the sanitizers */
    struct wfs_runs runs;
    int r;

    wfs_transform_runs(p, begin, end, &runs);
    assert_int_equal(runs.n_elems, end - begin);
    for (size_t i = 0; i < runs.n; i++)
        memcpy(gathered + runs.runs[i].at * bytes, (const uint8_t *)source + runs.runs[i].first * bytes,
               runs.runs[i].n * bytes);
    r = wfs_pipeline_make(p, wfs_kernels_get(), begin, end, gathered, &runs, out, scratch, bad);
    free(gathered);
    return r;
}

/* Stands for a type whose weighted blocks depend on their whole row: each block is its place and the row's two sums. */
static void sums_of_the_row(const float *src, const float *weights, void *dst, size_t n_elems)
{
    uint8_t *block = dst;
    float sums[2] = { 0, 0 };

    for (size_t i = 0; i < n_elems; i++) {
        sums[0] += src[i];
        sums[1] += src[i] * weights[i];
    }
    for (size_t b = 0; b < n_elems / 32; b++, block += 18) {
        memset(block, 0, 18);
        memcpy(block, &b, 8);
        memcpy(block + 8, sums, 8);
    }
}

/* The same for blocks that depend on themselves and their columns. */
static void sums_of_the_block(const float *src, const float *weights, void *dst, size_t n_elems)
{
    for (size_t b = 0; b < n_elems / 256; b++) {
        uint8_t *block = (uint8_t *)dst + b * 144;
        float sum = 0;

        for (size_t i = b * 256; i < (b + 1) * 256; i++)
            sum += src[i] * weights[i];
        memset(block, 0, 144);
        memcpy(block, &sum, 4);
    }
}

static void weighted(uint64_t slices, uint64_t rows, uint64_t cols, uint32_t heads, enum wfs_ggml_type type)
{
    uint64_t n = slices * rows * cols, row_bytes;
    float *source = malloc(n * sizeof *source), *weights = malloc(slices * cols * sizeof *weights);
    struct wfs_kernels k = *wfs_kernels_get();
    struct wfs_plan p = {
        .tensor = &f32_tensor, .row_elems = cols, .n_rows = slices * rows, .dst = type, .weights = weights,
        .order = heads ? WFS_ROWS_ROPE : WFS_ROWS_AS_IS, .n_heads = heads, .slice_rows = rows, .n_slices = slices,
    };
    struct wfs_tiling t = wfs_pipeline_tiling(&p);
    uint8_t *out = malloc(wfs_plan_bytes(&p)), *expected = malloc(wfs_plan_bytes(&p));

    k.encode_weighted[WFS_TYPE_Q4_0] = sums_of_the_row;
    k.encode_weighted[WFS_TYPE_Q4_K] = sums_of_the_block;
    row_bytes = wfs_plan_row_bytes(&p);
    for (uint64_t i = 0; i < n; i++)
        source[i] = (float)(next_random() % 1000);
    for (uint64_t i = 0; i < slices * cols; i++)
        weights[i] = (float)(next_random() % 100);
    for (uint64_t row = 0; row < p.n_rows; row++)
        k.encode_weighted[type](source + wfs_transform_row(&p, row) * cols, weights + row / rows * cols,
                                expected + row * row_bytes, cols);
    for (struct walk w = { 0 }; walk_on(&w, &p, &t);) {
        struct wfs_bad_value bad;
        struct wfs_runs runs;
        float *gathered;

        wfs_transform_runs(&p, w.begin, w.end, &runs);
        gathered = malloc(runs.n_elems * sizeof *gathered);
        for (size_t i = 0; i < runs.n; i++)
            memcpy(gathered + runs.runs[i].at, source + runs.runs[i].first, runs.runs[i].n * sizeof *gathered);
        assert_int_equal(wfs_pipeline_make(&p, &k, w.begin, w.end, (uint8_t *)gathered, &runs,
                                           out + wfs_pipeline_out_bytes(&p, w.begin), scratch, &bad), 0);
        free(gathered);
    }
    assert_memory_equal(out, expected, wfs_plan_bytes(&p));
    free(source);
    free(weights);
    free(out);
    free(expected);
}

static void weights_meet_their_columns(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        enum wfs_ggml_type type = i ? WFS_TYPE_Q4_0 : WFS_TYPE_Q4_K;

        weighted(1, 3, 256, 0, type);
        weighted(1, 40, 8192 + 256, 0, type);
        weighted(5, 64, 2048, 0, type);
        weighted(2, 3, WFS_TILE_ELEMS + 512, 0, type);
        weighted(1, 64, 2048, 4, type);
        weighted(1, 8, WFS_TILE_ELEMS + 512, 2, type);
    }
}

/*
 * float32 to float32 in rotary order, tile by tile, equals the permuted whole: with short rows, and with rows longer
 * than a tile.
 */
static void rotary(uint64_t rows, uint64_t cols, uint32_t heads)
{
    struct wfs_plan p = {
        .tensor = &f32_tensor, .row_elems = cols, .n_rows = rows, .order = WFS_ROWS_ROPE, .n_heads = heads
    };
    float *source = malloc(rows * cols * 4), *out = malloc(rows * cols * 4);
    struct wfs_tiling t = wfs_pipeline_tiling(&p);
    uint64_t half = rows / heads / 2;
    struct wfs_bad_value bad;

    assert_true(t.n_tiles > 2);
    for (uint64_t i = 0; i < rows * cols; i++)
        source[i] = (float)(i % 16777216);
    for (struct walk w = { 0 }; walk_on(&w, &p, &t);)
        assert_int_equal(make(&p, w.begin, w.end, source, out + w.begin, &bad), 0);
    for (uint64_t r = 0; r < rows; r++) {
        uint64_t head = r / (2 * half), j = r % (2 * half) / 2, two = r % 2;

        assert_memory_equal(out + r * cols, source + ((head * 2 + two) * half + j) * cols, cols * 4);
    }
    free(source);
    free(out);
}

static void tiles_in_rotary_order(void **state)
{
    (void)state;
    rotary(1024, 513, 4);
    rotary(8, WFS_TILE_ELEMS + 3000, 2);
    rotary(6, WFS_TILE_ELEMS, 3);
    rotary(256, 2048, 4); /* parts of several rows */
    rotary(6, 3 * WFS_TILE_ELEMS, 3); /* and of less than one */
}

/* bfloat16 by the definition: the nearest of the two neighbours, the even one when both are as near. Not for NaN. */
static uint32_t rounded_to_bf16(uint32_t bits)
{
    uint32_t low = bits & 0xffff, up = bits & 0xffff0000u;

    return low > 0x8000 || (low == 0x8000 && (up & 0x10000)) ? up + 0x10000 : up;
}

static void rounds_through_bf16(void **state)
{
    enum { N = 3 * WFS_PIPELINE_CHUNK + 17 };
    struct wfs_plan p = {
        .tensor = &f32_tensor,
        .row_elems = N,
        .n_rows = 1,
        .via = WFS_TYPE_BF16,
        .dst = WFS_TYPE_F32,
        .validate_via = true,
    };
    static uint32_t source[N], out[N];
    struct wfs_bad_value bad;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        source[i] = next_random();
        if ((source[i] & 0x7f800000) >= 0x7f000000) /* neither NaN nor what rounds to infinity */
            source[i] &= 0xbfffffff;
        if (i % 3 == 0)
            source[i] = (source[i] & 0xffff0000u) | 0x8000; /* halves */
    }
    assert_int_equal(make(&p, 0, N, source, out, &bad), 0);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(out[i], rounded_to_bf16(source[i]));
}

static void rounds_through_f16(void **state)
{
    static const struct { float in, out; } cases[] = { /* of IEEE 754 binary16: 11 bits, least 2^-24, most 65504 */
        { 1.0f, 1.0f }, { 2049.0f, 2048.0f }, { 2051.0f, 2052.0f }, { 65504.0f, 65504.0f }, { 65519.0f, 65504.0f },
        { 0x1p-24f, 0x1p-24f }, { 0x1p-25f, 0.0f }, { 0x1.8p-25f, 0x1p-24f }, { -0.0f, -0.0f }, { 0.1f, 0x1.998p-4f },
    };
    enum { N = sizeof cases / sizeof *cases };
    struct wfs_plan p = {
        .tensor = &f32_tensor, .row_elems = N, .n_rows = 1, .via = WFS_TYPE_F16, .dst = WFS_TYPE_F32
    };
    float source[N], out[N];
    struct wfs_bad_value bad;

    (void)state;
    for (size_t i = 0; i < N; i++)
        source[i] = cases[i].in;
    assert_int_equal(make(&p, 0, N, source, out, &bad), 0);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(bits_of(out[i]), bits_of(cases[i].out));
}

/* The value at `at` is refused, with that place; without it nothing is. */
static void refused(const struct wfs_tensor *tensor, enum wfs_ggml_type via, const void *good, const void *evil,
                    bool validate_via)
{
    enum { ROWS = 5, COLS = 8192 + 256 };
    struct wfs_plan p = {
        .tensor = tensor,
        .row_elems = COLS,
        .n_rows = ROWS,
        .via = via,
        .dst = WFS_TYPE_Q8_0,
        .validate_via = validate_via,
        .validate = true,
    };
    static uint8_t source[ROWS * COLS * 4], out[ROWS * COLS * 4];
    size_t size = wfs_dtypes[tensor->dtype].bits / 8, at = (size_t)3 * COLS + 8200;
    struct wfs_bad_value bad = { 0 };

    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        memcpy(source + i * size, good, size);
    assert_int_equal(make(&p, 0, (uint64_t)ROWS * COLS, source, out, &bad), 0);
    memcpy(source + at * size, evil, size);
    assert_int_equal(make(&p, 0, (uint64_t)ROWS * COLS, source, out, &bad), -EDOM);
    assert_int_equal(bad.refusal, validate_via ? WFS_REFUSED_VIA : WFS_REFUSED_OUTPUT);
    assert_int_equal(bad.elem, validate_via ? at : at / 32 * 32); /* or its block */
    /* The same from another tile. */
    assert_int_equal(make(&p, (uint64_t)3 * COLS, (uint64_t)ROWS * COLS, source, out, &bad), -EDOM);
    assert_int_equal(bad.elem, validate_via ? at : at / 32 * 32);
    assert_int_equal(make(&p, 0, (uint64_t)3 * COLS, source, out, &bad), 0);
}

static void what_is_refused(void **state)
{
    float one = 1, big = 65520, infinite = float_of(0x7f800000), nan = float_of(0x7fc00000);
    uint16_t bf16_one = 0x3f80, bf16_nan = 0x7fc1, bf16_infinite = 0xff80;
    uint16_t f16_one = 0x3c00, f16_nan = 0x7e00, f16_infinite = 0xfc00;

    (void)state;
    refused(&f32_tensor, WFS_TYPE_F16, &one, &big, true); /* overflows to infinity */
    refused(&f32_tensor, WFS_TYPE_F16, &one, &nan, true);
    refused(&f32_tensor, WFS_TYPE_BF16, &one, &infinite, true);
    refused(&f32_tensor, WFS_TYPE_F32, &one, &infinite, true);
    refused(&f32_tensor, WFS_TYPE_F32, &one, &nan, true);
    refused(&bf16_tensor, WFS_TYPE_BF16, &bf16_one, &bf16_nan, true);
    refused(&bf16_tensor, WFS_TYPE_BF16, &bf16_one, &bf16_infinite, true);
    refused(&f16_tensor, WFS_TYPE_F16, &f16_one, &f16_nan, true);
    refused(&f16_tensor, WFS_TYPE_F16, &f16_one, &f16_infinite, true);
    refused(&f32_tensor, WFS_TYPE_F32, &one, &infinite, false); /* by the output: the block's scale is infinite */
}

/* What cannot be made says so. */
static void without_a_kernel(void **state)
{
    static const struct wfs_tensor complex_tensor = { .name = "c", .dtype = WFS_C64 };
    struct wfs_plan p = { .tensor = &complex_tensor, .row_elems = 4, .n_rows = 1, .dst = WFS_TYPE_F32 };
    uint8_t source[32] = { 0 }, out[16];
    struct wfs_bad_value bad;

    (void)state;
    assert_int_equal(make(&p, 0, 4, source, out, &bad), -ENOTSUP);
}

/* A quantised tensor made in tiles has the bytes of the kernel run over the whole. */
static void tiles_equal_the_whole(void **state)
{
    enum { ROWS = 40, COLS = 4096 + 1024, N = ROWS * COLS };
    struct wfs_plan p = { .tensor = &f32_tensor, .row_elems = COLS, .n_rows = ROWS, .dst = WFS_TYPE_Q4_K };
    float *source = malloc(N * sizeof *source);
    uint8_t *out = malloc(wfs_pipeline_out_bytes(&p, N)), *whole = malloc(wfs_pipeline_out_bytes(&p, N));
    struct wfs_tiling t = wfs_pipeline_tiling(&p);
    struct wfs_bad_value bad;

    (void)state;
    for (size_t i = 0; i < N; i++)
        source[i] = (float)(int32_t)next_random() * 0x1p-31f;
    wfs_kernels_get()->encode[WFS_TYPE_Q4_K](source, whole, N);
    assert_true(t.n_tiles > 1);
    for (struct walk w = { 0 }; walk_on(&w, &p, &t);)
        assert_int_equal(make(&p, w.begin, w.end, source, out + wfs_pipeline_out_bytes(&p, w.begin), &bad), 0);
    assert_memory_equal(out, whole, wfs_pipeline_out_bytes(&p, N));
    free(source);
    free(out);
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiling), cmocka_unit_test(weights_meet_their_columns),
        cmocka_unit_test(tiles_in_rotary_order),
        cmocka_unit_test(rounds_through_bf16),
        cmocka_unit_test(rounds_through_f16),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(without_a_kernel),
        cmocka_unit_test(tiles_equal_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
