/*
 * The kernels beside the reference, in one run on one core: bench_kernels [--tsv] [--type NAME] LIBGGML_BASE
 *
 * Each type, operation and instruction set in turn with the reference (ggml-base, loaded from the path; see
 * tests/interop/environment) on the same Gaussian rows of 4096; first the bytes of both must be equal, or the run ends
 * with status 1. Printed is the fastest pass of each: type, instruction set, operation, ours and the reference in
 * million elements a second, ratio. The first line is a plain copy of the input. The buffers are at most 1 MB of
 * floats, so the fast kernels are bound by the caches, not by memory.
 */
#include "patterns.h"
#include "reference.h"

#include <math.h>
#include <sched.h>
#include <time.h>

enum { ROW = 4096, MAX_ROWS = 64, ROUNDS = 5 };

static const double SLICE = 0.03; /* seconds of each in each round, at least one pass */

enum operation { QUANTIZE, QUANTIZE_WEIGHTED, DEQUANTIZE, N_OPERATIONS };
static const char *const operations[] = { "quantize", "quantize_weighted", "dequantize" };

static struct reference ref;
static bool tsv;
static float *input, *weights, *output;
static uint8_t *packed, *packed_ref;

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "bench_kernels: %s: %s\n", what, detail);
    exit(1);
}

static void *allocate(size_t size)
{
    void *p = aligned_alloc(64, (size + 63) / 64 * 64);

    if (!p)
        die("allocation", "failed");
    memset(p, 0, size);
    return p;
}

