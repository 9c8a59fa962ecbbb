/*
 * Every block type against what the reference made of the same inputs (tests/vectors/kernels.txt, by make_kernels.py
 * there), on every instruction set of this machine: encoding with and without importance weights, dequantising,
 * validating.
 */
#include "kernel_inputs.h"

enum { MAX_SCALES = 4 };

/* What the vectors say about a type. */
struct fact {
    bool seen, plain, weighted;
    struct {
        unsigned at, mask;
    } scales[MAX_SCALES];
    int n_scales;
};

static struct fact facts[WFS_TYPE_COUNT];

/* NAME NUMBER BLOCK_ELEMS BLOCK_BYTES plain|- weighted|- OFFSET/MASK... */
static void see_type(const char *const *words)
{
    enum wfs_ggml_type type = type_named(words[0]);
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    struct fact *f = &facts[type];

    assert_int_equal(type, atoi(words[1]));
    assert_int_equal(info->block_elems, atoi(words[2]));
    assert_int_equal(info->block_bytes, atoi(words[3]));
    *f = (struct fact){ .seen = true, .plain = *words[4] == 'p', .weighted = *words[5] == 'w' };
    for (words += 6; *words; words++, f->n_scales++) {
        assert_in_range(f->n_scales, 0, MAX_SCALES - 1);
        assert_int_equal(sscanf(*words, "%u/%x", &f->scales[f->n_scales].at, &f->scales[f->n_scales].mask), 2);
    }
}

/* Each type of the reference has what the reference has: no more and no less. */
static void every_type_is_whole(void **state)
{
    (void)state;
    for (int t = 0; t < WFS_TYPE_COUNT; t++) {
        const char *name = wfs_ggml_types[t].name;
        const struct fact *f = &facts[t];

        assert_int_equal(f->seen, name != NULL);
        for (int i = 0; name && i < n_tables; i++) {
            const struct wfs_kernels *k = &tables[i];
            bool whole = !k->encode[t] == !f->plain && !k->encode_weighted[t] == !f->weighted && k->dequantize[t] &&
                         k->validate[t];

            if ((k->encode[t] && !f->plain) || (k->encode_weighted[t] && !f->weighted))
                fail_msg("%s (%s): the reference has no such thing", name, k->isa);
            if (!whole)
                fail_msg("%s (%s): encode %d, encode_weighted %d, dequantize %d, validate %d; the reference encodes it "
                         "%d %d",
                         name, k->isa, !!k->encode[t], !!k->encode_weighted[t], !!k->dequantize[t], !!k->validate[t],
                         f->plain, f->weighted);
        }
    }
}

/* Encodes n_rows rows of row values. */
static void encode(const struct wfs_kernels *k, int type, const float *x, const float *w, uint8_t *out, int n_rows,
                   size_t row)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    size_t part = info->row_weighted ? row : 3 * info->block_elems; /* rows may be cut at blocks, but for these */

    for (int r = 0; r < n_rows; r++, x += row) {
        for (size_t at = 0, n; at < row; at += n, out += n / info->block_elems * info->block_bytes) {
            n = at + part < row ? part : row - at;
            if (w && facts[type].weighted)
                k->encode_weighted[type](x + at, w + at, out, n);
            else
                k->encode[type](x + at, out, n);
        }
    }
}

static bool refuses(const struct wfs_kernels *k, int type, const uint8_t *blocks, size_t size)
{
    size_t n_blocks = size / wfs_ggml_types[type].block_bytes;

    return k->validate[type](blocks, n_blocks) < n_blocks;
}

static long passed;

/* A digest for each kind of weights. */
static void see_rows(const char *name, const char *kind, const float *x, int n_rows, size_t row,
                     const char *const *digests)
{
    enum wfs_ggml_type type = type_named(name);
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    size_t size = (size_t)n_rows * row / info->block_elems * info->block_bytes;
    static uint8_t out[ROWS * ROW * 2];
    static float w[ROW];

    for (int wk = 0; wk < N_WEIGHTS; wk++) {
        assert_non_null(digests[wk]);
        if (strcmp(digests[wk], "-") == 0)
            continue;
        if (wk)
            fill_weights(wk, w, (int)row);
        for (int i = 0; i < n_tables; i++) {
            encode(&tables[i], type, x, wk ? w : NULL, out, n_rows, row);
            if (*digests[wk] == '!' ? refuses(&tables[i], type, out, size) : digest_is(out, size, digests[wk]))
                passed++;
            else
                fail_msg("%s (%s), %s, weights %s: the digest is not %s", name, tables[i].isa, kind, weight_kinds[wk],
                         digests[wk]);
        }
    }
    assert_null(digests[N_WEIGHTS]);
}

/* TYPE KIND DIGEST... */
static void see_encode(const char *const *words)
{
    float x[N];

    fill(words[1], x);
    see_rows(words[0], words[1], x, 1, N, words + 2);
}

/* TYPE DIGEST... */
static void see_long_rows(const char *const *words)
{
    static float x[ROW * ROWS];

    fill_rows(x);
    see_rows(words[0], "long rows", x, ROWS, ROW, words + 1);
}

/* TYPE WEIGHTS HEX: first, for it shows where bytes differ */
static void see_hex(const char *const *words)
{
    enum wfs_ggml_type type = type_named(words[0]);
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    float x[N], w[N];
    uint8_t out[N * 2];
    int wk = (int)index_of(words[1], weight_kinds, N_WEIGHTS);

    fill("random", x);
    fill_weights(wk, w, N);
    for (int i = 0; i < n_tables; i++) {
        encode(&tables[i], type, x, wk ? w : NULL, out, 1, N);
        equals_hex("encode", &tables[i], words[0], out, N / info->block_elems * info->block_bytes, words[2]);
    }
}

