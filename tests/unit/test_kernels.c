/*
 * The kernels against what the reference made of the same inputs (tests/vectors/kernels.txt, by make_kernels.py there),
 * on every instruction set of this machine.
 */
#include "check.h"
#include "kernels/bits.h"
#include "kernels/kernels.h"

#include <pthread.h>
#include <stdio.h>
#include <xxhash.h>

enum { N = 512 }; /* values of a kind */

static struct wfs_kernels tables[WFS_ISA_COUNT];
static int n_tables;

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const char *const kinds[] = { "random", "zero", "constant", "negative_constant", "denormal", "huge", "outlier",
                                     "signed_zeros", "as_bf16", "as_f16", "alternating", "ramp", "near_eps", "scales",
                                     "positive", "negative", "offset", "lowest", "tiny", "squares_overflow", "sparse",
                                     "infinity", "nan" };
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static float power(int e)
{
    float f = 1;

    for (; e > 0; e--)
        f *= 2;
    for (; e < 0; e++)
        f *= 0.5f;
    return f;
}

/* Value i of a kind, from its random number; see kind() of make_kernels.py. */
static float value(const char *kind, int i, uint64_t r)
{
    int v = (int)(r & 0xffff) + (int)(r >> 16 & 0xffff) + (int)(r >> 32 & 0xffff) + (int)(r >> 48) - 131070;
    float x = (float)v, f = x * power(-21);
#define IS(name) (strcmp(kind, name) == 0)

    if (IS("zero"))
        return 0;
    if (IS("constant"))
        return 0.25f;
    if (IS("negative_constant"))
        return -0.75f;
    if (IS("denormal"))
        return float_of((uint32_t)r & 0x807fffffu);
    if (IS("huge"))
        return x * power(110);
    if (IS("outlier"))
        return i == 100 ? 64 : f;
    if (IS("signed_zeros"))
        return i & 1 ? -0.0f : 0.0f;
    if (IS("as_bf16"))
        return float_of((uint32_t)bf16_of(bits_of(f)) << 16);
    if (IS("as_f16"))
        return (float)(v >> 7) * power(-14);
    if (IS("alternating"))
        return i & 1 ? -abs_of(f) : abs_of(f);
    if (IS("ramp"))
        return (float)(i - 256) * power(-8);
    if (IS("near_eps"))
        return x * power(-66);
    if (IS("scales"))
        return x * power(-(i / 16));
    if (IS("positive"))
        return abs_of(f);
    if (IS("negative"))
        return -abs_of(f);
    if (IS("offset"))
        return 1 + x * power(-30);
    if (IS("lowest"))
        return x * power(-140);
    if (IS("tiny"))
        return x * power(-44);
    if (IS("squares_overflow"))
        return x * power(50);
    if (IS("sparse"))
        return r >> 60 == 0 ? f : 0;
    if (IS("infinity") && (i == 37 || i == 300))
        return float_of(i == 37 ? 0x7f800000u : 0xff800000u);
    if (IS("nan") && (i == 37 || i == 300))
        return float_of(0x7fc00000u);
    return f;
}

static void fill(const char *kind, float x[N])
{
    uint64_t state = 1000;

    while (strcmp(kind, kinds[state - 1000]) != 0) {
        state++;
        assert_true(state < 1000 + N_KINDS);
    }
    for (int i = 0; i < N; i++)
        x[i] = value(kind, i, splitmix(&state));
}

static enum wfs_ggml_type type_named(const char *name)
{
    for (int i = 0; i < WFS_TYPE_COUNT; i++) {
        if (wfs_ggml_types[i].name && strcmp(wfs_ggml_types[i].name, name) == 0)
            return (enum wfs_ggml_type)i;
    }
    fail_msg("no type %s", name);
    return WFS_TYPE_COUNT;
}

/*
 * The vectors: each line's words, the last one may be long. Calls see() for lines that begin with what. Returns how
 * many.
 */
typedef void see_fn(const struct wfs_kernels *k, const char *a, const char *b, const char *c);

static int each_line(const char *what, see_fn *see)
{
    FILE *f = fopen(WFS_TEST_VECTORS "/kernels.txt", "r");
    static char line[8192];
    int seen = 0;

    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *save, *word = strtok_r(line, " \n", &save), *a = strtok_r(NULL, " \n", &save),
                    *b = strtok_r(NULL, " \n", &save), *c = strtok_r(NULL, " \n", &save);

        assert_non_null(c);
        if (strcmp(word, what) != 0)
            continue;
        for (int i = 0; i < n_tables; i++)
            see(&tables[i], a, b, c);
        seen++;
    }
    fclose(f);
    return seen;
}

