/*
 * A folder on disk as a tree: names, sizes, bytes, what is withheld, generations. The weights come from tests/vectors
 * (written by safetensors and numpy); what a folder should show is the rule, spelled out per case.
 */
#include "fs_rig.h"
#include "base/cursor.h"
#include "json.h"
#include "model.h"

#include <errno.h>

static void assert_bytes(struct wfs_fs *fs, struct wfs_generation *g, const char *path, const uint8_t *want, size_t len)
{
    const struct wfs_node *n = wfs_generation_find(g, path);
    struct wfs_object *o = NULL, *again = NULL;
    struct wfs_error err = { 0 };
    uint8_t *got = calloc(1, len + 1);
    struct stat st;

    if (!n || wfs_node_ready(n) != 1)
        fail_msg("%s is absent", path);
    wfs_node_stat(n, &st);
    assert_int_equal(st.st_size, len);
    assert_int_equal(st.st_blocks, (len + 511) / 512);
    assert_int_equal(st.st_mode, S_IFREG | 0444);
    if (wfs_node_object(n, &o, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(wfs_node_object(n, &again, &err), 0);
    assert_ptr_equal(o, again);
    assert_ptr_equal(o, wfs_node_object_get(n));
    assert_int_equal(wfs_engine_pread(wfs_fs_engine(fs), o, 0, got, len), 0);
    assert_memory_equal(got, want, len);
    for (int i = 0; i < 3; i++)
        wfs_node_object_put(n);
    free(got);
}

static void assert_vector(struct wfs_fs *fs, struct wfs_generation *g, const char *path, const char *vector)
{
    uint8_t bytes[8192];
    size_t len = get_vector(vector, bytes, sizeof bytes);

    assert_bytes(fs, g, path, bytes, len);
}

static void close_fs(struct wfs_fs *fs, struct wfs_generation *g)
{
    wfs_generation_unref(g);
    wfs_fs_close(fs);
}

static void sharded(void **state)
{
    struct wfs_fs *fs;
    struct wfs_generation *g;
    struct stat st, src;
    char path[1000];

    (void)state;
    put_sharded();
    put_text("config.json", "{\"architectures\":[\"SomethingForCausalLM\"]}");
    mkdir((path_of(path, "sub"), path), 0755);
    put_text("sub/notes.txt", "hello");
    mkdir((path_of(path, "empty"), path), 0755);
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_list(g, "", ".weightfs/ config.json empty/ model.safetensors sub/ tensors/");
    assert_list(g, "sub", "notes.txt");
    assert_list(g, "empty", "");
    assert_list(g, ".weightfs", "status.json");
    assert_vector(fs, g, SINGLE, "merged.safetensors");
    assert_bytes(fs, g, "sub/notes.txt", (const uint8_t *)"hello", 5);
    assert_null(wfs_generation_find(g, S1));
    assert_null(wfs_generation_find(g, INDEX));
    /* where it comes from decides how old it is */
    stat((path_of(path, "sub/notes.txt"), path), &src);
    wfs_node_stat(wfs_generation_find(g, "sub/notes.txt"), &st);
    assert_int_equal(st.st_mtim.tv_sec, src.st_mtim.tv_sec);
    assert_int_equal(st.st_mtim.tv_nsec, src.st_mtim.tv_nsec);
    wfs_node_stat(wfs_generation_root(g), &st);
    assert_int_equal(st.st_ino, 1);
    assert_int_equal(st.st_mode, S_IFDIR | 0555);
    assert_int_equal(st.st_nlink, 2 + 4);
    close_fs(fs, g);
}

/* Every file of tensors/ against numpy.save's bytes; every listed file is one of them. */
static void tensors(void **state)
{
    static uint8_t all[8192];
    struct wfs_cursor c = wfs_cursor_over(all, get_vector("npy.bin", all, sizeof all));
    struct wfs_fs *fs;
    struct wfs_generation *g;
    size_t n = 0;

    (void)state;
    put_sharded();
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    while (wfs_cursor_left(&c)) {
        uint32_t name_len = 0, body_len = 0;
        const uint8_t *name, *body;
        char path[400] = "tensors/";
        bool raw;

        wfs_cursor_u32le(&c, &name_len);
        wfs_cursor_u32le(&c, &body_len);
        name = wfs_cursor_take(&c, name_len);
        body = wfs_cursor_take(&c, body_len);
        raw = name_len > 4 && memcmp(name, "raw:", 4) == 0;
        for (size_t i = raw ? 4 : 0; i < name_len; i++) {
            size_t at = strlen(path);

            if (name[i] < 0x20 || name[i] == 0x7f || name[i] == '/')
                snprintf(path + at, sizeof path - at, "%%%02X", name[i]);
            else
                snprintf(path + at, sizeof path - at, "%c", name[i]);
        }
        if (raw)
            strcat(path, memcmp(name + 4, "e", 1) == 0 ? ".u1" : ".u2"); /* e4m3, e5m2 */
        strcat(path, ".npy");
        assert_bytes(fs, g, path, body, body_len);
        n++;
    }
    for (size_t i = 0; wfs_node_child(wfs_generation_find(g, "tensors"), i); i++)
        n--;
    assert_int_equal(n, 0);
    close_fs(fs, g);
}

static void single(void **state)
{
    struct wfs_fs *fs;
    struct wfs_generation *g;

    (void)state;
    put_vector(S1, SINGLE); /* sound, but not in the form that a merge would have */
    put_text("consolidated.safetensors", "anything");
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_list(g, "", ".weightfs/ consolidated.safetensors model.safetensors tensors/");
    assert_vector(fs, g, SINGLE, S1);
    close_fs(fs, g);
}

/* One shard, by an index: the file as it is, under the single name. */
static void index_of_one(void **state)
{
    struct wfs_fs *fs;
    struct wfs_generation *g;

    (void)state;
    put_vector("merged.safetensors", "model-00001-of-00001.safetensors");
    put_text(INDEX, "{\"weight_map\":{\"a.weight\":\"model-00001-of-00001.safetensors\"}}");
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_list(g, "", ".weightfs/ model.safetensors tensors/");
    assert_list(g, "tensors", "a.weight.npy");
    assert_vector(fs, g, SINGLE, "merged.safetensors");
    assert_withheld(g, "model-f16.gguf", "is not in the index");
    close_fs(fs, g);
}

static void own_single_beside_shards(void **state)
{
    struct wfs_fs *fs;
    struct wfs_generation *g;

    (void)state;
    put_sharded();
    put_vector(S1, SINGLE);
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_list(g, "", ".weightfs/ " S1 " " S2 " model.safetensors " INDEX " tensors/");
    assert_vector(fs, g, SINGLE, S1);
    close_fs(fs, g);
    assert_contains(logged, "the folder has a model.safetensors besides an index");

    put_text(SINGLE, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n");
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_list(g, "", ".weightfs/ " S1 " " S2 " " INDEX " tensors/");
    assert_withheld(g, SINGLE, "a Git LFS pointer instead of the 12 bytes of weights");
    close_fs(fs, g);
}

static void broken_shard(void **state)
{
    uint8_t bytes[8192];
    size_t len = get_vector(S2, bytes, sizeof bytes);
    struct wfs_fs *fs;
    struct wfs_generation *g;

    (void)state;
    put_sharded();
    put(S2, bytes, len - 5);
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_list(g, "", ".weightfs/ tensors/");
    assert_withheld(g, SINGLE, S2 ": the file is truncated: 5 bytes are missing");
    assert_withheld(g, "model-q4_k_m.gguf", S2 ": the file is truncated: 5 bytes are missing");
    assert_withheld(g, "tensors", S2 ": the file is truncated");
    assert_non_null(wfs_generation_find(g, "tensors/a.weight.npy"));
    assert_null(wfs_generation_find(g, "tensors/ids.npy"));
    close_fs(fs, g);
    assert_contains(logged, "model-bf16.gguf and 12 more are withheld: " S2);
}

static void absent_shard(void **state)
{
    struct wfs_fs *fs;
    struct wfs_generation *g;
    char path[1000];

    (void)state;
    put_sharded();
    unlink((path_of(path, S2), path));
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_withheld(g, SINGLE, S2 ": the file is absent");
    close_fs(fs, g);
    mkfifo(path, 0600);
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_withheld(g, SINGLE, S2 ": it is not a regular file");
    close_fs(fs, g);
}

/* What the source has wins its name: a GGUF of its own, a tensors folder, a status file. */
static void source_wins(void **state)
{
    struct wfs_fs *fs;
    struct wfs_generation *g;
    char path[1000];

    (void)state;
    put_sharded();
    put_text("model-f16.gguf", "mine");
    mkdir((path_of(path, "tensors"), path), 0755);
    put_text("tensors/a.weight.npy", "mine too");
    mkdir((path_of(path, ".weightfs"), path), 0755);
    put_text(".weightfs/status.json", "and mine");
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    wfs_generation_wait(g);
    assert_bytes(fs, g, "model-f16.gguf", (const uint8_t *)"mine", 4);
    assert_bytes(fs, g, "tensors/a.weight.npy", (const uint8_t *)"mine too", 8);
    assert_bytes(fs, g, ".weightfs/status.json", (const uint8_t *)"and mine", 8);
    assert_non_null(wfs_generation_find(g, "tensors/ids.npy"));
    close_fs(fs, g);

    unlink((path_of(path, "tensors/a.weight.npy"), path));
    rmdir((path_of(path, "tensors"), path));
    put_text("tensors", "a file");
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_bytes(fs, g, "tensors", (const uint8_t *)"a file", 6);
    assert_withheld(g, "tensors", "the source has a file of that name");
    close_fs(fs, g);
}

/* Files that are no shards keep their names beside the view that is made of them. */
static void oddly_named(void **state)
{
    struct wfs_fs *fs;
    struct wfs_generation *g;

    (void)state;
    put_vector("merged.safetensors", "model_fp16.safetensors");
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_list(g, "", ".weightfs/ model.safetensors model_fp16.safetensors tensors/");
    assert_vector(fs, g, SINGLE, "merged.safetensors");
    assert_vector(fs, g, "model_fp16.safetensors", "merged.safetensors");
    close_fs(fs, g);
    /* an index that cannot be read hides nothing that stands without it */
    put_vector("merged.safetensors", SINGLE);
    put_text(INDEX, "{");
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_list(g, "", ".weightfs/ model.safetensors " INDEX " model_fp16.safetensors tensors/");
    assert_withheld(g, "model-f32.gguf", INDEX ": JSON: line 1");
    close_fs(fs, g);
}

static void no_weights(void **state)
{
    struct wfs_fs *fs;
    struct wfs_generation *g;
    struct wfs_model_info info;

    (void)state;
    put_text("config.json", "{}");
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    assert_list(g, "", ".weightfs/ config.json");
    assert_withheld(g, SINGLE, "no model.safetensors");
    assert_int_equal(wfs_generation_model_info(g, &info), 0);
    assert_null(info.model);
    assert_string_equal(info.architecture, "");
    close_fs(fs, g);
}

static void listing(void **state)
{
    static const struct {
        const char *views, *root, *tensors;
    } cases[] = {
        { "none", ".weightfs/ extra.txt", NULL },
        { "all", ".weightfs/ extra.txt model.safetensors tensors/", NULL },
        { "model.safetensors", ".weightfs/ extra.txt model.safetensors", NULL },
        { "tensors", ".weightfs/ extra.txt tensors/", NULL },
        { "tensors/i*", ".weightfs/ extra.txt tensors/", "i16.npy ids.npy" },
        { "*.gguf:tensors/ids.npy,model.safe*", ".weightfs/ extra.txt model.safetensors tensors/", "ids.npy" },
    };

    (void)state;
    put_sharded();
    put_text("extra.txt", "x");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wfs_fs *fs = open_fs(cases[i].views);
        struct wfs_generation *g = wfs_fs_generation(fs);

        assert_list(g, "", cases[i].root);
        if (cases[i].tensors)
            assert_list(g, "tensors", cases[i].tensors);
        /* by name, everything opens */
        assert_vector(fs, g, SINGLE, "merged.safetensors");
        assert_non_null(wfs_generation_find(g, "tensors/mask.npy"));
        assert_non_null(wfs_node_lookup(wfs_node_lookup(wfs_generation_root(g), "tensors"), "mask.npy"));
        close_fs(fs, g);
    }
}

static void listing_errors(void **state)
{
    static const char *const bad[] = { "model-q9.gguf", "", "tensors:nothing", "*.txt", "model.safetensors,",
                                       "model-iq2*.gguf" };

    (void)state;
    put_sharded();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wfs_fs_options options = { .views = bad[i] };
        struct wfs_error err = { 0 };
        struct wfs_fs *fs = NULL;

        assert_int_equal(wfs_fs_open(folder, &options, &fs, &err), -EINVAL);
        assert_contains(err.msg, "matches no view");
    }
}

static void status_file(void **state)
{
    struct wfs_fs *fs;
    struct wfs_generation *g;
    const struct wfs_node *n;
    struct stat st;
    uint8_t *text = NULL;
    size_t len = 0;
    struct wfs_json *json = NULL;
    const cJSON *root, *item;
    bool found = false;
    struct wfs_error err;

    (void)state;
    put_sharded();
    put_text("not \xff utf-8", "x");
    fs = open_fs("none");
    g = wfs_fs_generation(fs);
    wfs_generation_wait(g);
    n = wfs_generation_find(g, ".weightfs/status.json");
    wfs_node_stat(n, &st);
    assert_int_equal(wfs_fs_status_file(fs, n, &text, &len), 0);
    assert_int_equal(len, st.st_size);
    assert_int_equal(text[len - 1], '\n');
    assert_int_equal(wfs_json_parse(text, len, &WFS_JSON_CONFIG, "status.json", &json, &err), 0);
    root = wfs_json_root(json);
    assert_string_equal(wfs_json_string(wfs_json_get(root, "source")), folder);
    cJSON_ArrayForEach(item, wfs_json_get(root, "views")) {
        /* the map from file names to tensors */
        if (strcmp(wfs_json_string(wfs_json_get(item, "path")), "tensors/nul%00name.npy") == 0) {
            assert_string_equal(wfs_json_string(wfs_json_get(item, "tensor")), "nul\xc0\x80name");
            found = true;
        }
    }
    assert_true(found);
    found = false;
    cJSON_ArrayForEach(item, wfs_json_get(root, "withheld"))
        found |= strcmp(wfs_json_string(wfs_json_get(item, "path")), "model-q8_0.gguf") == 0;
    assert_true(found); /* there is no config.json */
    wfs_json_free(json);
    free(text);
    close_fs(fs, g);
}

static void generations(void **state)
{
    struct wfs_fs *fs;
    struct wfs_generation *first, *second;
    const struct wfs_node *node;
    struct wfs_object *open;
    uint64_t ino;
    char path[1000];

    (void)state;
    put_sharded();
    fs = open_fs(NULL);
    first = wfs_fs_generation(fs);
    assert_int_equal(wfs_generation_number(first), 1);
    ino = wfs_node_ino(wfs_generation_find(first, SINGLE));
    assert_int_equal(wfs_node_object(wfs_generation_find(first, SINGLE), &open, NULL), 0);
    sleep_ms(250);
    refresh_and_wait(fs, 3);
    assert_int_equal(last_result, 0);
    assert_true(wfs_generation_is_current(fs, first)); /* nothing changed */

    put_text("new.txt", "new");
    sleep_ms(250);
    refresh_and_wait(fs, 5);
    assert_false(wfs_generation_is_current(fs, first));
    second = wfs_fs_generation(fs);
    assert_int_equal(wfs_generation_number(second), 2);
    assert_null(wfs_generation_find(first, "new.txt"));
    assert_bytes(fs, second, "new.txt", (const uint8_t *)"new", 3);
    node = wfs_generation_find(second, SINGLE);
    assert_ptr_not_equal(node, wfs_generation_find(first, SINGLE));
    assert_int_equal(wfs_node_ino(node), ino); /* the same number in every mount and generation */
    assert_vector(fs, first, SINGLE, "merged.safetensors"); /* the old one still reads what it opened */
    wfs_node_object_put(wfs_generation_find(first, SINGLE));
    wfs_generation_unref(first);
    wfs_generation_unref(second);

    /* rewritten in place with as many bytes */
    put_text("new.txt", "wen");
    sleep_ms(250);
    refresh_and_wait(fs, 1);
    second = wfs_fs_generation(fs);
    assert_int_equal(wfs_generation_number(second), 3);
    assert_bytes(fs, second, "new.txt", (const uint8_t *)"wen", 3);
    wfs_generation_unref(second);

    unlink((path_of(path, S1), path));
    sleep_ms(250);
    refresh_and_wait(fs, 1);
    second = wfs_fs_generation(fs);
    assert_withheld(second, SINGLE, S1 ": the file is absent");
    close_fs(fs, second);
    assert_contains(logged, "the source has changed: generation 4");
}

/* More files than are kept open at once, over and over from several threads: each reads its own bytes. */
static void *read_files(void *arg)
{
    struct wfs_fs *fs = arg;
    struct wfs_generation *g = wfs_fs_generation(fs);
    unsigned seed = (unsigned)(uintptr_t)&seed;

    for (int i = 0; i < 3000; i++) {
        char path[100], want[20], got[20] = { 0 };
        const struct wfs_node *n;
        struct wfs_object *o;
        int k = rand_r(&seed) % 600, len = snprintf(want, sizeof want, "file %d", k);

        snprintf(path, sizeof path, "f%03d", k);
        n = wfs_generation_find(g, path);
        o = wfs_node_object_get(n);
        if (!o && wfs_node_object(n, &o, NULL) < 0)
            abort();
        if (wfs_engine_pread(wfs_fs_engine(fs), o, 0, got, (size_t)len) < 0 || strcmp(got, want) != 0)
            abort();
        wfs_node_object_put(n);
    }
    wfs_generation_unref(g);
    return NULL;
}

static void objects_come_and_go(void **state)
{
    pthread_t threads[4];
    struct wfs_fs *fs;

    (void)state;
    for (int i = 0; i < 600; i++) {
        char name[20], text[20];

        snprintf(name, sizeof name, "f%03d", i);
        snprintf(text, sizeof text, "file %d", i);
        put_text(name, text);
    }
    fs = open_fs(NULL);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, read_files, fs);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    wfs_fs_close(fs);
}

