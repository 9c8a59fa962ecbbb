/*
 * Read-ahead: who gets it, that it stays within its part of the memory, that readers overtake it, that it may outlive
 * its object.
 */
#include "engine_rig.h"

enum { BIG_ELEMS = 6 << 20, STEP = 128 * 1024 };

struct big {
    struct rig_dir dir;
    uint8_t *source_bytes;
    uint64_t dims[1];
    struct wfs_tensor tensor;
    struct wfs_layout layout;
    struct wfs_engine *engine;
    struct wfs_source *source;
    struct wfs_source_file *file;
    struct wfs_object object;
};

static void big_init(struct big *b, struct wfs_engine_options options)
{
    struct wfs_plan plan = { .tensor = &b->tensor, .row_elems = BIG_ELEMS, .n_rows = 1, .dst = WFS_TYPE_F32 };
    struct wfs_error err = { 0 };
    uint32_t seed = 77;

    memset(b, 0, sizeof *b);
    rig_dir_init(&b->dir);
    b->source_bytes = malloc(BIG_ELEMS * 2);
    for (size_t i = 0; i < BIG_ELEMS; i++) {
        uint32_t r = rig_random(&seed);

        b->source_bytes[2 * i] = (uint8_t)r;
        b->source_bytes[2 * i + 1] = (uint8_t)(0x3c + (r >> 8) % 4);
    }
    rig_write(&b->dir, "big", b->source_bytes, BIG_ELEMS * 2);
    b->dims[0] = BIG_ELEMS;
    b->tensor = (struct wfs_tensor){
        .name = "big", .dims = b->dims, .n_dims = 1, .n_bytes = BIG_ELEMS * 2, .n_elems = BIG_ELEMS, .dtype = WFS_BF16
    };
    wfs_layout_init(&b->layout);
    assert_int_equal(wfs_layout_add_tensor(&b->layout, &plan), 0);
    if (wfs_engine_new(&options, &b->engine, &err) < 0 || wfs_source_open(b->dir.path, NULL, &b->source, &err) < 0)
        fail_msg("%s", err.msg);
    b->file = wfs_source_find(b->source, "big");
    assert_int_equal(wfs_object_init(&b->object, b->engine, &b->layout, b->source, &b->file, 1, "big.npy"), 0);
}

static bool big_matches(struct big *b, uint64_t offset, size_t len)
{
    uint8_t buf[STEP];

    assert_true(len <= sizeof buf && offset % 4 == 0);
    if (wfs_engine_pread(b->engine, &b->object, offset, buf, len) != 0)
        return false;
    for (size_t i = 0; i + 4 <= len; i += 4) {
        const uint8_t *from = b->source_bytes + (offset + i) / 2;

        if (buf[i] != 0 || buf[i + 1] != 0 || buf[i + 2] != from[0] || buf[i + 3] != from[1])
            return false;
    }
    return true;
}

static void big_done(struct big *b)
{
    wfs_object_done(&b->object, b->engine);
    wfs_engine_free(b->engine);
    wfs_source_close(b->source);
    wfs_layout_done(&b->layout);
    free(b->source_bytes);
    rig_dir_done(&b->dir);
}

static void a_stream_is_read_ahead(void **state)
{
    struct wfs_engine_stats stats;
    struct big b;

    (void)state;
    big_init(&b, (struct wfs_engine_options){ .cache_size = 12 << 20, .n_workers = 2 }); /* half of the view */
    for (uint64_t at = 0; at < b.layout.size; at += STEP)
        assert_true(big_matches(&b, at, STEP));
    wfs_engine_stats(b.engine, &stats);
    assert_true(stats.readahead_tiles > 40);           /* of 96 */
    assert_in_range(stats.tile_misses, 1, 48);
    /* Each read asks for one tile, which is there, not there or being made. */
    assert_int_equal(stats.tile_hits + stats.tile_misses + stats.tile_waits, b.layout.size / STEP);
    assert_int_equal(stats.readahead_wasted, 0);
    assert_int_equal(stats.tiles_made, 96);            /* none of them evicted before it was read */
    assert_true(stats.cache_peak_bytes <= 12 << 20);
    assert_true(stats.tiles_evicted > 0);
    big_done(&b);
}