static void equals_hex(const char *what, const struct wfs_kernels *k, const char *name, const uint8_t *got, size_t n,
                       const char *hex)
{
    assert_int_equal(strlen(hex), 2 * n);
    for (size_t i = 0; i < n; i++) {
        char byte[3];

        snprintf(byte, sizeof byte, "%02x", got[i]);
        if (memcmp(byte, hex + 2 * i, 2) != 0)
            fail_msg("%s %s (%s): byte %zu is %s, not %.2s", what, name, k->isa, i, byte, hex + 2 * i);
    }
}

static void see_encode(const struct wfs_kernels *k, const char *type_name, const char *kind, const char *hex)
{
    enum wfs_ggml_type type = type_named(type_name);
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    float x[N];
    uint8_t out[N * 2];

    fill(kind, x);
    k->encode[type](x, out, N);
    equals_hex(type_name, k, kind, out, N / info->block_elems * info->block_bytes, hex);
}

static void blocks_equal_the_reference(void **state)
{
    (void)state;
    assert_int_equal(each_line("encode", see_encode), 6 * N_KINDS);
}

static void see_decode(const struct wfs_kernels *k, const char *dtype, const char *all, const char *hex)
{
    int d = wfs_dtype_find(dtype, strlen(dtype));
    uint8_t source[256];
    float out[256];

    assert_string_equal(all, "all");
    for (int i = 0; i < 256; i++)
        source[i] = (uint8_t)i;
    k->decode[d](source, out, 256);
    equals_hex("decode", k, dtype, (const uint8_t *)out, sizeof out, hex);
}

static void bytes_decode_as_in_torch(void **state)
{
    (void)state;
    assert_int_equal(each_line("decode", see_decode), 8);
}

static void equals_digest(const char *what, const struct wfs_kernels *k, const void *got, size_t n, const char *digest)
{
    char text[17];

    snprintf(text, sizeof text, "%016llx", (unsigned long long)XXH3_64bits(got, n));
    if (strcmp(text, digest) != 0)
        fail_msg("%s (%s): digest %s is not %s", what, k->isa, text, digest);
}

/* Every upper half of a float with ten lower halves, to F16 and BF16. */
static void sweep_encode(const struct wfs_kernels *k, const char *name, const char *digest)
{
    static const uint32_t low[] = { 0, 1, 0x0fff, 0x1000, 0x1001, 0x2000, 0x7fff, 0x8000, 0x8001, 0xffff };
    static float x[655360];
    static uint16_t out[655360];

    for (uint32_t i = 0; i < 655360; i++)
        x[i] = float_of(i / 10 << 16 | low[i % 10]);
    k->encode[type_named(name)](x, out, 655360);
    equals_digest(name, k, out, sizeof out, digest);
}

/* Doubles within the range of float and around its ends; every fourth exactly between two floats. */
static uint64_t a_double(uint64_t r, int i)
{
    uint64_t d = (r & 1ull << 63) | (863 + (r >> 52) % 320) << 52 | (r & ((1ull << 52) - 1));

    return i % 4 ? d : (d & ~((1ull << 29) - 1)) | 1ull << 28;
}

static void sweep_decode(const struct wfs_kernels *k, const char *name, const char *digest)
{
    static const uint64_t edges[] = { 0, 1ull << 63, 0x7ffull << 52, 0xfffull << 52, 0x7ff0000000000001,
                                      0xfff8000020000000, 0x36a0000000000000, 0x36a0000000000001,
                                      0x47effffff0000000, 0x47efffffefffffff };
    enum wfs_dtype d = (enum wfs_dtype)wfs_dtype_find(name, strlen(name));
    static uint64_t numbers[8192 + 10];
    static uint16_t patterns[65536];
    static float out[65536];
    const void *source = numbers;
    size_t n = 8192 * 8 / (wfs_dtypes[d].bits / 8);
    uint64_t state = 7;

    if (wfs_dtypes[d].bits == 16) {
        for (int i = 0; i < 65536; i++)
            patterns[i] = (uint16_t)i;
        source = patterns;
        n = 65536;
    } else {
        for (int i = 0; i < 8192; i++) {
            numbers[i] = splitmix(&state);
            if (d == WFS_F64)
                numbers[i] = a_double(numbers[i], i);
        }
        if (d == WFS_F64) {
            memcpy(numbers + 8192, edges, sizeof edges);
            n += 10;
        }
    }
    k->decode[d](source, out, n);
    equals_digest(name, k, out, n * sizeof *out, digest);
}

static void see_digest(const struct wfs_kernels *k, const char *what, const char *name, const char *digest)
{
    (strcmp(what, "encode") == 0 ? sweep_encode : sweep_decode)(k, name, digest);
}