static void count_ready(void *ctx)
{
    count_refresh(ctx, 0);
}

/* Whoever asks before or after the GGUF views are settled is told, once. */
static void readiness(void **state)
{
    struct wfs_fs *fs;
    struct wfs_generation *g;
    const struct wfs_node *gguf;

    (void)state;
    put_sharded();
    fs = open_fs(NULL);
    g = wfs_fs_generation(fs);
    gguf = wfs_generation_find(g, "model-q8_0.gguf");
    assert_non_null(gguf);
    n_done = 0;
    for (int i = 0; i < 100; i++) {
        wfs_node_when_ready(gguf, count_ready, NULL);
        wfs_node_when_ready(wfs_generation_root(g), count_ready, NULL);
        wfs_node_when_ready(wfs_generation_find(g, SINGLE), count_ready, NULL);
        wfs_node_when_ready(wfs_generation_find(g, "tensors"), count_ready, NULL);
    }
    wfs_generation_wait(g);
    pthread_mutex_lock(&done_lock);
    while (n_done < 400)
        pthread_cond_wait(&done_cond, &done_lock);
    pthread_mutex_unlock(&done_lock);
    assert_int_equal(wfs_node_ready(gguf), -ENOENT); /* no config.json */
    assert_int_equal(wfs_node_ready(wfs_generation_root(g)), 1);
    close_fs(fs, g);
    assert_int_equal(n_done, 400);
}

