/* The block cache: single flight, failure, pinning, eviction, room. */
#include "check.h"
#include "cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 10000, KIB = 1024 };

struct catch {
    struct wfs_waiter waiter;
    atomic_int calls;
    int result;
    struct wfs_block *block;
};

static void caught(struct wfs_waiter *w, int result, struct wfs_block *b)
{
    struct catch *c = (struct catch *)w;

    c->result = result;
    c->block = b;
    c->calls++;
}

static struct catch catcher(void)
{
    struct catch c = { .waiter = { .ready = caught } };

    return c;
}

static void take_room(struct wfs_room *room)
{
    (void)room;
    fail_msg("room was not there at once");
}

static void reserve(struct wfs_cache *c, uint64_t bytes)
{
    struct wfs_room room = { .bytes = bytes, .admitted = take_room };

    assert_true(wfs_cache_reserve(c, &room));
}

static int get(struct wfs_cache *c, uint64_t object, uint64_t index, struct catch *w, struct wfs_block **b)
{
    bool ahead;

    return wfs_cache_get(c, (struct wfs_key){ object, index }, SIZE, 0, SIZE, &w->waiter, b, &ahead);
}

static void fill(struct wfs_cache *c, struct wfs_block *b, uint8_t value)
{
    uint8_t *data = wfs_block_alloc(c, b);

    assert_non_null(data);
    assert_int_equal((uintptr_t)data % 64, 0);
    memset(data, value, SIZE);
}

/* A reader of one block, alone: reserves, has it made if need be, looks, releases. Returns whether it was a hit. */
static bool visit(struct wfs_cache *c, uint64_t object, uint64_t index)
{
    uint64_t need = wfs_cache_charge(SIZE);
    struct catch w = catcher();
    struct wfs_block *b;
    int answer;

    reserve(c, need);
    answer = get(c, object, index, &w, &b);
    if (answer == WFS_CACHE_FILL) {
        fill(c, b, (uint8_t)index);
        wfs_cache_publish(c, b, 0, 0);
        assert_int_equal(w.calls, 1);
        assert_int_equal(w.result, 0);
        assert_ptr_equal(w.block, b);
    } else {
        assert_int_equal(answer, WFS_CACHE_HIT);
    }
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(((const uint8_t *)wfs_block_data(b))[i], (uint8_t)index);
    wfs_cache_release(c, &b, 1, need);
    return answer == WFS_CACHE_HIT;
}

static struct wfs_cache *new_cache(uint64_t limit)
{
    struct wfs_cache *c = NULL;

    assert_int_equal(wfs_cache_new(limit, false, &c), 0);
    return c;
}

static void made_once(void **state)
{
    struct wfs_cache *c = new_cache(1 << 20);
    struct catch w[5];
    struct wfs_block *b, *other;

    (void)state;
    for (int i = 0; i < 5; i++) {
        w[i] = catcher();
        reserve(c, wfs_cache_charge(SIZE));
        assert_int_equal(get(c, 1, 7, &w[i], &other), i == 0 ? WFS_CACHE_FILL : WFS_CACHE_WAIT);
        if (i == 0)
            b = other;
        assert_ptr_equal(other, b);
    }
    fill(c, b, 42);
    assert_int_equal(w[0].calls, 0);
    wfs_cache_publish(c, b, 0, 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(w[i].calls, 1);
        assert_int_equal(w[i].result, 0);
        assert_ptr_equal(w[i].block, b);
    }
    for (int i = 0; i < 5; i++)
        wfs_cache_release(c, &b, 1, wfs_cache_charge(SIZE));
    wfs_cache_free(c);
}

