/*
 * The compressed tier: what is packed comes back byte for byte, what does not shrink is left alone, damage is noticed.
 */
#include "check.h"
#include "cache.h"
#include "private.h"

#include <errno.h>

enum { BIG = 256 * 1024 + 3 };

static uint8_t data[BIG], back[BIG];

static uint32_t next_random(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

/* float32 made of bfloat16: sign, a few exponents, 7 random bits, 16 zeros. */
static void fill_f32_of_bf16(size_t size)
{
    uint32_t seed = 99;

    for (size_t i = 0; i + 4 <= size; i += 4) {
        uint32_t r = next_random(&seed), bits = (r & 0x80000000u) | (0x3b000000u + (r >> 8 & 0x03ff0000u));

        memcpy(data + i, &bits, 4);
    }
}

static void fill_random(size_t size)
{
    uint32_t seed = 7;

    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(next_random(&seed) >> 9);
}

static uint32_t round_trip(size_t size)
{
    uint8_t *packed = malloc(size / 4 * 3 + 1); /* of its size, for the sanitizers */
    bool shuffled = false;
    uint32_t packed_size = wfs_lz4_pack(data, size, packed, &shuffled);

    if (packed_size == 0) {
        free(packed);
        return 0;
    }
    assert_in_range(packed_size, 1, size / 4 * 3);
    memset(back, 0xcc, size);
    assert_int_equal(wfs_lz4_unpack(packed, packed_size, shuffled, back, size), 0);
    assert_memory_equal(data, back, size);
    free(packed);
    return packed_size;
}

static void shrinks(void **state)
{
    (void)state;
    fill_f32_of_bf16(BIG);
    assert_in_range(round_trip(BIG - 3), 1, (BIG - 3) * 6 / 10); /* half, and a little */
    for (size_t size = 256; size < 700; size++)
        assert_true(round_trip(size) > 0);
    memset(data, 0, sizeof data);
    assert_in_range(round_trip(BIG), 1, BIG / 50);
    for (size_t i = 0; i < BIG; i++)
        data[i] = (uint8_t)"the quick brown fox "[i % 20];
    assert_in_range(round_trip(BIG), 1, BIG / 20);
}

static void does_not_shrink(void **state)
{
    (void)state;
    fill_random(BIG);
    assert_int_equal(round_trip(BIG), 0);
    for (size_t size = 0; size < 300; size++)
        assert_int_equal(round_trip(size), 0);
    memset(data + BIG / 2 - 10000, 0, 20000); /* the sample shrinks, the whole does not */
    assert_int_equal(round_trip(BIG), 0);
}

static void damage_is_noticed(void **state)
{
    uint32_t packed_size, seed = 5;
    bool shuffled = false;
    uint8_t *packed = malloc(6000), *copy;
    int refused = 0;

    (void)state;
    fill_f32_of_bf16(8000);
    packed_size = wfs_lz4_pack(data, 8000, packed, &shuffled);
    assert_true(packed_size > 0);
    assert_int_equal(wfs_lz4_unpack(packed, packed_size - 1, shuffled, back, 8000), -EIO);
    assert_int_equal(wfs_lz4_unpack(packed, packed_size, shuffled, back, 7999), -EIO);
    copy = malloc(packed_size); /* of exactly that size, for the sanitizers */
    for (int i = 0; i < 500; i++) {
        memcpy(copy, packed, packed_size);
        copy[next_random(&seed) % packed_size] ^= (uint8_t)(1u << next_random(&seed) % 8);
        refused += wfs_lz4_unpack(copy, packed_size, shuffled, back, 8000) == -EIO;
    }
    assert_true(refused > 0);
    free(copy);
    free(packed);
}

static uint64_t cost_ns = UINT64_MAX;
static int result;
static struct wfs_block *got;

static void ready(struct wfs_waiter *w, int r, struct wfs_block *b)
{
    (void)w;
    result = r;
    got = b;
}

/* Reads one byte of block `index`, as a reader at random does. Returns the answer of the cache. */
static int visit(struct wfs_cache *c, uint64_t index, size_t size)
{
    uint64_t need = wfs_cache_charge(size);
    struct wfs_room room = { .bytes = need };
    struct wfs_waiter w = { .ready = ready };
    struct wfs_block *b;
    bool ahead;
    int answer;

    assert_true(wfs_cache_reserve(c, &room));
    answer = wfs_cache_get(c, (struct wfs_key){ 1, index }, size, 100, 101, &w, &b, &ahead);
    if (answer == WFS_CACHE_FILL) {
        uint8_t *to = wfs_block_alloc(c, b);

        memcpy(to, data, size);
        to[100] = (uint8_t)index;
        wfs_block_set_cost(b, cost_ns);
        wfs_cache_publish(c, b, 0, 0);
    } else if (answer == WFS_CACHE_EXPAND) {
        wfs_cache_expand(c, b);
        assert_int_equal(result, 0);
        assert_ptr_equal(got, b);
    }
    data[100] = (uint8_t)index;
    assert_memory_equal(wfs_block_data(b), data, size);
    wfs_cache_release(c, &b, 1, need);
    wfs_cache_tend(c, false);
    return answer;
}

static void keeps_more_than_fits(void **state)
{
    enum { SIZE = 40000, N = 30 };
    struct wfs_cache *c = NULL;
    struct wfs_cache_stats stats;
    int expanded = 0, made = 0;

    (void)state;
    fill_f32_of_bf16(SIZE);
    assert_int_equal(wfs_cache_new(20 * (SIZE + 400), true, &c), 0);
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < N; i++) {
            int answer = visit(c, i, SIZE);

            expanded += answer == WFS_CACHE_EXPAND;
            made += answer == WFS_CACHE_FILL;
        }
    }
    wfs_cache_stats(c, &stats);
    assert_int_equal(made, N); /* 30 blocks in the room of 20: none made twice */
    assert_true(expanded > 5);
    assert_int_equal(stats.packed_hits, expanded);
    assert_true(stats.packed_bytes > 0 && stats.packed_bytes < stats.packed_from_bytes * 6 / 10);
    assert_true(stats.peak_bytes <= stats.limit);
    wfs_cache_free(c);
}

static void what_is_made_faster_is_not_packed(void **state)
{
    enum { SIZE = 40000, N = 30 };
    static const uint64_t costs[] = { 1000, 1000000000 };

    (void)state;
    fill_f32_of_bf16(SIZE);
    for (int i = 0; i < 2; i++) {
        struct wfs_cache *c = NULL;
        struct wfs_cache_stats stats;

        cost_ns = costs[i];
        assert_int_equal(wfs_cache_new(20 * (SIZE + 400), true, &c), 0);
        for (uint64_t k = 0; k < N; k++)
            visit(c, k, SIZE);
        wfs_cache_stats(c, &stats);
        assert_int_equal(stats.packed > 0, i == 1);
        while (wfs_cache_tend(c, true)) /* but in time that nobody wants */
            continue;
        wfs_cache_stats(c, &stats);
        assert_true(stats.packed > 0);
        assert_true(stats.bytes <= stats.limit / 8 * 7);
        wfs_cache_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shrinks),
        cmocka_unit_test(does_not_shrink),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(keeps_more_than_fits),
        cmocka_unit_test(what_is_made_faster_is_not_packed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
