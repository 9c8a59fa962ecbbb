/*
 * Every kernel of every instruction set against plain C, bit by bit: checkkernels [SEED]
 *
 * Values chosen to hurt (patterns.h), lengths from nothing to past a row, every buffer ending or beginning at an
 * unmapped page, any alignment, and the bytes on the other side of the destination watched. The seed is printed; give
 * it again to repeat a run.
 */
#include "guarded.h"
#include "patterns.h"

enum { MAX_ELEMS = 17 * 256 + 256, MAX_BYTES = MAX_ELEMS * 8 };

static unsigned long passed, failed;
static struct guarded source, weights, dst_c, dst_v;

static void verdict(bool ok, const char *op, const char *what, const char *isa, size_t n, const char *pattern)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    if (failed <= 20)
        printf("FAILED: %s %s (%s), %zu elements, %s\n", op, what, isa, n, pattern);
}

/* Are the bytes equal, and what is beside them left alone? */
static bool same(size_t size, bool at_end)
{
    return guarded_kept(dst_c, size, at_end) && guarded_kept(dst_v, size, at_end) &&
           memcmp(guarded_place(dst_c, size, at_end), guarded_place(dst_v, size, at_end), size) == 0;
}

static void check_encode(const struct wfs_kernels *c, const struct wfs_kernels *v, int type, size_t n)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    size_t size = block_bytes_of(type, n);
    int wp = (int)(next() % N_WEIGHT_PATTERNS); /* the patterns of weights take turns */

    for (int pattern = 0; pattern < N_PATTERNS; pattern++, wp = (wp + 1) % N_WEIGHT_PATTERNS) {
        bool at_end = next() & 1;
        float *x = guarded_place(source, n * sizeof *x, at_end);
        char name[64];

        fill_pattern(pattern, x, n);
        if (v->encode[type]) {
            c->encode[type](x, guarded_clear(dst_c, size, at_end), n);
            v->encode[type](x, guarded_clear(dst_v, size, at_end), n);
            verdict(same(size, at_end), "encode", info->name, v->isa, n, patterns[pattern]);
        }
        if (v->encode_weighted[type]) {
            float *w = guarded_place(weights, n * sizeof *w, at_end);

            fill_weight_pattern(wp, w, n);
            c->encode_weighted[type](x, w, guarded_clear(dst_c, size, at_end), n);
            v->encode_weighted[type](x, w, guarded_clear(dst_v, size, at_end), n);
            snprintf(name, sizeof name, "%s, weights %s", patterns[pattern], weight_patterns[wp]);
            verdict(same(size, at_end), "encode_weighted", info->name, v->isa, n, name);
        }
    }
}

/* NaNs are one: which of two operands' payloads survives is the compiler's choice. */
static void make_nans_one(uint8_t *p, size_t size)
{
    for (size_t i = 0; i < size; i += sizeof(float)) {
        float f;

        memcpy(&f, p + i, sizeof f);
        if (f != f)
            memset(p + i, 0xff, sizeof f);
    }
}

static void check_dequantize(const struct wfs_kernels *c, const struct wfs_kernels *v, int type, size_t n)
{
    size_t in = block_bytes_of(type, n), size = n * sizeof(float);

    if (!v->dequantize[type])
        return;
    for (int round = 0; round < 4; round++) { /* twice sound blocks, at either side; twice any bytes */
        bool at_end = round & 1;
        uint8_t *p = guarded_place(source, in, at_end), *a, *b;

        if (round < 2)
            fill_blocks(c, type, p, n / wfs_ggml_types[type].block_elems);
        for (size_t i = 0; round >= 2 && i < in; i++)
            p[i] = (uint8_t)(next() >> 20);
        a = guarded_clear(dst_c, size, at_end);
        b = guarded_clear(dst_v, size, at_end);
        c->dequantize[type](p, (float *)(void *)a, n);
        v->dequantize[type](p, (float *)(void *)b, n);
        if (round >= 2) {
            make_nans_one(a, size);
            make_nans_one(b, size);
        }
        verdict(same(size, at_end), "dequantize", wfs_ggml_types[type].name, v->isa, n, "bytes");
    }
}

static void check_validate(const struct wfs_kernels *c, const struct wfs_kernels *v, int type, size_t n)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    size_t n_blocks = n / info->block_elems, size = n_blocks * info->block_bytes;

    for (int round = 0; round < 6; round++) { /* sound; one bad byte pair somewhere; any bytes */
        uint8_t *p = guarded_place(source, size, round & 1);

        for (size_t i = 0; i < size; i++)
            p[i] = round < 4 ? (uint8_t)(next() >> 20 & 0x37) : (uint8_t)(next() >> 20);
        if (round >= 2 && size > 2)
            memset(p + next() % (size - 1), 0xff, 2);
        verdict(c->validate[type](p, n_blocks) == v->validate[type](p, n_blocks), "validate", info->name, v->isa, n,
                "bytes");
    }
}