static void failure_is_told_and_forgotten(void **state)
{
    struct wfs_cache *c = new_cache(1 << 20);
    struct catch w[2] = { catcher(), catcher() };
    struct wfs_cache_stats stats;
    struct wfs_block *b;

    (void)state;
    assert_int_equal(get(c, 1, 3, &w[0], &b), WFS_CACHE_FILL);
    assert_int_equal(get(c, 1, 3, &w[1], &b), WFS_CACHE_WAIT);
    fill(c, b, 1); /* failed half way: the memory goes back too */
    wfs_cache_publish(c, b, -EIO, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(w[i].calls, 1);
        assert_int_equal(w[i].result, -EIO);
        assert_null(w[i].block);
    }
    wfs_cache_stats(c, &stats);
    assert_int_equal(stats.allocated, 0);
    assert_false(visit(c, 1, 3)); /* tried anew */
    assert_true(visit(c, 1, 3));
    wfs_cache_free(c);
}

static void a_sealed_failure_takes_no_more_waiters(void **state)
{
    struct wfs_cache *c = new_cache(1 << 20);
    struct catch w[2] = { catcher(), catcher() };
    struct wfs_block *failed, *next;

    (void)state;
    assert_int_equal(get(c, 1, 3, &w[0], &failed), WFS_CACHE_FILL);
    assert_true(wfs_cache_seal(c, failed));
    assert_int_equal(get(c, 1, 3, &w[1], &next), WFS_CACHE_FILL);
    assert_ptr_not_equal(failed, next);
    wfs_cache_publish(c, failed, -EIO, 0);
    assert_int_equal(w[0].calls, 1);
    assert_int_equal(w[0].result, -EIO);
    assert_int_equal(w[1].calls, 0);
    wfs_cache_publish(c, next, -EIO, 0);
    assert_int_equal(w[1].calls, 1);
    wfs_cache_free(c);
}

static void stays_within_the_limit(void **state)
{
    uint64_t limit = 20 * (SIZE + 400);
    struct wfs_cache *c = new_cache(limit);
    struct wfs_cache_stats stats;

    (void)state;
    for (uint64_t i = 0; i < 500; i++)
        visit(c, i % 3, i);
    wfs_cache_stats(c, &stats);
    assert_true(stats.peak_bytes <= limit);
    assert_true(stats.peak_allocated <= limit);
    assert_in_range(stats.bytes, limit / 6, limit / 4); /* what passes by gets a quarter */
    assert_true(stats.evicted >= 480);
    wfs_cache_free(c);
}

static void a_scan_does_not_wash_out_what_is_used(void **state)
{
    struct wfs_cache *c = new_cache(40 * (SIZE + 400));

    (void)state;
    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < 8; i++)
            visit(c, 1, i);
    }
    for (uint64_t i = 0; i < 300; i++)
        visit(c, 2, i);
    for (uint64_t i = 0; i < 8; i++)
        assert_true(visit(c, 1, i));
    wfs_cache_free(c);
}

static void ahead_takes_nothing_and_is_kept_for_its_reader(void **state)
{
    uint64_t need = 2 * SIZE, limit = 40 * (SIZE + 400);
    struct wfs_cache *c = new_cache(limit);
    struct wfs_cache_stats stats;
    struct wfs_block *b;
    uint64_t n = 0;
    int r;

    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        visit(c, 1, i);
    for (uint64_t i = 0; i < 8; i++)
        visit(c, 1, i); /* kept */
    while ((r = wfs_cache_get_ahead(c, (struct wfs_key){ 2, n }, SIZE, need, &b)) == WFS_CACHE_FILL) {
        fill(c, b, (uint8_t)n);
        wfs_cache_publish(c, b, 0, need);
        n++;
    }
    assert_int_equal(r, -ENOSPC);
    assert_in_range(n, 5, 10); /* a quarter */
    assert_int_equal(wfs_cache_get_ahead(c, (struct wfs_key){ 2, 0 }, SIZE, need, &b), WFS_CACHE_HIT);
    for (uint64_t i = 0; i < 200; i++)
        visit(c, 3, i); /* another reader's scan */
    for (uint64_t i = 0; i < n; i++)
        assert_true(visit(c, 2, i));
    for (uint64_t i = 0; i < 8; i++)
        assert_true(visit(c, 1, i));
    wfs_cache_stats(c, &stats);
    assert_true(stats.peak_bytes <= limit);
    assert_int_equal(stats.ahead_filled, n);
    wfs_cache_free(c);
}

