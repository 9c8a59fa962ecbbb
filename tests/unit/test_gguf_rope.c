#include "gguf/rope_factors.h"
#include "gguf/torch_pow.h"
#include "gguf_vectors.h"

enum { MAX = 300 };

/* torch's own powers, for dimensions 1 to 512 and bases 1e3 to 1e10. */
static void test_pow(void **state)
{
    char *text = vector_text("pow.txt", NULL), *rest = text, *line;
    size_t rows = 0;

    (void)state;
    while ((line = strsep(&rest, "\n")) && *line) {
        float exponents[MAX], powers[MAX];
        double base;
        unsigned dim;
        unsigned long long hash;

        assert_int_equal(sscanf(line, "%lf %u %llx", &base, &dim, &hash), 3);
        for (unsigned i = 0; i < (dim + 1) / 2; i++)
            exponents[i] = (float)(2 * i) / (float)dim;
        wfs_torch_pow((float)base, exponents, powers, (dim + 1) / 2);
        if (fnv1a(powers, (dim + 1) / 2 * sizeof *powers) != hash)
            fail_msg("powers of %s", line);
        rows++;
    }
    assert_true(rows > 6000);
    free(text);
}

static void test_factors(void **state)
{
    char *text = vector_text("rope.txt", NULL), *rest = text, *line;
    size_t rows = 0;

    (void)state;
    while ((line = strsep(&rest, "\n")) && *line) {
        struct wfs_rope_llama3 rope;
        float factors[MAX];
        unsigned long long hash;

        assert_int_equal(sscanf(line, "%lf %u %lf %lf %lf %lf %llx", &rope.base, &rope.dim, &rope.factor, &rope.low,
                                &rope.high, &rope.original, &hash), 7);
        wfs_rope_llama3_factors(&rope, factors);
        if (fnv1a(factors, (rope.dim + 1) / 2 * sizeof *factors) != hash)
            fail_msg("factors of %s", line);
        rows++;
    }
    assert_true(rows > 700);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pow),
        cmocka_unit_test(test_factors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
