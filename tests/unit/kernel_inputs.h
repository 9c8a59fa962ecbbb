/*
 * The inputs of tests/vectors/make_kernels.py made again, and a reader of what it wrote (tests/vectors/kernels.txt).
 * The definitions are there; here they must give the same bits.
 */
#ifndef WFS_TEST_KERNEL_INPUTS_H
#define WFS_TEST_KERNEL_INPUTS_H

#include "check.h"
#include "kernels/bits.h"
#include "kernels/kernels.h"

#include <stdio.h>
#include <xxhash.h>

enum { N = 512, ROW = 4096, ROWS = 4 }; /* values of a kind; of a long row, and how many of these */

static struct wfs_kernels tables[WFS_ISA_COUNT]; /* of every instruction set of this machine */
static int n_tables;

static inline void fill_tables(void)
{
    for (int isa = 0; isa < WFS_ISA_COUNT; isa++) {
        if (wfs_cpu_has((enum wfs_isa)isa))
            wfs_kernels_init_for(&tables[n_tables++], (enum wfs_isa)isa);
    }
}

static inline uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline float power(int e)
{
    float f = 1;

    for (; e > 0; e--)
        f *= 2;
    for (; e < 0; e++)
        f *= 0.5f;
    return f;
}

static inline int normal(uint64_t r)
{
    return (int)(r & 0xffff) + (int)(r >> 16 & 0xffff) + (int)(r >> 32 & 0xffff) + (int)(r >> 48) - 131070;
}

static const char *const kinds[] = { "random", "zero", "constant", "negative_constant", "denormal", "huge", "outlier",
                                     "signed_zeros", "as_bf16", "as_f16", "alternating", "ramp", "near_eps", "scales",
                                     "positive", "negative", "offset", "lowest", "tiny", "squares_overflow", "sparse",
                                     "infinity", "nan" };
static const char *const weight_kinds[] = { "none",  "random",   "zero",    "one_hot", "huge",   "tiny",
                                            "constant", "squares", "spread", "signed", "not_finite" };
enum { N_KINDS = sizeof kinds / sizeof *kinds, N_WEIGHTS = sizeof weight_kinds / sizeof *weight_kinds };

#define IS(name) (strcmp(kind, name) == 0)

/* Value i of a kind, from its random number. */
static inline float value(const char *kind, int i, uint64_t r)
{
    int v = normal(r);
    float x = (float)v, f = x * power(-21);

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

/* Importance weight i of a kind, from its random number. */
static inline float weight(const char *kind, int i, uint64_t r)
{
    float u = (float)(r >> 40) * power(-24), x = (float)normal(r) * power(-16);

    if (IS("zero"))
        return 0;
    if (IS("one_hot"))
        return i % 256 == 37;
    if (IS("huge"))
        return u * power(120);
    if (IS("tiny"))
        return u * power(-140);
    if (IS("constant"))
        return 0.5f;
    if (IS("squares"))
        return x * x;
    if (IS("spread"))
        return u * power(-(i % 64));
    if (IS("signed"))
        return u - 0.5f;
    if (IS("not_finite") && i % 512 == 37)
        return float_of(0x7fc00000u);
    if (IS("not_finite") && i % 512 == 300)
        return float_of(0x7f800000u);
    return u;
}

#undef IS

/* The place of a word in a list. */
static inline uint64_t index_of(const char *word, const char *const *words, int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(word, words[i]) == 0)
            return (uint64_t)i;
    }
    fail_msg("%s is not in the list", word);
    return 0;
}

static inline void fill(const char *kind, float x[N])
{
    uint64_t state = 1000 + index_of(kind, kinds, N_KINDS);

    for (int i = 0; i < N; i++)
        x[i] = value(kind, i, splitmix(&state));
}

static inline void fill_weights(int kind, float *w, int n)
{
    uint64_t state = 2000 + (uint64_t)kind;

    for (int i = 0; i < n; i++)
        w[i] = weight(weight_kinds[kind], i, splitmix(&state));
}

static inline void fill_rows(float x[ROW * ROWS])
{
    uint64_t state = 3000;

    for (int i = 0; i < ROW * ROWS; i++) {
        x[i] = (float)normal(splitmix(&state)) * power(-21);
        if (i / ROW == 1 && i % ROW % 777 == 0)
            x[i] = 64;
        if (i / ROW == 2 && i % ROW < ROW / 2)
            x[i] = 0;
        if (i / ROW == 3)
            x[i] = float_of((uint32_t)bf16_of(bits_of(x[i])) << 16);
    }
}

static inline void fill_random_bytes(uint8_t *p, size_t size)
{
    uint64_t state = 4000;

    for (size_t i = 0; i < size; i += 8) {
        uint64_t r = splitmix(&state);

        memcpy(p + i, &r, size - i < 8 ? size - i : 8);
    }
}

static inline enum wfs_ggml_type type_named(const char *name)
{
    for (int i = 0; i < WFS_TYPE_COUNT; i++) {
        if (wfs_ggml_types[i].name && strcmp(wfs_ggml_types[i].name, name) == 0)
            return (enum wfs_ggml_type)i;
    }
    fail_msg("no type %s", name);
    return WFS_TYPE_COUNT;
}

enum { MAX_WORDS = 16 };

/* Calls see() with the words after `what` of each line that begins so, up to a NULL. Returns how many lines. */
typedef void see_fn(const char *const *words);

static inline int each_line(const char *what, see_fn *see)
{
    FILE *f = fopen(WFS_TEST_VECTORS "/kernels.txt", "r");
    static char line[8192];
    int seen = 0;

    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *save, *word = strtok_r(line, " \n", &save);
        const char *words[MAX_WORDS + 1] = { 0 };

        assert_non_null(word);
        if (strcmp(word, what) != 0)
            continue;
        for (int i = 0; (words[i] = strtok_r(NULL, " \n", &save)); i++)
            assert_true(i < MAX_WORDS);
        see(words);
        seen++;
    }
    fclose(f);
    return seen;
}

static inline void equals_hex(const char *what, const struct wfs_kernels *k, const char *name, const void *got,
                              size_t n, const char *hex)
{
    assert_int_equal(strlen(hex), 2 * n);
    for (size_t i = 0; i < n; i++) {
        char byte[3];

        snprintf(byte, sizeof byte, "%02x", ((const uint8_t *)got)[i]);
        if (memcmp(byte, hex + 2 * i, 2) != 0)
            fail_msg("%s %s (%s): byte %zu is %s, not %.2s", what, name, k->isa, i, byte, hex + 2 * i);
    }
}

/* XXH3_64 in 16 digits, or its lower half in 8. */
static inline bool digest_is(const void *got, size_t n, const char *digest)
{
    char text[17];

    snprintf(text, sizeof text, "%016llx", (unsigned long long)XXH3_64bits(got, n));
    return strcmp(text + (strlen(digest) == 8 ? 8 : 0), digest) == 0;
}

static inline void equals_digest(const char *what, const struct wfs_kernels *k, const char *name, const void *got,
                                 size_t n, const char *digest)
{
    if (!digest_is(got, n, digest))
        fail_msg("%s %s (%s): the digest is not %s", what, name, k->isa, digest);
}

#endif