static void waiting_for_read_ahead_is_told_once(void **state)
{
    struct wfs_cache *c = new_cache(1 << 20);
    struct catch w[2] = { catcher(), catcher() };
    struct wfs_block *b;
    bool ahead = false;

    (void)state;
    assert_int_equal(wfs_cache_get_ahead(c, (struct wfs_key){ 1, 1 }, SIZE, SIZE, &b), WFS_CACHE_FILL);
    reserve(c, 2 * wfs_cache_charge(SIZE));
    assert_int_equal(wfs_cache_get(c, (struct wfs_key){ 1, 1 }, SIZE, 0, 1, &w[0].waiter, &b, &ahead), WFS_CACHE_WAIT);
    assert_true(ahead);
    assert_int_equal(wfs_cache_get(c, (struct wfs_key){ 1, 1 }, SIZE, 0, 1, &w[1].waiter, &b, &ahead), WFS_CACHE_WAIT);
    assert_false(ahead);
    fill(c, b, 9);
    wfs_cache_publish(c, b, 0, SIZE);
    assert_int_equal(w[0].calls + w[1].calls, 2);
    wfs_cache_release(c, (struct wfs_block *[]){ b, b }, 2, 2 * wfs_cache_charge(SIZE)); /* two pins */
    wfs_cache_free(c);
}

struct queued {
    struct wfs_room room;
    struct wfs_cache *c;
    int *order, *n, *depth, id;
};

static void admitted(struct wfs_room *room)
{
    struct queued *q = (struct queued *)room;

    assert_int_equal(++*q->depth, 1); /* never one within the other */
    q->order[(*q->n)++] = q->id;
    wfs_cache_release(q->c, NULL, 0, q->room.bytes); /* a read that ends at once */
    --*q->depth;
}

/* Whoever passes through once leaves nothing behind, but what another reads, or has come back to, stays. */
static void passing_leaves_nothing(void **state)
{
    struct wfs_cache *c = new_cache(1 << 20);
    uint64_t need = wfs_cache_charge(SIZE);
    struct catch w[2] = { catcher(), catcher() };
    struct wfs_cache_stats stats;
    struct wfs_block *b, *same;

    (void)state;
    reserve(c, 2 * need);
    assert_int_equal(get(c, 1, 0, &w[0], &b), WFS_CACHE_FILL);
    fill(c, b, 0);
    wfs_cache_publish(c, b, 0, 0);
    wfs_cache_release_passed(c, &b, 1, need);
    wfs_cache_stats(c, &stats);
    assert_int_equal(stats.allocated, 0);
    assert_int_equal(get(c, 1, 0, &w[0], &b), WFS_CACHE_FILL); /* nothing is there any more */
    fill(c, b, 0);
    wfs_cache_publish(c, b, 0, 0);
    assert_int_equal(get(c, 1, 0, &w[1], &same), WFS_CACHE_HIT);
    reserve(c, need);
    wfs_cache_release_passed(c, &b, 1, need);
    wfs_cache_release(c, &same, 1, need);
    wfs_cache_stats(c, &stats);
    assert_int_equal(stats.allocated, SIZE);
    assert_true(visit(c, 1, 0));
    wfs_cache_free(c);
}

