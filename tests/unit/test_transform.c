/* The rotary order of rows, against the converter's reshape and swapaxes spelt out over indices. */
#include "check.h"
#include "transform.h"

struct shape {
    uint64_t n_rows, row_elems;
    uint32_t n_heads;
};

static const struct shape shapes[] = {
    { 8, 3, 2 }, { 4, 1, 1 }, { 2, 5, 1 }, { 24, 2, 3 }, { 64, 4, 4 }, { 12, 7, 6 }, { 30, 2, 3 },
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes, MAX = 256 };

static struct wfs_plan plan_of(const struct shape *s)
{
    struct wfs_plan p = {
        .row_elems = s->row_elems, .n_rows = s->n_rows, .order = WFS_ROWS_ROPE, .n_heads = s->n_heads
    };

    return p;
}

/* rows.reshape(n_heads, 2, half, cols).swapaxes(1, 2).reshape(rows, cols) of 0, 1, 2 … */
static void permute(const struct shape *s, uint64_t *out)
{
    uint64_t half = s->n_rows / s->n_heads / 2;

    for (uint64_t h = 0; h < s->n_heads; h++) {
        for (uint64_t j = 0; j < half; j++) {
            for (uint64_t two = 0; two < 2; two++) {
                for (uint64_t c = 0; c < s->row_elems; c++)
                    *out++ = ((h * 2 + two) * half + j) * s->row_elems + c;
            }
        }
    }
}

/*
 * Checks that the runs of [begin, end) are exactly its source elements, apart from each other, and that find leads to
 * each.
 */
static void check_range(const struct wfs_plan *p, const uint64_t *expected, uint64_t begin, uint64_t end)
{
    uint64_t gathered[MAX], n = 0;
    struct wfs_runs runs;

    wfs_transform_runs(p, begin, end, &runs);
    assert_int_equal(runs.n_elems, end - begin);
    assert_in_range(runs.n, 1, WFS_MAX_RUNS);
    for (size_t i = 0; i < runs.n; i++) {
        assert_int_equal(runs.runs[i].at, n);
        for (uint64_t k = 0; k < runs.runs[i].n; k++)
            gathered[n++] = runs.runs[i].first + k;
    }
    assert_int_equal(n, end - begin);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t at = wfs_transform_find(&runs, expected[i]);

        assert_true(at < n);
        assert_int_equal(gathered[at], expected[i]);
    }
}

static void rows_in_rotary_order(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++) {
        struct wfs_plan p = plan_of(&shapes[i]);
        uint64_t expected[MAX];

        permute(&shapes[i], expected);
        for (uint64_t row = 0; row < p.n_rows; row++)
            assert_int_equal(wfs_transform_row(&p, row) * p.row_elems, expected[row * p.row_elems]);
    }
}

static void every_range_of_rows(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++) {
        struct wfs_plan p = plan_of(&shapes[i]);
        uint64_t expected[MAX];

        permute(&shapes[i], expected);
        for (uint64_t from = 0; from < p.n_rows; from++) {
            for (uint64_t to = from + 1; to <= p.n_rows; to++)
                check_range(&p, expected, from * p.row_elems, to * p.row_elems);
        }
    }
}

static void every_range_within_a_row(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++) {
        struct wfs_plan p = plan_of(&shapes[i]);
        uint64_t expected[MAX];

        permute(&shapes[i], expected);
        for (uint64_t row = 0; row < p.n_rows; row++) {
            for (uint64_t from = 0; from < p.row_elems; from++) {
                for (uint64_t to = from + 1; to <= p.row_elems; to++)
                    check_range(&p, expected, row * p.row_elems + from, row * p.row_elems + to);
            }
        }
    }
}

static void whole_heads_are_one_read(void **state)
{
    struct wfs_plan p = plan_of(&(struct shape){ 64, 4, 4 });
    struct wfs_runs runs;

    (void)state;
    wfs_transform_runs(&p, 0, (uint64_t)64 * 4, &runs);
    assert_int_equal(runs.n, 1);
    wfs_transform_runs(&p, (uint64_t)16 * 4, (uint64_t)48 * 4, &runs);
    assert_int_equal(runs.n, 1);
    wfs_transform_runs(&p, (uint64_t)15 * 4, (uint64_t)49 * 4, &runs); /* a head's first and last row stay in place */
    assert_int_equal(runs.n, 1);
    wfs_transform_runs(&p, (uint64_t)14 * 4, (uint64_t)50 * 4, &runs); /* rows 7, 15 … 48, 56 */
    assert_int_equal(runs.n, 3);
    assert_int_equal(runs.runs[1].first, 15 * 4);
    assert_int_equal(runs.runs[1].n, 34 * 4);
    p.order = WFS_ROWS_AS_IS;
    wfs_transform_runs(&p, 5, 77, &runs);
    assert_int_equal(runs.n, 1);
    assert_int_equal(runs.runs[0].first, 5);
    assert_int_equal(runs.n_elems, 72);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_rotary_order),
        cmocka_unit_test(every_range_of_rows),
        cmocka_unit_test(every_range_within_a_row),
        cmocka_unit_test(whole_heads_are_one_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
