/*
 * The kernel table, and the kernels without blocks (casts and decodes) against what torch, numpy and the reference made
 * of the same inputs (tests/vectors/kernels.txt, by make_kernels.py there), on every instruction set of this machine.
 * The block types are in test_kernels_blocks.c.
 */
#include "kernel_inputs.h"

#include <pthread.h>

/* DTYPE all HEX */
static void see_decode(const char *const *words)
{
    int d = wfs_dtype_find(words[0], strlen(words[0]));
    uint8_t source[256];
    float out[256];

    assert_string_equal(words[1], "all");
    for (int i = 0; i < 256; i++)
        source[i] = (uint8_t)i;
    for (int t = 0; t < n_tables; t++) {
        tables[t].decode[d](source, out, 256);
        equals_hex("decode", &tables[t], words[0], out, sizeof out, words[2]);
    }
}

static void bytes_decode_as_in_torch(void **state)
{
    (void)state;
    assert_int_equal(each_line("decode", see_decode), 8);
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
    equals_digest("wide", k, name, out, sizeof out, digest);
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
    equals_digest("wide", k, name, out, n * sizeof *out, digest);
}

/* encode TYPE DIGEST, or decode DTYPE DIGEST */
static void see_digest(const char *const *words)
{
    for (int t = 0; t < n_tables; t++)
        (strcmp(words[0], "encode") == 0 ? sweep_encode : sweep_decode)(&tables[t], words[1], words[2]);
}

static void wide_types_equal_torch_numpy_and_ggml(void **state)
{
    (void)state;
    assert_int_equal(each_line("digest", see_digest), 2 + 10);
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
        cmocka_unit_test(bytes_decode_as_in_torch),
        cmocka_unit_test(wide_types_equal_torch_numpy_and_ggml),
        cmocka_unit_test(the_table_is_whole_and_heeds_the_mask),
    };

    fill_tables();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