static void reading_at_random_is_not(void **state)
{
    struct wfs_engine_stats stats;
    uint32_t seed = 5;
    struct big b;

    (void)state;
    big_init(&b, (struct wfs_engine_options){ .cache_size = 64 << 20, .n_workers = 2 });
    for (int i = 0; i < 60; i++)
        assert_true(big_matches(&b, rig_random(&seed) % (b.layout.size / 4096) * 4096, 4096));
    wfs_engine_stats(b.engine, &stats);
    assert_in_range(stats.readahead_tiles, 0, 8);
    big_done(&b);
}

/* For little reads at random parts of tiles are made, of 32 KiB here; where the tile is there they take it. */
static void little_at_random(void **state)
{
    enum { TILE = 256 << 10, PART = 32 << 10 };
    struct wfs_engine_stats stats;
    uint32_t seed = 9;
    struct big b;

    (void)state;
    big_init(&b, (struct wfs_engine_options){ .cache_size = 64 << 20, .n_workers = 2 });
    assert_true(big_matches(&b, 40 * TILE, STEP));
    assert_true(big_matches(&b, 5 * TILE + 3 * PART + 4096, 4096));
    wfs_engine_stats(b.engine, &stats);
    assert_int_equal(stats.tiles_made, 2);
    assert_int_equal(stats.source_bytes_read, (TILE + PART) / 2);
    assert_true(big_matches(&b, 5 * TILE + 4 * PART - 2048, 4096)); /* that part, and its neighbour */
    wfs_engine_stats(b.engine, &stats);
    assert_int_equal(stats.source_bytes_read, (TILE + 2 * PART) / 2);
    assert_true(big_matches(&b, 41 * TILE - 8192, 16384)); /* of a tile that is there, and of one that is not */
    wfs_engine_stats(b.engine, &stats);
    assert_int_equal(stats.source_bytes_read, (TILE + 3 * PART) / 2);
    assert_int_equal(stats.tiles_made, 4);
    big_done(&b);
    big_init(&b, (struct wfs_engine_options){ .cache_size = 1 << 20, .n_workers = 2 });
    for (int i = 0; i < 2000; i++) {
        uint64_t len = 4 + rig_random(&seed) % 20000 / 4 * 4;

        assert_true(big_matches(&b, rig_random(&seed) % ((b.layout.size - len) / 4) * 4, len));
    }
    wfs_engine_stats(b.engine, &stats);
    assert_true(stats.cache_peak_bytes <= 1 << 20);
    big_done(&b);
}

/* Tiles that shrink are packed once the workers rest, and come back as they were. */
static void packed_at_rest(void **state)
{
    struct wfs_engine_stats stats;
    struct big b;

    (void)state;
    /* memory for a third of the view */
    big_init(&b, (struct wfs_engine_options){ .cache_size = 8 << 20, .n_workers = 2, .compress = true });
    for (uint64_t at = b.layout.size; at > 0; at -= 1 << 18) /* backwards: nothing is read ahead */
        assert_true(big_matches(&b, at - (1 << 15), 1 << 15));
    for (int i = 0; i < 100; i++) {
        wfs_engine_stats(b.engine, &stats);
        if (stats.lz4_bytes > 100000)
            break;
        usleep(20000);
    }
    assert_true(stats.lz4_bytes > 100000);
    assert_true(stats.lz4_bytes < stats.lz4_unpacked_bytes * 6 / 10);
    for (uint64_t at = 0; at < b.layout.size; at += 1 << 18)
        assert_true(big_matches(&b, at, 4096));
    wfs_engine_stats(b.engine, &stats);
    assert_true(stats.lz4_hits > 0);
    assert_true(stats.cache_peak_bytes <= 8 << 20);
    big_done(&b);
}

/* Eight threads that stream their own region each, in one file, with memory for a part of it. */
struct streamer {
    struct big *b;
    pthread_t thread;
    uint64_t from, to;
    bool ok;
};

static void *stream_region(void *arg)
{
    struct streamer *me = arg;

    me->ok = true;
    for (uint64_t at = me->from; at < me->to && me->ok; at += STEP)
        me->ok = big_matches(me->b, at, STEP);
    return NULL;
}