static float gaussian(void)
{
    double u = (double)((next() >> 11) + 1) * 0x1p-53, v = (double)(next() >> 11) * 0x1p-53;

    return (float)(0.02 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* not what others take from this core */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct job {
    enum operation op;
    int type;
    size_t n_rows;
};

static void run_ref(const struct job *j)
{
    const float *w = j->op == QUANTIZE_WEIGHTED ? weights : NULL;

    if (j->op == DEQUANTIZE)
        ref.traits(j->type)->to_float(packed_ref, output, (int64_t)(j->n_rows * ROW));
    else
        ref.quantize(j->type, input, packed_ref, 0, (int64_t)j->n_rows, ROW, w);
}

static void run_ours(const struct job *j, const struct wfs_kernels *k)
{
    size_t bytes = block_bytes_of(j->type, ROW);

    for (size_t r = 0; r < j->n_rows; r++) {
        if (j->op == QUANTIZE)
            k->encode[j->type](input + r * ROW, packed + r * bytes, ROW);
        else if (j->op == QUANTIZE_WEIGHTED)
            k->encode_weighted[j->type](input + r * ROW, weights, packed + r * bytes, ROW);
        else
            k->dequantize[j->type](packed_ref + r * bytes, output + r * ROW, ROW);
    }
}

/* The bytes of ours and theirs, which must be equal. */
static void compare(const struct job *j, const struct wfs_kernels *k)
{
    size_t n = j->n_rows * ROW;
    float *theirs = allocate(n * sizeof *theirs);
    bool equal;

    run_ref(j);
    memcpy(theirs, output, n * sizeof *theirs);
    run_ours(j, k);
    equal = j->op == DEQUANTIZE ? memcmp(theirs, output, n * sizeof *theirs) == 0
                                : memcmp(packed, packed_ref, block_bytes_of(j->type, n)) == 0;
    free(theirs);
    if (!equal) {
        fprintf(stderr, "bench_kernels: %s %s (%s): not the reference's bytes\n", wfs_ggml_types[j->type].name,
                operations[j->op], k->isa);
        exit(1);
    }
}

/* Seconds of the fastest pass in a slice. k NULL: the reference; j NULL: a copy. */
static double time_one(const struct job *j, const struct wfs_kernels *k)
{
    double begin = now(), last = begin, best = 1e9;

    do {
        double t;

        if (!j)
            memcpy(output, input, (size_t)ROW * MAX_ROWS * sizeof *input);
        else if (k)
            run_ours(j, k);
        else
            run_ref(j);
        t = now();
        best = fmin(best, t - last);
        last = t;
    } while (last - begin < SLICE);
    return best;
}

static void line(const char *type, const char *isa, const char *op, size_t n, double ours, double theirs)
{
    printf(tsv ? "%s\t%s\t%s\t%.1f\t%.1f\t%.2f\n" : "%-8s %-7s %-18s %12.1f %12.1f %7.2f\n", type, isa, op,
           1e-6 * (double)n / ours, 1e-6 * (double)n / theirs, theirs / ours);
    fflush(stdout);
}

static bool offered(const struct job *j, const struct wfs_kernels *k)
{
    if (j->op == QUANTIZE)
        return k->encode[j->type] != NULL;
    if (j->op == QUANTIZE_WEIGHTED)
        return k->encode_weighted[j->type] != NULL;
    return k->dequantize[j->type] && ref.traits(j->type)->to_float;
}

static void time_job(const struct job *j, const struct wfs_kernels *sets, int n_sets)
{
    double best[WFS_ISA_COUNT], theirs = 1e9;

    for (int i = 0; i < n_sets; i++) {
        if (!offered(j, &sets[i]))
            return;
        compare(j, &sets[i]);
        best[i] = 1e9;
    }
    for (int round = 0; round < ROUNDS; round++) { /* in turn, so that a slow moment hits all */
        theirs = fmin(theirs, time_one(j, NULL));
        for (int i = 0; i < n_sets; i++)
            best[i] = fmin(best[i], time_one(j, &sets[i]));
    }
    for (int i = 0; i < n_sets; i++)
        line(wfs_ggml_types[j->type].name, sets[i].isa, operations[j->op], j->n_rows * ROW, best[i], theirs);
}

static void time_copy(void)
{
    double best = 1e9;

    for (int round = 0; round < ROUNDS; round++)
        best = fmin(best, time_one(NULL, NULL));
    line("f32", "libc", "copy", (size_t)ROW * MAX_ROWS, best, best);
}

/* Few rows where the reference makes a few million elements a second. */
static size_t rows_for(const struct job *j)
{
    bool slow = strncmp(wfs_ggml_types[j->type].name, "iq", 2) == 0;

    if (j->op == DEQUANTIZE || wfs_ggml_types[j->type].block_elems < 256)
        return slow && j->op != DEQUANTIZE ? 4 : MAX_ROWS;
    return slow ? 4 : 16;
}

static void time_all(const char *only)
{
    struct wfs_kernels sets[WFS_ISA_COUNT];
    int n_sets = 0;

    for (int i = 0; i <= (int)wfs_cpu_masked_isa(); i++) {
        if (wfs_cpu_has((enum wfs_isa)i))
            wfs_kernels_init_for(&sets[n_sets++], (enum wfs_isa)i);
    }
    printf(tsv ? "%s\t%s\t%s\t%s\t%s\t%s\n" : "%-8s %-7s %-18s %12s %12s %7s\n", "type", "isa", "op", "ours_melem_s",
           "ref_melem_s", "ratio");
    time_copy();
    for (int t = 0; t < WFS_TYPE_COUNT; t++) {
        if (!wfs_ggml_types[t].name || (only && strcmp(only, wfs_ggml_types[t].name) != 0))
            continue;
        for (int op = 0; op < N_OPERATIONS; op++) {
            struct job j = { .op = (enum operation)op, .type = t };

            j.n_rows = rows_for(&j);
            if (op == DEQUANTIZE) /* what there is to bring back */
                ref.quantize(t, input, packed_ref, 0, (int64_t)j.n_rows, ROW, weights);
            time_job(&j, sets, n_sets);
        }
    }
}

int main(int argc, char **argv)
{
    const char *path = NULL, *only = NULL;
    size_t n = (size_t)ROW * MAX_ROWS;
    cpu_set_t one;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--tsv") == 0)
            tsv = true;
        else if (strcmp(argv[i], "--type") == 0 && i + 1 < argc)
            only = argv[++i];
        else
            path = argv[i];
    }
    if (!path || path[0] == '-') {
        fprintf(stderr, "usage: bench_kernels [--tsv] [--type NAME] LIBGGML_BASE\n");
        return 2;
    }
    ref = ref_load(path, only);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        fprintf(stderr, "bench_kernels: not pinned to one core\n");
    seed_rng(1);
    input = allocate(n * sizeof *input);
    output = allocate(n * sizeof *output);
    weights = allocate(ROW * sizeof *weights);
    packed = allocate(n * sizeof *input);
    packed_ref = allocate(n * sizeof *input);
    for (size_t i = 0; i < n; i++)
        input[i] = gaussian();
    for (size_t i = 0; i < ROW; i++)
        weights[i] = abs_of(gaussian() * gaussian()) + 1e-6f;
    time_all(only);
    return 0;
}