static void check_decode(const struct wfs_kernels *c, const struct wfs_kernels *v, int dtype, size_t n)
{
    static const uint8_t sizes[WFS_DTYPE_COUNT] = {
        [WFS_BOOL] = 1, [WFS_U8] = 1, [WFS_I8] = 1, [WFS_F8_E5M2] = 1, [WFS_F8_E4M3] = 1, [WFS_F8_E8M0] = 1,
        [WFS_F8_E4M3FNUZ] = 1, [WFS_F8_E5M2FNUZ] = 1, [WFS_I16] = 2, [WFS_U16] = 2, [WFS_F16] = 2, [WFS_BF16] = 2,
        [WFS_I32] = 4, [WFS_U32] = 4, [WFS_F32] = 4, [WFS_F64] = 8, [WFS_I64] = 8, [WFS_U64] = 8,
    };
    size_t in = n * sizes[dtype], size = n * sizeof(float);

    for (int round = 0; round < 4; round++) { /* any bits at either guard; one byte off; no NaN */
        bool at_end = round != 1;
        uint8_t *p = (uint8_t *)guarded_place(source, in, at_end) - (round == 2);
        char name[16];

        for (size_t i = 0; i < in; i++)
            p[i] = (uint8_t)(next() >> 20) & (round == 3 ? 0xbf : 0xff);
        c->decode[dtype](p, (float *)(void *)guarded_clear(dst_c, size, at_end), n);
        v->decode[dtype](p, (float *)(void *)guarded_clear(dst_v, size, at_end), n);
        snprintf(name, sizeof name, "dtype %d", dtype);
        verdict(same(size, at_end), "decode", name, v->isa, n, "bytes");
    }
}

/* All 16-bit patterns, and every upper half of a float with lower halves around the roundings. */
static void check_sweeps(const struct wfs_kernels *c, const struct wfs_kernels *v)
{
    static const uint32_t low[] = { 0,      1,      0x0fff, 0x1000, 0x1001, 0x1fff,
                                    0x2000, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff };
    static uint16_t in[65536], half_c[65536], half_v[65536];
    static float out_c[65536], out_v[65536];

    for (size_t i = 0; i < 65536; i++)
        in[i] = (uint16_t)i;
    for (int dtype = WFS_F16; dtype <= WFS_BF16; dtype++) {
        c->decode[dtype](in, out_c, 65536);
        v->decode[dtype](in, out_v, 65536);
        verdict(memcmp(out_c, out_v, sizeof out_c) == 0, "decode", "16 bits", v->isa, 65536, "every pattern");
    }
    for (size_t l = 0; l < sizeof low / sizeof *low; l++) {
        for (uint32_t i = 0; i < 65536; i++) /* a step that mixes NaNs with numbers in one vector */
            out_c[i] = float_of((i * 40503u & 0xffffu) << 16 | low[l]);
        for (int type = WFS_TYPE_F16; type <= WFS_TYPE_BF16; type += WFS_TYPE_BF16 - WFS_TYPE_F16) {
            c->encode[type](out_c, half_c, 65536);
            v->encode[type](out_c, half_v, 65536);
            verdict(memcmp(half_c, half_v, sizeof half_c) == 0, "encode", wfs_ggml_types[type].name, v->isa, 65536,
                    "sweep");
        }
    }
}

static void check_type(const struct wfs_kernels *c, const struct wfs_kernels *v, int type)
{
    size_t block = wfs_ggml_types[type].block_elems, most = block == 1 ? 67 : block == 256 ? 5 * block : 17 * block;
    size_t last = block == 1 ? 4096 + 64 : 4096 + block;

    /* Every number of blocks to past some vectors, then a row of 4096, those around it, and some between. */
    for (size_t n = 0; n <= last;) {
        check_encode(c, v, type, n);
        check_dequantize(c, v, type, n);
        check_validate(c, v, type, n);
        if (n < most)
            n += block;
        else if (n < 4096 - block)
            n = n + 1024 < 4096 - block ? n + (1 + next() % 1024 / block) * block : 4096 - block;
        else
            n += block == 1 ? 7 : block;
    }
}

/* Has v anything for this type that `before` has not? */
static bool is_new(const struct wfs_kernels *v, const struct wfs_kernels *before, int type)
{
    return v->validate[type] &&
           (v->encode[type] != before->encode[type] || v->encode_weighted[type] != before->encode_weighted[type] ||
            v->dequantize[type] != before->dequantize[type] || v->validate[type] != before->validate[type]);
}

static void check_set(enum wfs_isa isa, struct wfs_kernels *before)
{
    struct wfs_kernels c, v;

    wfs_kernels_init_for(&c, WFS_ISA_C);
    wfs_kernels_init_for(&v, isa);
    for (int t = 0; t < WFS_TYPE_COUNT; t++) {
        if (is_new(&v, before, t))
            check_type(&c, &v, t);
    }
    for (int d = 0; d < WFS_DTYPE_COUNT; d++) {
        for (size_t n = 0; v.decode[d] && v.decode[d] != before->decode[d] && n < MAX_ELEMS; n += n < 67 ? 1 : 1009)
            check_decode(&c, &v, d, n);
    }
    check_sweeps(&c, &v);
    *before = v;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)getpid() * 0x9e3779b97f4a7c15u >> 32;
    struct wfs_kernels before = { 0 }; /* so that plain C runs too, at the guards */

    printf("checkkernels: seed %llu, highest set %s\n", (unsigned long long)seed, wfs_isa_names[wfs_cpu_isa()]);
    fflush(stdout);
    seed_rng(seed);
    source = guarded_new(MAX_BYTES);
    weights = guarded_new(MAX_BYTES);
    dst_c = guarded_new(MAX_BYTES);
    dst_v = guarded_new(MAX_BYTES);
    for (int isa = WFS_ISA_C; isa < WFS_ISA_COUNT; isa++) {
        if (wfs_cpu_has((enum wfs_isa)isa))
            check_set((enum wfs_isa)isa, &before);
    }
    printf("%lu passed, %lu failed\n", passed, failed);
    return failed != 0;
}
