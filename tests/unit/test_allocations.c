/*
 * Memory runs out at each allocation in turn: opening a source, listing it, reading a view of every kind, a second look
 * at it, closing. Whatever is refused says ENOMEM (or EIO), nothing else differs, and once there is memory again what
 * was opened serves the right bytes. With a sanitizer: nothing leaks, nothing is used after it is freed.
 *
 * Plain builds stand in for libc's malloc, so that what libraries allocate fails too; a sanitizer has its own, there
 * the linker wraps the calls of our own objects (meson.build).
 */
#include "fs_rig.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>

/* ---- the seam ---- */

static atomic_llong calls, fail_from = -1, fail_to = -1;

/* Whether this allocation is to fail. */
static bool refused(void)
{
    long long n = atomic_fetch_add(&calls, 1);

    if (n < atomic_load(&fail_from) || n >= atomic_load(&fail_to))
        return false;
    errno = ENOMEM;
    return true;
}

#ifdef WFS_TEST_WRAP
#define OURS(name) __wrap_##name
#define REAL(name) __real_##name
#else
#define OURS(name) name
#define REAL(name) __libc_##name
#endif

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t n, size_t size);
void *REAL(realloc)(void *p, size_t size);
void *OURS(malloc)(size_t size);
void *OURS(calloc)(size_t n, size_t size);
void *OURS(realloc)(void *p, size_t size);

void *OURS(malloc)(size_t size)
{
    return refused() ? NULL : REAL(malloc)(size);
}

void *OURS(calloc)(size_t n, size_t size)
{
    return refused() ? NULL : REAL(calloc)(n, size);
}

void *OURS(realloc)(void *p, size_t size)
{
    return refused() ? NULL : REAL(realloc)(p, size);
}

#ifdef WFS_TEST_WRAP
void *__real_aligned_alloc(size_t align, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
int __real_posix_memalign(void **ret, size_t align, size_t size);
int __real_vasprintf(char **ret, const char *fmt, va_list ap);
void *__wrap_aligned_alloc(size_t align, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_posix_memalign(void **ret, size_t align, size_t size);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap);
int __wrap_asprintf(char **ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return refused() ? NULL : __real_aligned_alloc(align, size);
}

char *__wrap_strdup(const char *s)
{
    return refused() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
    return refused() ? NULL : __real_strndup(s, n);
}

int __wrap_posix_memalign(void **ret, size_t align, size_t size)
{
    return refused() ? ENOMEM : __real_posix_memalign(ret, align, size);
}

int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
    return refused() ? -1 : __real_vasprintf(ret, fmt, ap);
}

int __wrap_asprintf(char **ret, const char *fmt, ...)
{
    va_list ap;
    int r;

    va_start(ap, fmt);
    r = __wrap_vasprintf(ret, fmt, ap);
    va_end(ap);
    return r;
}
#else
void *__libc_memalign(size_t align, size_t size);

void *aligned_alloc(size_t align, size_t size)
{
    return refused() ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **ret, size_t align, size_t size)
{
    void *p = refused() ? NULL : __libc_memalign(align, size);

    if (!p)
        return ENOMEM;
    *ret = p;
    return 0;
}
#endif

static void refuse(long long from, long long to)
{
    atomic_store(&calls, 0);
    atomic_store(&fail_from, from);
    atomic_store(&fail_to, to);
}

/* ---- a model: a Llama of one layer in two shards ---- */

enum { HIDDEN = 256, VOCAB = 556, MAX_TENSORS = 16 };

struct tensor {
    const char *name;
    unsigned rows, cols; /* rows 0: a vector */
};

static const struct tensor first[] = {
    { "model.embed_tokens.weight", VOCAB, HIDDEN },
    { "model.layers.0.input_layernorm.weight", 0, HIDDEN },
    { "model.layers.0.self_attn.q_proj.weight", HIDDEN, HIDDEN },
    { "model.layers.0.self_attn.k_proj.weight", HIDDEN, HIDDEN },
    { "model.layers.0.self_attn.v_proj.weight", HIDDEN, HIDDEN },
    { "model.layers.0.self_attn.o_proj.weight", HIDDEN, HIDDEN },
};
static const struct tensor second[] = {
    { "model.layers.0.post_attention_layernorm.weight", 0, HIDDEN },
    { "model.layers.0.mlp.gate_proj.weight", HIDDEN, HIDDEN },
    { "model.layers.0.mlp.up_proj.weight", HIDDEN, HIDDEN },
    { "model.layers.0.mlp.down_proj.weight", HIDDEN, HIDDEN },
    { "model.norm.weight", 0, HIDDEN },
};

