/*
 * Plain C, and the highest instruction set, against the reference itself on random rows, for some seconds:
 * checkreference LIBGGML_BASE [SECONDS [SEED [TYPE]]]
 *
 * Every type in turn: rows of patterns.h and of random lengths, with and without importance weights, then random blocks
 * back to floats. The reference works in a child: where it aborts, crashes or gives other bytes the second time, there
 * is nothing to compare with. The seed is printed; give it again to repeat a run.
 */
#include "patterns.h"
#include "reference.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROW = 4096, MAX_ROWS = 4, MAX_ELEMS = MAX_ROW * MAX_ROWS };

static struct reference ref;
static struct wfs_kernels sets[2];
static int n_sets;
static float x[MAX_ELEMS], w[MAX_ROW];
static uint8_t ours[MAX_ELEMS * 4], *theirs, *again; /* the latter shared with the child */

static struct tally {
    long compared, without, failed;
} tally[WFS_TYPE_COUNT];

static bool ref_accepts(int type, const uint8_t *blocks, size_t size)
{
    int out = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    bool ok;

    dup2(null, STDERR_FILENO); /* it reports what it refuses */
    ok = ref.validate(type, blocks, size);
    dup2(out, STDERR_FILENO);
    close(out);
    close(null);
    return ok;
}

static void *shared(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        perror("checkreference: mmap");
        exit(1);
    }
    return p;
}

static bool in_child(int type, const float *weights, size_t n_rows, size_t row, uint8_t *out)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);

        dup2(null, STDERR_FILENO);
        dup2(null, STDOUT_FILENO);
        alarm(20);
        ref.quantize(type, x, out, 0, (int64_t)n_rows, (int64_t)row, weights);
        _exit(0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void encode(const struct wfs_kernels *k, int type, const float *weights, size_t n_rows, size_t row)
{
    size_t bytes = block_bytes_of(type, row);

    for (size_t r = 0; r < n_rows; r++) {
        if (weights && k->encode_weighted[type])
            k->encode_weighted[type](x + r * row, weights, ours + r * bytes, row);
        else
            k->encode[type](x + r * row, ours + r * bytes, row);
    }
}

/* Blocks with infinities or NaNs are nobody's: it is enough that both are found. */
static bool refused_both(const struct wfs_kernels *k, int type, size_t size)
{
    size_t n_blocks = size / wfs_ggml_types[type].block_bytes;

    return k->validate[type](ours, n_blocks) < n_blocks && !ref_accepts(type, theirs, size);
}

static void check_encode(int type, int pattern, int wp)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    size_t row = (1 + next() % (MAX_ROW / info->block_elems)) * info->block_elems, n_rows = 1 + next() % MAX_ROWS;
    size_t size = block_bytes_of(type, row) * n_rows;
    const float *weights = wp < 0 ? NULL : w;

    for (size_t r = 0; r < n_rows; r++)
        fill_pattern(pattern, x + r * row, row);
    if (wp >= 0)
        fill_weight_pattern(wp, w, row);
    if (!in_child(type, weights, n_rows, row, theirs)) {
        tally[type].without++;
        return;
    }
    for (int s = 0; s < n_sets; s++) {
        encode(&sets[s], type, weights, n_rows, row);
        if (memcmp(ours, theirs, size) == 0 || refused_both(&sets[s], type, size))
            continue;
        memset(ours, 0x5a, sizeof ours);
        if (!in_child(type, weights, n_rows, row, again) || memcmp(theirs, again, size) != 0) {
            tally[type].without++;
            return;
        }
        if (tally[type].failed++ < 3)
            printf("FAILED: %s (%s): %zu rows of %zu, %s, weights %s\n", info->name, sets[s].isa, n_rows, row,
                   patterns[pattern], wp < 0 ? "none" : weight_patterns[wp]);
    }
    tally[type].compared += (long)(n_rows * row);
}

static void check_dequantize(int type)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    size_t n = MAX_ROW / info->block_elems * info->block_elems;
    static float a[MAX_ROW], b[MAX_ROW];

    fill_blocks(&sets[0], type, ours, n / info->block_elems);
    ref.traits(type)->to_float(ours, a, (int64_t)n);
    for (int s = 0; s < n_sets; s++) {
        sets[s].dequantize[type](ours, b, n);
        if (memcmp(a, b, n * sizeof *a) != 0 && tally[type].failed++ < 3)
            printf("FAILED: %s (%s): dequantize\n", info->name, sets[s].isa);
    }
    tally[type].compared += (long)n;
}

static void check_type(int type)
{
    bool plain = sets[0].encode[type] && !ref.needs_weights(type);

    /* Infinities and NaNs among the values are refused before they get here; among weights they are not. */
    if (plain)
        check_encode(type, (int)(next() % N_FINITE), -1);
    if (plain || sets[0].encode_weighted[type])
        check_encode(type, (int)(next() % N_FINITE), (int)(next() % N_USUAL));
    if (sets[0].encode_weighted[type] && next() % 4 == 0)
        check_encode(type, (int)(next() % N_FINITE), (int)(next() % N_WEIGHT_PATTERNS));
    if (sets[0].dequantize[type] && ref.traits(type)->to_float)
        check_dequantize(type);
}

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? atof(argv[2]) : 60;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : (uint64_t)getpid() * 0x9e3779b97f4a7c15u >> 32;
    time_t end;
    int failed = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: checkreference LIBGGML_BASE [SECONDS [SEED [TYPE]]]\n");
        return 2;
    }
    printf("checkreference: seed %llu, highest set %s\n", (unsigned long long)seed, wfs_isa_names[wfs_cpu_isa()]);
    fflush(stdout);
    seed_rng(seed);
    theirs = shared(sizeof ours);
    again = shared(sizeof ours);
    ref = ref_load(argv[1], argc > 4 ? argv[4] : NULL);
    end = time(NULL) + (time_t)seconds;
    wfs_kernels_init_for(&sets[n_sets++], WFS_ISA_C);
    if (wfs_cpu_isa() != WFS_ISA_C)
        wfs_kernels_init_for(&sets[n_sets++], wfs_cpu_isa());
    do {
        for (int t = 0; t < WFS_TYPE_COUNT; t++) {
            if (wfs_ggml_types[t].name && (argc < 5 || strcmp(argv[4], wfs_ggml_types[t].name) == 0))
                check_type(t);
        }
    } while (time(NULL) < end);
    for (int t = 0; t < WFS_TYPE_COUNT; t++) {
        if (tally[t].compared + tally[t].failed + tally[t].without)
            printf("%-8s %10ld values compared, %ld rows without a reference, %ld differ\n", wfs_ggml_types[t].name,
                   tally[t].compared, tally[t].without, tally[t].failed);
        failed += tally[t].failed != 0;
    }
    return failed != 0;
}