static void wide_types_equal_torch_numpy_and_ggml(void **state)
{
    (void)state;
    assert_int_equal(each_line("digest", see_digest), 2 + 10);
}

static void see_validate(const struct wfs_kernels *k, const char *name, const char *offset, const char *digest)
{
    enum wfs_ggml_type type = type_named(name);
    static uint8_t refused[65536];

    for (uint32_t pattern = 0; pattern < 65536; pattern++) {
        uint8_t block[256] = { 0 };

        put_u16(block + atoi(offset), (uint16_t)pattern);
        refused[pattern] = k->validate[type](block, 1) == 0;
    }
    equals_digest(name, k, refused, sizeof refused, digest);
}

static void validation_refuses_what_the_reference_refuses(void **state)
{
    (void)state;
    assert_int_equal(each_line("validate", see_validate), 17);
}

/* The first bad block of many is named, wherever it is, and nothing after it matters. */
static void validation_names_the_first(void **state)
{
    static const enum wfs_ggml_type types[] = { WFS_TYPE_F32,  WFS_TYPE_F16,  WFS_TYPE_BF16,
                                                WFS_TYPE_Q8_0, WFS_TYPE_Q5_0, WFS_TYPE_Q5_1,
                                                WFS_TYPE_Q4_K, WFS_TYPE_Q5_K, WFS_TYPE_Q6_K };
    enum { BLOCKS = 300 };

    (void)state;
    for (int i = 0; i < n_tables; i++) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            size_t size = wfs_ggml_types[types[t]].block_bytes;
            size_t scale = types[t] == WFS_TYPE_Q6_K ? 208 : types[t] == WFS_TYPE_F32 ? 2 : 0;
            uint8_t *blocks = calloc(BLOCKS, size);

            assert_int_equal(tables[i].validate[types[t]](blocks, BLOCKS), BLOCKS);
            assert_int_equal(tables[i].validate[types[t]](blocks, 0), 0);
            for (size_t bad = BLOCKS; bad-- > 0;) {
                put_u16(blocks + bad * size + scale, 0x7fff);
                assert_int_equal(tables[i].validate[types[t]](blocks, BLOCKS), bad);
                assert_int_equal(tables[i].validate[types[t]](blocks, bad), bad);
            }
            free(blocks);
        }
    }
}

static void *get_table(void *arg)
{
    (void)arg;
    return (void *)(uintptr_t)wfs_kernels_get();
}

static void the_table_is_whole_and_heeds_the_mask(void **state)
{
    const struct wfs_kernels *k;
    pthread_t threads[4];
    const char *word = NULL;

    (void)state;
    for (int i = 0; i < n_tables; i++) {
        assert_string_equal(tables[i].isa, wfs_isa_names[i]);
        for (int t = 0; t < WFS_TYPE_COUNT; t++) {
            assert_int_equal(tables[i].encode[t] || tables[i].encode_weighted[t], tables[i].validate[t] != NULL);
            assert_true(!tables[i].encode[t] || wfs_ggml_types[t].name);
        }
    }
    unsetenv("WEIGHTFS_CPU");
    assert_true(wfs_cpu_check(&word));
    assert_int_equal(wfs_cpu_masked_isa(), wfs_cpu_isa());
    setenv("WEIGHTFS_CPU", "sse9", 1);
    assert_false(wfs_cpu_check(&word));
    assert_string_equal(word, "sse9");
    setenv("WEIGHTFS_CPU", "avx512", 1);
    assert_true(wfs_cpu_check(&word));
    assert_int_equal(wfs_cpu_masked_isa(), wfs_cpu_isa()); /* more than there is: what there is */
    setenv("WEIGHTFS_CPU", "c", 1);
    assert_true(wfs_cpu_check(&word));
    assert_int_equal(wfs_cpu_masked_isa(), WFS_ISA_C);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_table, NULL), 0);
    k = wfs_kernels_get();
    assert_string_equal(k->isa, "c");
    for (int i = 0; i < 4; i++) {
        void *other;

        pthread_join(threads[i], &other);
        assert_ptr_equal(other, k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_equal_the_reference),
        cmocka_unit_test(bytes_decode_as_in_torch),
        cmocka_unit_test(wide_types_equal_torch_numpy_and_ggml),
        cmocka_unit_test(validation_refuses_what_the_reference_refuses),
        cmocka_unit_test(validation_names_the_first),
        cmocka_unit_test(the_table_is_whole_and_heeds_the_mask),
    };

    n_tables = (int)wfs_cpu_isa() + 1;
    for (int i = 0; i < n_tables; i++)
        wfs_kernels_init_for(&tables[i], (enum wfs_isa)i);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