static void single_file_source(void **state)
{
    struct wfs_fs *fs = NULL;
    struct wfs_generation *g;
    struct wfs_error err = { 0 };
    char path[1000];

    (void)state;
    put_sharded();
    put_vector("merged.safetensors", "any name.safetensors");
    path_of(path, "any name.safetensors");
    if (wfs_fs_open(path, NULL, &fs, &err) < 0)
        fail_msg("%s", err.msg);
    g = wfs_fs_generation(fs);
    assert_list(g, "", ".weightfs/ model.safetensors tensors/");
    assert_vector(fs, g, SINGLE, "merged.safetensors");
    assert_withheld(g, "model-f16.gguf", "the source is one file");
    close_fs(fs, g);
}

static void cannot_open(void **state)
{
    struct wfs_fs *fs = NULL;
    struct wfs_error err = { 0 };

    (void)state;
    assert_int_equal(wfs_fs_open("/nonexistent/model", NULL, &fs, &err), -ENOENT);
    assert_contains(err.msg, "/nonexistent/model");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sharded), TEST(tensors), TEST(single), TEST(index_of_one), TEST(own_single_beside_shards),
        TEST(broken_shard), TEST(absent_shard), TEST(source_wins), TEST(oddly_named), TEST(no_weights), TEST(listing),
        TEST(listing_errors), TEST(status_file), TEST(generations), TEST(objects_come_and_go), TEST(readiness),
        TEST(single_file_source), TEST(cannot_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