static void blocks_equal_the_reference(void **state)
{
    int n = 0;

    (void)state;
    for (int t = 0; t < WFS_TYPE_COUNT; t++)
        n += facts[t].seen && wfs_ggml_types[t].block_elems > 1;
    assert_true(each_line("hex", see_hex) >= n);
    assert_int_equal(each_line("encode", see_encode), n * N_KINDS);
    assert_int_equal(each_line("rows", see_long_rows), n);
    print_message("%ld passed\n", passed);
}

enum { BLOCKS = 65536, VALUES = 65536 };
static uint8_t blocks[BLOCKS * 216];
static float values[VALUES];

static void make_finite(const struct fact *f, uint8_t *block)
{
    for (int s = 0; s < f->n_scales; s++) {
        unsigned scale = get_u16(block + f->scales[s].at), mask = f->scales[s].mask;

        if ((scale & mask) == mask)
            put_u16(block + f->scales[s].at, (uint16_t)(scale & ~(mask & ~(mask >> 1))));
    }
}

/* TYPE DIGEST */
static void see_dequantize(const char *const *words)
{
    enum wfs_ggml_type type = type_named(words[0]);
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    size_t n = VALUES / info->block_elems, cut = n / 3;

    fill_random_bytes(blocks, n * info->block_bytes);
    for (size_t b = 0; b < n; b++)
        make_finite(&facts[type], blocks + b * info->block_bytes);
    for (int i = 0; i < n_tables; i++) {
        if (!tables[i].dequantize[type])
            continue;
        tables[i].dequantize[type](blocks, values, cut * info->block_elems);
        tables[i].dequantize[type](blocks + cut * info->block_bytes, values + cut * info->block_elems,
                                   (n - cut) * info->block_elems);
        equals_digest("dequantize", &tables[i], words[0], values, sizeof values, words[1]);
    }
}

static void dequantised_values_equal_the_reference(void **state)
{
    (void)state;
    assert_int_equal(each_line("dequantize", see_dequantize), 25);
}

static uint8_t refused[BLOCKS];

/* TYPE OFFSET FILL DIGEST */
static void see_validate(const char *const *words)
{
    enum wfs_ggml_type type = type_named(words[0]);
    size_t size = wfs_ggml_types[type].block_bytes;

    for (int i = 0; i < n_tables; i++) {
        if (!tables[i].validate[type])
            continue;
        for (uint32_t pattern = 0; pattern < 65536; pattern++) {
            uint8_t block[256];

            memset(block, (int)strtol(words[2], NULL, 16), size);
            put_u16(block + atoi(words[1]), (uint16_t)pattern);
            refused[pattern] = tables[i].validate[type](block, 1) == 0;
        }
        equals_digest("validate", &tables[i], words[0], refused, sizeof refused, words[3]);
    }
}

/* TYPE DIGEST */
static void see_refused(const char *const *words)
{
    enum wfs_ggml_type type = type_named(words[0]);
    size_t size = wfs_ggml_types[type].block_bytes;

    fill_random_bytes(blocks, BLOCKS * size);
    for (int i = 0; i < n_tables; i++) {
        if (!tables[i].validate[type])
            continue;
        for (size_t b = 0; b < BLOCKS; b++)
            refused[b] = tables[i].validate[type](blocks + b * size, 1) == 0;
        equals_digest("refused", &tables[i], words[0], refused, sizeof refused, words[1]);
        for (size_t from = 0, bad; from < BLOCKS; from = bad + 1) { /* the same found in runs, each from the last one */
            bad = from + tables[i].validate[type](blocks + from * size, BLOCKS - from);
            for (size_t b = from; b < bad; b++)
                assert_false(refused[b]);
            assert_true(bad == BLOCKS || refused[bad]);
        }
    }
}

static void validation_refuses_what_the_reference_refuses(void **state)
{
    (void)state;
    assert_in_range(each_line("validate", see_validate), 28 * 2, 28 * 8);
    assert_int_equal(each_line("refused", see_refused), 28);
}

/* The first bad block of many is named, wherever it is, and nothing after it matters. */
static void validation_names_the_first(void **state)
{
    enum { MANY = 300 };

    (void)state;
    for (int i = 0; i < n_tables; i++) {
        for (int t = 0; t < WFS_TYPE_COUNT; t++) {
            wfs_validate_fn *validate = tables[i].validate[t];
            size_t size = wfs_ggml_types[t].block_bytes;

            if (!validate)
                continue;
            memset(blocks, 0, MANY * size);
            assert_int_equal(validate(blocks, MANY), MANY);
            assert_int_equal(validate(blocks, 0), 0);
            for (size_t bad = MANY; bad-- > 0 && t != WFS_TYPE_NVFP4;) { /* none of whose blocks is bad */
                memset(blocks + bad * size, 0xff, size);
                assert_int_equal(validate(blocks, MANY), bad);
                assert_int_equal(validate(blocks, bad), bad);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_whole),
        cmocka_unit_test(blocks_equal_the_reference),
        cmocka_unit_test(dequantised_values_equal_the_reference),
        cmocka_unit_test(validation_refuses_what_the_reference_refuses),
        cmocka_unit_test(validation_names_the_first),
    };

    fill_tables();
    each_line("type", see_type);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
