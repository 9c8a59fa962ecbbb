/*
 * The kernels beside the reference, in one run on one core: bench_kernels [--tsv] [--type NAME] LIBGGML_BASE
 *
 * First every encoder and validator of every instruction set must give the bytes of the reference (ggml-base, loaded
 * from the path; see tests/interop/environment) on 16,384 superblocks; any difference ends the run with status 1. Then
 * both are timed in turn on the same Gaussian rows of 4096, and the best of each is printed: type, isa, operation, ours
 * and the reference in million elements per second, ratio. The buffers are 1 MB of floats, so the fast casts are bound
 * by the caches, not by memory.
 */
#include "kernels/bits.h"
#include "kernels/kernels.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROW = 4096, TIMED_ROWS = 64, COMPARED = 16384 * 256, ROUNDS = 5 };

typedef size_t quantize_fn(int type, const float *src, void *dst, int64_t start, int64_t n_rows, int64_t row,
                           const float *imatrix);
typedef bool ref_validate_fn(int type, const void *data, size_t n_bytes);
typedef void widen_fn(const void *src, float *dst, int64_t n);

static struct {
    quantize_fn *quantize;
    ref_validate_fn *validate;
    widen_fn *widen_f16, *widen_bf16;
} ref;

static const enum wfs_ggml_type types[] = { WFS_TYPE_Q4_K, WFS_TYPE_Q6_K, WFS_TYPE_Q8_0, WFS_TYPE_Q5_0,
                                            WFS_TYPE_Q5_1, WFS_TYPE_F16,  WFS_TYPE_BF16 };
static bool tsv;

static uint64_t rng = 0x9e3779b97f4a7c15u;

static uint64_t next(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    return rng ^= rng << 17;
}