static void room_comes_in_turn(void **state)
{
    enum { N = 300 };
    struct wfs_cache *c = new_cache(10 * KIB);
    struct queued q[N];
    int order[N], n = 0, depth = 0;
    struct wfs_cache_stats stats;

    (void)state;
    reserve(c, 50 * KIB); /* over the limit, but alone */
    for (int i = 0; i < N; i++) {
        q[i] =
            (struct queued){ { .bytes = (uint64_t)(1 + i % 20) * KIB, .admitted = admitted }, c, order, &n, &depth, i };
        assert_false(wfs_cache_reserve(c, &q[i].room));
    }
    assert_int_equal(n, 0);
    wfs_cache_release(c, NULL, 0, 50 * KIB);
    assert_int_equal(n, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(order[i], i);
    wfs_cache_stats(c, &stats);
    assert_int_equal(stats.bytes, 0);
    assert_int_equal(stats.peak_bytes, 50 * KIB);
    wfs_cache_free(c);
}

static void dropped(void **state)
{
    struct wfs_cache *c = new_cache(1 << 20);
    struct catch w = catcher(), late = catcher();
    struct wfs_block *pinned, *filling;
    struct wfs_cache_stats stats;

    (void)state;
    visit(c, 1, 1);
    visit(c, 2, 1);
    reserve(c, 2 * wfs_cache_charge(SIZE));
    assert_int_equal(get(c, 1, 1, &w, &pinned), WFS_CACHE_HIT);
    assert_int_equal(get(c, 1, 2, &late, &filling), WFS_CACHE_FILL);
    wfs_cache_drop(c, &(uint64_t){ 1 }, 1);
    assert_int_equal(*(const uint8_t *)wfs_block_data(pinned), 1);
    fill(c, filling, 2);
    wfs_cache_publish(c, filling, 0, 0);
    assert_int_equal(late.calls, 1); /* who waits still gets it */
    assert_int_equal(late.result, 0);
    wfs_cache_release(c, (struct wfs_block *[]){ pinned, filling, NULL }, 3, 2 * wfs_cache_charge(SIZE));
    wfs_cache_stats(c, &stats);
    assert_int_equal(stats.allocated, SIZE); /* the other object's */
    assert_true(visit(c, 2, 1));
    assert_false(visit(c, 1, 1));
    wfs_cache_free(c);
}

/* ---- many threads ---- */

/* cmocka's assertions belong to the main thread. */
static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "storm: %s\n", what);
    abort();
}

enum { THREADS = 8, OBJECTS = 3, INDEXES = 60, ROUNDS = 3000 };

struct storm {
    struct wfs_cache *c;
    atomic_int being_filled[OBJECTS][INDEXES];
    atomic_int fills, failures;
};

struct visitor {
    struct storm *s;
    unsigned seed;
};

struct visit {
    struct wfs_room room;
    struct wfs_waiter waiter;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool has_room, ready;
    int result;
    struct wfs_block *block;
};

static void visit_admitted(struct wfs_room *room)
{
    struct visit *v = (struct visit *)room;

    pthread_mutex_lock(&v->lock);
    v->has_room = true;
    pthread_cond_signal(&v->cond);
    pthread_mutex_unlock(&v->lock);
}

static void visit_ready(struct wfs_waiter *w, int result, struct wfs_block *b)
{
    struct visit *v = (struct visit *)((char *)w - offsetof(struct visit, waiter));

    pthread_mutex_lock(&v->lock);
    v->ready = true;
    v->result = result;
    v->block = b;
    pthread_cond_signal(&v->cond);
    pthread_mutex_unlock(&v->lock);
}

static void storm_fill(struct storm *s, struct wfs_block *b, unsigned object, unsigned index, unsigned size,
                       unsigned dice, uint64_t ahead)
{
    uint8_t *data;

    /* The last object is dropped now and then: a block that is filled for nobody and its successor may meet. */
    must(atomic_fetch_add(&s->being_filled[object][index], 1) == 0 || object == OBJECTS - 1, "filled twice at once");
    data = wfs_block_alloc(s->c, b);
    for (unsigned i = 0; i < size; i++)
        data[i] = (uint8_t)(object * 31 + index + i / 8);
    s->fills++;
    atomic_fetch_sub(&s->being_filled[object][index], 1);
    if (dice % 16 == 0)
        s->failures++;
    wfs_cache_publish(s->c, b, dice % 16 == 0 ? -EIO : 0, ahead);
    if (dice % 4 == 0)
        wfs_cache_tend(s->c, dice % 8 == 0);
}