static void many_streams(void **state)
{
    struct streamer s[8];
    struct wfs_engine_stats stats;
    struct big b;

    (void)state;
    big_init(&b, (struct wfs_engine_options){ .cache_size = 16 << 20, .n_workers = 3 });
    for (uint64_t i = 0; i < 8; i++) {
        s[i] = (struct streamer){ .b = &b, .from = b.layout.size / 8 * i, .to = b.layout.size / 8 * (i + 1) };
        assert_int_equal(pthread_create(&s[i].thread, NULL, stream_region, &s[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(s[i].thread, NULL);
        assert_true(s[i].ok);
    }
    wfs_engine_stats(b.engine, &stats);
    assert_true(stats.readahead_tiles > 0);
    assert_true(stats.cache_peak_bytes <= 16 << 20);
    big_done(&b);
}

/*
 * Eight regions of one file, read in turn, as threads do that stream theirs, or processes that share one descriptor and
 * pread: each counts as sequential, also when a hundred reads at random lie between.
 */
static void regions_are_streams(void **state)
{
    struct wfs_engine_stats stats;
    uint32_t seed = 11;
    uint64_t region;
    struct big b;

    (void)state;
    for (int at_random = 0; at_random < 2; at_random++) {
        big_init(&b, (struct wfs_engine_options){ .cache_size = 256 << 20, .n_workers = 2 });
        region = b.layout.size / 8;
        for (uint64_t at = 0; at < region; at += STEP) {
            for (uint64_t i = 0; i < 8; i++)
                assert_true(big_matches(&b, region * i + at, STEP));
            for (int i = 0; at_random && at >= 4 * STEP && i < 100; i++)
                assert_true(big_matches(&b, rig_random(&seed) % (b.layout.size / 4096) * 4096, 4096));
            if (at == 4 * STEP)
                usleep(100000);
        }
        wfs_engine_stats(b.engine, &stats);
        assert_true(stats.readahead_tiles >= 40); /* of 96, some of which are the first of their region */
        assert_int_equal(stats.readahead_wasted, 0);
        big_done(&b);
    }
}

/* The object and its source go while read-ahead is in flight on a slow disk. */
static void gone_while_reading_ahead(void **state)
{
    struct rig_faults faults = { .bad = UINT64_MAX };
    struct wfs_io_hooks hooks = { &faults, rig_inject };
    struct wfs_engine_stats stats;
    uint64_t began;
    struct big b;

    (void)state;
    big_init(&b, (struct wfs_engine_options){ .cache_size = 64 << 20, .n_workers = 2, .hooks = &hooks });
    faults.slow_ms = 30;
    for (uint64_t at = 0; at < 4 * STEP; at += STEP)
        assert_true(big_matches(&b, at, STEP));
    began = rig_ms();
    wfs_object_done(&b.object, b.engine);
    wfs_source_close(b.source);
    b.source = NULL;
    wfs_layout_done(&b.layout);
    memset(&b.tensor, 0xee, sizeof b.tensor);
    assert_in_range(rig_ms() - began, 0, 25); /* nobody waited */
    usleep(200000);
    wfs_engine_stats(b.engine, &stats);
    assert_int_equal(stats.cache_bytes, 0);
    big_done(&b);
}

/* A reader that jumps to a tile which waits in the queue of read-ahead does not wait for the queue. */
static void a_reader_overtakes_read_ahead(void **state)
{
    struct rig_faults faults = { .bad = UINT64_MAX, .slow_ms = 30 };
    struct wfs_io_hooks hooks = { &faults, rig_inject };
    uint64_t began;
    struct big b;

    (void)state;
    /* By pread, one worker does one job after the other, of 30 ms each. */
    big_init(&b, (struct wfs_engine_options){
                     .cache_size = 256 << 20, .n_workers = 1, .no_io_uring = true, .hooks = &hooks });
    for (uint64_t at = 0; at < 4 * STEP; at += STEP) /* two tiles; then sixteen more are asked for */
        assert_true(big_matches(&b, at, STEP));
    began = rig_ms();
    assert_true(big_matches(&b, 32 * STEP, STEP)); /* the last of them */
    assert_in_range(rig_ms() - began, 0, 170);      /* not 14 times 30: jobs that had begun, their turns, its own */
    big_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_is_read_ahead),
        cmocka_unit_test(reading_at_random_is_not),
        cmocka_unit_test(little_at_random),
        cmocka_unit_test(packed_at_rest),
        cmocka_unit_test(many_streams),
        cmocka_unit_test(regions_are_streams),
        cmocka_unit_test(gone_while_reading_ahead),
        cmocka_unit_test(a_reader_overtakes_read_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