static float gaussian(void)
{
    double u = (double)((next() >> 11) + 1) * 0x1p-53, v = (double)(next() >> 11) * 0x1p-53;

    return (float)(0.02 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

/* Rows as models have them, and every 16th row something nasty but finite. */
static void fill(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t row = i / ROW;

        x[i] = gaussian();
        if (row % 16 != 15)
            continue;
        switch (row / 16 % 12) {
        case 0: x[i] = 0; break;
        case 1: x[i] = 0.25f; break;
        case 2: x[i] *= 1e-38f; break; /* subnormal */
        case 3: x[i] = fmaxf(fminf(x[i] * 3e38f * 10, 3.4e38f), -3.4e38f); break;
        case 4: x[i] = i % 777 == 0 ? 80.0f : x[i]; break;
        case 5: x[i] = float_of((uint32_t)bf16_of(bits_of(x[i])) << 16); break;
        case 6: x[i] = fabsf(x[i]); break;
        case 7: x[i] = (float)((int)(next() % 9) - 4) * 0.5f; break; /* ties */
        case 8: x[i] *= 1e-15f; break;
        case 9: x[i] = float_of(0xbf800000u + (uint32_t)(next() % (2 + row % 7))); break; /* some ulps apart */
        case 10: x[i] = i % 32 == 0 ? 127 : float_of(0x3effffffu + (uint32_t)(next() % 3)); break; /* 0.5 +-1 ulp */
        default: x[i] = i & 1 ? -0.0f : 0.0f; break;
        }
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* not what others take from this core */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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

static size_t bytes_of(enum wfs_ggml_type type, size_t n)
{
    return n / wfs_ggml_types[type].block_elems * wfs_ggml_types[type].block_bytes;
}

static bool ref_accepts(enum wfs_ggml_type type, const uint8_t *blocks, size_t size)
{
    int out = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    bool ok;

    dup2(null, STDERR_FILENO); /* it reports what it refuses */
    ok = ref.validate((int)type, blocks, size);
    dup2(out, STDERR_FILENO);
    close(out);
    close(null);
    return ok;
}

static void compare(const struct wfs_kernels *k, enum wfs_ggml_type type, const float *x, uint8_t *ours,
                    const uint8_t *theirs)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    size_t size = bytes_of(type, COMPARED), n_blocks = COMPARED / info->block_elems, bad;
    char text[200];

    memset(ours, 0xa5, size);
    k->encode[type](x, ours, COMPARED);
    for (size_t i = 0; i < size; i++) {
        if (ours[i] == theirs[i])
            continue;
        snprintf(text, sizeof text, "%s, block %zu, byte %zu of it: %02x is not the reference's %02x", k->isa,
                 i / info->block_bytes, i % info->block_bytes, ours[i], theirs[i]);
        die(info->name, text);
    }
    bad = k->validate[type](theirs, n_blocks);
    if ((bad == n_blocks) != ref_accepts(type, theirs, size))
        die(info->name, "validation differs from the reference's");
    if (bad < n_blocks && !ref_accepts(type, theirs, bad * info->block_bytes))
        die(info->name, "a bad block before the first one found");
}

static void compare_all(enum wfs_isa isas, const char *only)
{
    float *x = allocate(COMPARED * sizeof *x);
    uint8_t *ours = allocate(COMPARED * 2), *theirs = allocate(COMPARED * 2);

    fill(x, COMPARED);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        if (only && strcmp(only, wfs_ggml_types[types[t]].name) != 0)
            continue;
        ref.quantize((int)types[t], x, theirs, 0, COMPARED / ROW, ROW, NULL);
        for (int isa = 0; isa <= (int)isas; isa++) {
            struct wfs_kernels k;

            wfs_kernels_init_for(&k, (enum wfs_isa)isa);
            compare(&k, types[t], x, ours, theirs);
        }
        fprintf(stderr, "%s: %d superblocks (%d values) equal the reference's on every instruction set\n",
                wfs_ggml_types[types[t]].name, COMPARED / 256, COMPARED);
    }
    free(x);
    free(ours);
    free(theirs);
}

enum operation { ENCODE, DECODE, VALIDATE };
static const char *const operations[] = { "encode", "decode", "validate" };

struct job {
    enum operation op;
    enum wfs_ggml_type type;
    float *x;
    uint8_t *packed;
};

static void run_ref(const struct job *j)
{
    size_t n = (size_t)ROW * TIMED_ROWS;

    if (j->op == ENCODE)
        ref.quantize((int)j->type, j->x, j->packed, 0, TIMED_ROWS, ROW, NULL);
    else if (j->op == DECODE)
        (j->type == WFS_TYPE_F16 ? ref.widen_f16 : ref.widen_bf16)(j->packed, j->x, (int64_t)n);
    else if (!ref.validate((int)j->type, j->packed, bytes_of(j->type, n)))
        die("validate", "the reference refuses its own blocks");
}

static void run_ours(const struct job *j, const struct wfs_kernels *k)
{
    size_t n = (size_t)ROW * TIMED_ROWS, n_blocks = n / wfs_ggml_types[j->type].block_elems;

    if (j->op == ENCODE)
        k->encode[j->type](j->x, j->packed, n);
    else if (j->op == DECODE)
        k->decode[j->type == WFS_TYPE_F16 ? WFS_F16 : WFS_BF16](j->packed, j->x, n);
    else if (k->validate[j->type](j->packed, n_blocks) != n_blocks)
        die("validate", "refuses sound blocks");
}

/* Seconds of the fastest pass in about 40 ms, at least one. k NULL: the reference. */
static double time_one(const struct job *j, const struct wfs_kernels *k)
{
    double begin = now(), last = begin, best = 1e9;

    do {
        double t;

        if (k)
            run_ours(j, k);
        else
            run_ref(j);
        t = now();
        best = fmin(best, t - last);
        last = t;
    } while (last - begin < 0.04);
    return best;
}

static void time_job(const struct job *j, enum wfs_isa isas)
{
    double best[WFS_ISA_COUNT + 1];
    struct wfs_kernels k[WFS_ISA_COUNT];

    for (int i = 0; i <= (int)isas; i++) {
        wfs_kernels_init_for(&k[i], (enum wfs_isa)i);
        best[i] = 1e9;
    }
    best[WFS_ISA_COUNT] = 1e9;
    for (int round = 0; round < ROUNDS; round++) { /* in turn, so that a slow moment hits both */
        best[WFS_ISA_COUNT] = fmin(best[WFS_ISA_COUNT], time_one(j, NULL));
        for (int i = 0; i <= (int)isas; i++)
            best[i] = fmin(best[i], time_one(j, &k[i]));
    }
    for (int i = 0; i <= (int)isas; i++) {
        double melem = 1e-6 * ROW * TIMED_ROWS;

        printf(tsv ? "%s\t%s\t%s\t%.1f\t%.1f\t%.2f\n" : "%-6s %-8s %-8s %10.1f %10.1f %8.2f\n",
               wfs_ggml_types[j->type].name, wfs_isa_names[i], operations[j->op], melem / best[i],
               melem / best[WFS_ISA_COUNT], best[WFS_ISA_COUNT] / best[i]);
        fflush(stdout);
    }
}

static void time_all(enum wfs_isa isas, const char *only)
{
    struct job j = { .x = allocate((size_t)ROW * TIMED_ROWS * 4), .packed = allocate((size_t)ROW * TIMED_ROWS * 2) };

    printf(tsv ? "%s\t%s\t%s\t%s\t%s\t%s\n" : "%-6s %-8s %-8s %10s %10s %8s\n", "type", "isa", "op",
           tsv ? "ours_melem_s" : "ours Me/s", tsv ? "ref_melem_s" : "ref Me/s", "ratio");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        if (only && strcmp(only, wfs_ggml_types[types[t]].name) != 0)
            continue;
        for (size_t i = 0; i < (size_t)ROW * TIMED_ROWS; i++)
            j.x[i] = gaussian();
        j.type = types[t];
        for (j.op = ENCODE; j.op <= VALIDATE; j.op++) {
            if (j.op != ENCODE && j.type != WFS_TYPE_F16 && j.type != WFS_TYPE_BF16)
                continue; /* a block's validation looks at two bytes of it; no view decodes blocks */
            time_job(&j, isas);
        }
    }
    free(j.x);
    free(j.packed);
}

static void *symbol(void *lib, const char *name)
{
    void *s = dlsym(lib, name);

    if (!s)
        die("the reference lacks", name);
    return s;
}

int main(int argc, char **argv)
{
    const char *path = NULL, *only = NULL;
    cpu_set_t one;
    void *lib;

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
    lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        die("the reference library does not load", dlerror());
    *(void **)&ref.quantize = symbol(lib, "ggml_quantize_chunk");
    *(void **)&ref.validate = symbol(lib, "ggml_validate_row_data");
    *(void **)&ref.widen_f16 = symbol(lib, "ggml_fp16_to_fp32_row");
    *(void **)&ref.widen_bf16 = symbol(lib, "ggml_bf16_to_fp32_row");
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        fprintf(stderr, "bench_kernels: not pinned to one core\n");
    compare_all(wfs_cpu_masked_isa(), only);
    time_all(wfs_cpu_masked_isa(), only);
    return 0;
}