static void storm_visit(struct visitor *me, struct visit *v)
{
    struct storm *s = me->s;
    unsigned dice = (unsigned)rand_r(&me->seed), object = dice % OBJECTS, index = dice / 8 % INDEXES;
    unsigned size = 2000 + index * 200; /* some from the heap; large enough for sharing to be seen */
    uint64_t need = wfs_cache_charge(size) + 1000;
    struct wfs_key key = { object, index };
    struct wfs_block *b;
    bool ahead;
    int answer;

    dice /= 1024;
    if (dice % 8 == 0) {
        if (wfs_cache_get_ahead(s->c, key, size, need, &b) == WFS_CACHE_FILL)
            storm_fill(s, b, object, index, size, dice / 8, need);
        return;
    }
    v->has_room = v->ready = false;
    v->room.bytes = need;
    if (!wfs_cache_reserve(s->c, &v->room)) {
        pthread_mutex_lock(&v->lock);
        while (!v->has_room)
            pthread_cond_wait(&v->cond, &v->lock);
        pthread_mutex_unlock(&v->lock);
    }
    answer = wfs_cache_get(s->c, key, size, dice % size, size, &v->waiter, &b, &ahead);
    if (answer == WFS_CACHE_FILL)
        storm_fill(s, b, object, index, size, dice / 8, 0);
    else if (answer == WFS_CACHE_EXPAND)
        wfs_cache_expand(s->c, b);
    if (answer != WFS_CACHE_HIT) {
        pthread_mutex_lock(&v->lock);
        while (!v->ready)
            pthread_cond_wait(&v->cond, &v->lock);
        pthread_mutex_unlock(&v->lock);
        b = v->block;
    }
    if (b) {
        const uint8_t *data = wfs_block_data(b);

        for (unsigned i = 0; i < size; i += 97)
            must(data[i] == (uint8_t)(object * 31 + index + i / 8), "other bytes");
    }
    wfs_cache_release(s->c, &b, 1, need);
    if (dice % 128 == 1 && object == OBJECTS - 1)
        wfs_cache_drop(s->c, &(uint64_t){ object }, 1);
}

static void *storm_thread(void *arg)
{
    struct visitor *me = arg;
    struct visit v = { .room = { .admitted = visit_admitted }, .waiter = { .ready = visit_ready } };

    pthread_mutex_init(&v.lock, NULL);
    pthread_cond_init(&v.cond, NULL);
    for (int i = 0; i < ROUNDS; i++)
        storm_visit(me, &v);
    pthread_cond_destroy(&v.cond);
    pthread_mutex_destroy(&v.lock);
    return NULL;
}

static void storm(void **state)
{
    static struct storm s;
    struct wfs_cache_stats stats;
    struct visitor v[THREADS];
    pthread_t threads[THREADS];
    uint64_t limit = 400 * KIB; /* a third of all blocks */

    (void)state;
    assert_int_equal(wfs_cache_new(limit, true, &s.c), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        v[i] = (struct visitor){ &s, i * 77 + 1 };
        assert_int_equal(pthread_create(&threads[i], NULL, storm_thread, &v[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    wfs_cache_stats(s.c, &stats);
    assert_true(stats.peak_bytes <= limit);
    assert_true(stats.hits > 0 && stats.evicted > 0 && stats.packed > 0 && stats.packed_hits > 0);
    assert_int_equal(stats.failed, s.failures);
    assert_int_equal(stats.filled, s.fills - s.failures + (int)stats.packed_hits);
    wfs_cache_drop(s.c, (const uint64_t[OBJECTS + 1]){ 0, 1, 2, 77 }, OBJECTS + 1);
    wfs_cache_stats(s.c, &stats);
    assert_int_equal(stats.bytes, 0);
    assert_int_equal(stats.allocated, 0);
    wfs_cache_free(s.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_once),
        cmocka_unit_test(failure_is_told_and_forgotten),
        cmocka_unit_test(a_sealed_failure_takes_no_more_waiters),
        cmocka_unit_test(stays_within_the_limit),
        cmocka_unit_test(a_scan_does_not_wash_out_what_is_used),
        cmocka_unit_test(ahead_takes_nothing_and_is_kept_for_its_reader),
        cmocka_unit_test(waiting_for_read_ahead_is_told_once),
        cmocka_unit_test(passing_leaves_nothing),
        cmocka_unit_test(room_comes_in_turn),
        cmocka_unit_test(dropped),
        cmocka_unit_test(storm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
