#include "transform.h"

#include <assert.h>

uint64_t wfs_transform_row(const struct wfs_plan *p, uint64_t row)
{
    uint64_t n, in_head;

    if (p->order == WFS_ROWS_AS_IS)
        return row;
    n = p->n_rows / p->n_heads;
    in_head = row % n;
    return row - in_head + in_head % 2 * (n / 2) + in_head / 2;
}

static void add_run(struct wfs_runs *r, uint64_t first, uint64_t n)
{
    struct wfs_run *last = r->n ? &r->runs[r->n - 1] : NULL;

    if (n == 0)
        return;
    if (last && last->first + last->n == first) {
        last->n += n;
    } else {
        assert(r->n < WFS_MAX_RUNS);
        r->runs[r->n++] = (struct wfs_run){ first, n, r->n_elems };
    }
    r->n_elems += n;
}

/*
 * The part of one head that output rows [begin, end) take: rows of the first half at even places, of the second at odd
 * ones.
 */
static void add_head(struct wfs_runs *r, const struct wfs_plan *p, uint64_t head, uint64_t begin, uint64_t end)
{
    uint64_t n = p->n_rows / p->n_heads, base = head * n;

    if (begin == 0 && end == n) {
        add_run(r, base * p->row_elems, n * p->row_elems);
        return;
    }
    for (uint64_t half = 0; half < 2; half++) {
        uint64_t from = (begin + 1 - half) / 2, to = (end + 1 - half) / 2;

        add_run(r, (base + half * (n / 2) + from) * p->row_elems, (to - from) * p->row_elems);
    }
}

void wfs_transform_runs(const struct wfs_plan *p, uint64_t begin, uint64_t end, struct wfs_runs *ret)
{
    uint64_t row = begin / p->row_elems, n, end_row;

    ret->n = 0;
    ret->n_elems = 0;
    if (p->order == WFS_ROWS_AS_IS) {
        add_run(ret, begin, end - begin);
        return;
    }
    if (end <= (row + 1) * p->row_elems) {
        add_run(ret, wfs_transform_row(p, row) * p->row_elems + begin % p->row_elems, end - begin);
        return;
    }
    assert(begin % p->row_elems == 0 && end % p->row_elems == 0);
    n = p->n_rows / p->n_heads;
    end_row = end / p->row_elems;
    while (row < end_row) {
        uint64_t head = row / n, stop = (head + 1) * n < end_row ? (head + 1) * n : end_row;

        add_head(ret, p, head, row - head * n, stop - head * n);
        row = stop;
    }
}

uint64_t wfs_transform_find(const struct wfs_runs *r, uint64_t elem)
{
    for (size_t i = 0; i < r->n; i++) {
        if (elem >= r->runs[i].first && elem - r->runs[i].first < r->runs[i].n)
            return r->runs[i].at + (elem - r->runs[i].first);
    }
    assert(!"the element is in no run");
    return 0;
}