static void put_shard(const char *file, const struct tensor *tensors, size_t n)
{
    static uint8_t out[1 << 20];
    size_t len = 8, data = 0;
    uint64_t header;

    out[len++] = '{';
    for (size_t i = 0; i < n; i++) {
        size_t bytes = (size_t)(tensors[i].rows ? tensors[i].rows : 1) * tensors[i].cols * 2;
        char shape[40];

        snprintf(shape, sizeof shape, tensors[i].rows ? "%u,%u" : "%.0u%u", tensors[i].rows, tensors[i].cols);
        len += (size_t)snprintf((char *)out + len, sizeof out - len,
                                "%s\"%s\":{\"dtype\":\"BF16\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                                i ? "," : "", tensors[i].name, shape, data, data + bytes);
        data += bytes;
    }
    out[len++] = '}';
    while (len % 8)
        out[len++] = ' ';
    header = len - 8;
    memcpy(out, &header, 8);
    for (size_t i = 0; i < data; i += 2) { /* bfloat16 between 0.5 and 4, of both signs */
        out[len + i] = (uint8_t)(i * 37 + i / 511);
        out[len + i + 1] = (uint8_t)(i % 6 ? 0x3f : 0xbf);
    }
    put(file, out, len + data);
}

static void put_index(void)
{
    char text[4000] = "{\"metadata\":{},\"weight_map\":{";
    size_t n_first = sizeof first / sizeof *first, n = n_first + sizeof second / sizeof *second;

    for (size_t i = 0; i < n; i++) {
        const struct tensor *t = i < n_first ? &first[i] : &second[i - n_first];

        sprintf(text + strlen(text), "%s\"%s\":\"%s\"", i ? "," : "", t->name, i < n_first ? S1 : S2);
    }
    put_text(INDEX, strcat(text, "}}"));
}

static void copy_vector(const char *name)
{
    char path[1000];
    uint8_t bytes[16384];
    size_t len;
    FILE *f;

    snprintf(path, sizeof path, "%s/tokenizer/spm/%s", WFS_TEST_VECTORS, name);
    f = fopen(path, "rb");
    assert_non_null(f);
    len = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    put(name, bytes, len);
}

static int put_model(void **state)
{
    if (fresh_folder(state) < 0)
        return -1;
    put_shard(S1, first, sizeof first / sizeof *first);
    put_shard(S2, second, sizeof second / sizeof *second);
    put_index();
    copy_vector("tokenizer.model");
    copy_vector("tokenizer_config.json");
    put_text("config.json",
             "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_size\": 256, "
             "\"intermediate_size\": 256, \"num_hidden_layers\": 1, \"num_attention_heads\": 4, "
             "\"num_key_value_heads\": 4, \"vocab_size\": 556, \"rms_norm_eps\": 1e-5, "
             "\"max_position_embeddings\": 64, \"tie_word_embeddings\": true, \"torch_dtype\": \"bfloat16\"}");
    return 0;
}

/* ---- what is done while memory runs out ---- */

static const char *const views[] = { "config.json",      "model.safetensors", "tensors/model.embed_tokens.weight.npy",
                                     "model-f32.gguf",   "model-q8_0.gguf",   "model-q4_k_m.gguf" };
enum { N_VIEWS = sizeof views / sizeof *views };
static uint8_t *wanted[N_VIEWS]; /* what they are without a failure */
static size_t wanted_len[N_VIEWS];
static uint8_t *got; /* room for the largest */
static atomic_int answered, n_refused, n_withheld, n_not_opened;

static void out_of_memory_or(int r, const char *what)
{
    n_refused += r != 0;
    if (r != 0 && r != -ENOMEM && r != -EIO)
        fail_msg("%s: %s", what, strerror(-r));
}

/* Reads a view in pieces and compares; `must`: there is memory now. */
static void read_view(struct wfs_fs *fs, struct wfs_generation *g, size_t i, bool must)
{
    const struct wfs_node *n = wfs_generation_find(g, views[i]);
    struct wfs_object *o = NULL;
    struct wfs_error err = { 0 };
    int r;

    if (!n || wfs_node_ready(n) != 1) { /* withheld, as there was no memory to prepare it */
        n_withheld++;
        return;
    }
    r = wfs_node_object(n, &o, &err);
    if (must && r < 0)
        fail_msg("%s: %s", views[i], err.msg);
    out_of_memory_or(r, views[i]);
    if (r < 0)
        return;
    for (size_t at = 0; at < wanted_len[i]; at += 100000) {
        size_t len = wanted_len[i] - at < 100000 ? wanted_len[i] - at : 100000;

        r = wfs_engine_pread(wfs_fs_engine(fs), o, at, got, len);
        if (must)
            assert_int_equal(r, 0);
        out_of_memory_or(r, views[i]);
        if (r == 0 && memcmp(got, wanted[i] + at, len) != 0)
            fail_msg("%s: other bytes at %zu", views[i], at);
    }
    wfs_node_object_put(n);
}

static int ignore(void *ctx, const struct wfs_view_info *info)
{
    (void)ctx, (void)info;
    return 0;
}

static void count_answer(void *ctx, int result)
{
    (void)ctx;
    out_of_memory_or(result, "refresh");
    atomic_fetch_add(&answered, 1);
}

static void look_around(struct wfs_fs *fs, struct wfs_generation *g)
{
    const struct wfs_node *status = wfs_generation_find(g, ".weightfs/status.json");
    struct wfs_buf text = { 0 };
    uint8_t *snapshot = NULL;
    size_t len = 0;
    int before = atomic_load(&answered);

    wfs_generation_each_view(g, ignore, NULL);
    if (wfs_fs_status(fs, &text) < 0)
        assert_true(atomic_load(&fail_from) >= 0);
    wfs_buf_done(&text);
    if (status)
        wfs_fs_status_file(fs, status, &snapshot, &len);
    free(snapshot);
    wfs_fs_refresh(fs, count_answer, NULL);
    while (atomic_load(&answered) == before)
        sleep_ms(1);
}

/* All of it, while allocations from..to-1 fail. Returns how many there were. */
static long long work(long long from, long long to)
{
    struct wfs_fs_options options = { .workers = 2, .on_log = on_log, .cache_size = 64 << 20 };
    struct wfs_fs *fs = NULL;
    struct wfs_generation *g;
    struct wfs_error err = { 0 };
    int r;

    logged[0] = 0;
    refuse(from, to);
    r = wfs_fs_open(folder, &options, &fs, &err);
    if (r < 0) {
        refuse(-1, -1);
        if (r != -ENOMEM && r != -EAGAIN)
            fail_msg("opening: %s", err.msg);
        n_not_opened++;
        return 0;
    }
    g = wfs_fs_generation(fs);
    wfs_generation_wait(g);
    for (size_t i = 0; i < N_VIEWS; i++)
        read_view(fs, g, i, from < 0);
    look_around(fs, g);
    r = (int)atomic_load(&calls);
    refuse(-1, -1);
    for (size_t i = (size_t)from % 3; i < N_VIEWS && from >= 0; i += 3)
        read_view(fs, g, i, true);
    wfs_generation_unref(g);
    wfs_fs_close(fs);
    return r;
}

/* The bytes of all views, that everything is compared with. */
static void learn(void)
{
    struct wfs_fs *fs = open_fs(NULL);
    struct wfs_generation *g = wfs_fs_generation(fs);
    size_t largest = 0;

    wfs_generation_wait(g);
    for (size_t i = 0; i < N_VIEWS; i++) {
        const struct wfs_node *n = wfs_generation_find(g, views[i]);
        struct wfs_object *o;
        struct stat st;

        if (!n || wfs_node_ready(n) != 1)
            fail_msg("%s is withheld: %s", views[i], logged);
        wfs_node_stat(n, &st);
        wanted_len[i] = (size_t)st.st_size;
        wanted[i] = malloc(wanted_len[i]);
        largest = wanted_len[i] > largest ? wanted_len[i] : largest;
        assert_int_equal(wfs_node_object(n, &o, NULL), 0);
        assert_int_equal(wfs_engine_pread(wfs_fs_engine(fs), o, 0, wanted[i], wanted_len[i]), 0);
        wfs_node_object_put(n);
    }
    got = malloc(largest);
    wfs_generation_unref(g);
    wfs_fs_close(fs);
}

static void forget(void)
{
    for (size_t i = 0; i < N_VIEWS; i++)
        free(wanted[i]);
    free(got);
}

/* One allocation fails; and, less often tried, that one and all that follow. */
static void each_allocation_fails(void **state)
{
    long long n_calls, step;
    uint64_t began;

    (void)state;
    learn();
    n_calls = work(-1, -1);
    assert_true(n_calls > 500);
    step = (long long)slowness() > 1 ? (long long)(slowness() * 2) + 1 : 1;
    began = (uint64_t)time(NULL);
    for (long long n = 0; n < n_calls; n += step)
        work(n, n + 1);
    for (long long n = 0; n < n_calls; n += 17 * step)
        work(n, INT64_MAX);
    print_message("%lld allocations, one in %lld of them refused, %d s: %d not opened, %d refused, %d withheld\n",
                  n_calls, step, (int)((uint64_t)time(NULL) - began), n_not_opened, n_refused, n_withheld);
    assert_true(n_not_opened > 0 && n_refused > 0 && n_withheld > 0);
    forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_allocation_fails, put_model, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
