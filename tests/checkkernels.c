/*
 * Every kernel of every instruction set against plain C, bit by bit: checkkernels [SEED]
 *
 * Values chosen to hurt (halves +-1 ulp, powers of two +-3 ulp, zeros of both signs, subnormals, outliers, NaN and
 * infinities ...), every length up to some vectors and blocks, source and destination each ending at an unmapped page,
 * any alignment, and the bytes before the destination watched. The seed is printed; give it again to repeat a run.
 */
#include "kernels/bits.h"
#include "kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_ELEMS = 17 * 256, MAX_BYTES = MAX_ELEMS * 8, BEFORE = 64 };

static uint64_t rng;
static unsigned long passed, failed;

static uint64_t next(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    return rng ^= rng << 17;
}

/* Memory that ends where nothing may be touched. */
struct guarded {
    uint8_t *begin, *end;
};

static struct guarded guarded_new(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (MAX_BYTES + BEFORE + page) / page * page;
    uint8_t *p = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + size, page, PROT_NONE) != 0) {
        perror("checkkernels: mmap");
        exit(1);
    }
    return (struct guarded){ p, p + size };
}

static struct guarded source, dst_c, dst_v;

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

static float ulps(float v, int n)
{
    return float_of(bits_of(v) + (uint32_t)n);
}

static float normal(void)
{
    uint64_t r = next();

    int sum = (int)(r & 0xffff) + (int)(r >> 16 & 0xffff) + (int)(r >> 32 & 0xffff) + (int)(r >> 48);

    return (float)(sum - 131070) * 0x1p-21f;
}

static const char *const patterns[] = {
    "normal", "zero", "constant", "halves", "powers", "zeros of both signs", "subnormal", "huge", "outliers",
    "alternating", "any finite", "any bits", "some NaN", "some Inf", "as bf16", "scale per sub-block", "near 1e-15",
    "small range on an offset", "integers", "sparse", "one sign", "NaN first", "squares overflow", "all NaN",
    "a few ulps apart", "halves of Q8_0",
};
enum { N_PATTERNS = sizeof patterns / sizeof *patterns };

static float a_value(int pattern, size_t i, uint64_t salt)
{
    uint64_t r = next();
    float v = normal(), sign = r >> 63 ? -1.0f : 1.0f;

    switch (pattern) {
    case 1: return 0;
    case 2: return (float)(int)(salt % 7) * 0.25f - 0.75f;
    case 3: return sign * ulps((float)(r % 40) + 0.5f, (int)(r >> 20) % 3 - 1);
    case 4: return sign * ulps(float_of((uint32_t)(r % 254 + 1) << 23), (int)(r >> 20 & 7) - 3);
    case 5: return r & 1 ? -0.0f : 0.0f;
    case 6: return float_of((uint32_t)r & 0x807fffffu);
    case 7: return v * 0x1p127f * 16;
    case 8: return r % 300 == 0 ? sign * 100 : v;
    case 9: return i & 1 ? -abs_of(v) : abs_of(v);
    case 10: return float_of((uint32_t)r % 0x7f800000u | (uint32_t)(r >> 32 & 0x80000000u));
    case 11: return float_of((uint32_t)r);
    case 12: return r % 50 == 0 ? float_of(0x7f800001u | (uint32_t)(r >> 32)) : v;
    case 13: return r % 50 == 0 ? sign * float_of(0x7f800000u) : v;
    case 14: return float_of((uint32_t)bf16_of(bits_of(v)) << 16);
    case 15: return v * float_of((uint32_t)(64 + (salt >> i / 16 % 32) % 128) << 23);
    case 16: return v * 0x1p-44f;
    case 17: return 1 + v * 0x1p-12f * (float)(salt % 5);
    case 18: return (float)((int)(r % 33) - 16);
    case 19: return r % 16 == 0 ? v : 0;
    case 20: return salt & 1 ? abs_of(v) : -abs_of(v);
    case 21: return i % 16 == 0 && r % 8 == 0 ? float_of(0xff800001u | (uint32_t)(r >> 32)) : v;
    case 22: return v * 0x1p70f;
    case 24: return ulps(-1.0f, (int)(r % (2 + salt % 6)));
    case 25: return i % 32 == 0 ? 127 : sign * ulps((float)(r % 4) + 0.5f, (int)(r >> 20) % 3 - 1); /* the scale is 1 */
    case 23: return float_of(0x7f800001u | (uint32_t)r);
    default: return v;
    }
}

/* n floats that end at the guard. */
static const float *floats(size_t n, int pattern)
{
    float *x = (float *)(void *)source.end - n;
    uint64_t salt = next();

    for (size_t i = 0; i < n; i++)
        x[i] = a_value(pattern, i, salt);
    return x;
}

/* Were the bytes equal, and what lies before them left alone? Both begin BEFORE bytes into a field of 0xa5. */
static bool same(size_t size)
{
    uint8_t *a = dst_c.end - size - BEFORE, *b = dst_v.end - size - BEFORE;

    for (int i = 0; i < BEFORE; i++) {
        if (b[i] != 0xa5)
            return false;
    }
    return memcmp(a + BEFORE, b + BEFORE, size) == 0;
}

static void clear(size_t size)
{
    memset(dst_c.end - size - BEFORE, 0xa5, size + BEFORE);
    memset(dst_v.end - size - BEFORE, 0xa5, size + BEFORE);
}

static void check_encode(const struct wfs_kernels *c, const struct wfs_kernels *v, int type, size_t n)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    size_t size = n / info->block_elems * info->block_bytes;

    for (int pattern = 0; pattern < N_PATTERNS; pattern++) {
        const float *x = floats(n, pattern);

        clear(size);
        c->encode[type](x, dst_c.end - size, n);
        v->encode[type](x, dst_v.end - size, n);
        verdict(same(size), "encode", info->name, v->isa, n, patterns[pattern]);
    }
}

static void check_validate(const struct wfs_kernels *c, const struct wfs_kernels *v, int type, size_t n)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[type];
    size_t n_blocks = n / info->block_elems, size = n_blocks * info->block_bytes;
    uint8_t *p = source.end - size;

    for (int round = 0; round < 4; round++) { /* sound; one bad byte pair somewhere; any bytes */
        for (size_t i = 0; i < size; i++)
            p[i] = round < 3 ? (uint8_t)(next() & 0x37) : (uint8_t)next();
        if (round && size > 2)
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

    for (int round = 0; round < 3; round++) { /* any bits at the guard; one byte off; no NaN */
        uint8_t *p = source.end - in - (round == 1);
        char name[16];

        for (size_t i = 0; i < in; i++)
            p[i] = (uint8_t)next() & (round == 2 ? 0xbf : 0xff);
        clear(size);
        c->decode[dtype](p, (float *)(void *)(dst_c.end - size), n);
        v->decode[dtype](p, (float *)(void *)(dst_v.end - size), n);
        snprintf(name, sizeof name, "dtype %d", dtype);
        verdict(same(size), "decode", name, v->isa, n, "bytes");
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
    size_t block = wfs_ggml_types[type].block_elems;

    /* Every number of blocks to past some vectors, then up to a row of 4096 and beyond it. */
    for (size_t n = 0; n <= (block == 1 ? 67 : 17 * block); n += block) {
        check_encode(c, v, type, n);
        check_validate(c, v, type, n);
    }
    for (size_t n = 4096; n <= 4096 + (block == 256 ? 256 : 64); n += block == 1 ? 7 : block) {
        check_encode(c, v, type, n);
        check_validate(c, v, type, n);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)getpid() * 0x9e3779b97f4a7c15u >> 32;
    struct wfs_kernels before, c, v;

    printf("checkkernels: seed %llu, highest set %s\n", (unsigned long long)seed, wfs_isa_names[wfs_cpu_isa()]);
    fflush(stdout);
    rng = seed * 0x9e3779b97f4a7c15u + 1;
    source = guarded_new();
    dst_c = guarded_new();
    dst_v = guarded_new();
    wfs_kernels_init_for(&c, WFS_ISA_C);
    before = (struct wfs_kernels){ 0 }; /* so that plain C runs too, at the guards */
    for (int isa = WFS_ISA_C; isa <= (int)wfs_cpu_isa(); isa++) {
        wfs_kernels_init_for(&v, (enum wfs_isa)isa);
        for (int t = 0; t < WFS_TYPE_COUNT; t++) {
            if (v.encode[t] && (v.encode[t] != before.encode[t] || v.validate[t] != before.validate[t]))
                check_type(&c, &v, t);
        }
        for (int d = 0; d < WFS_DTYPE_COUNT; d++) {
            for (size_t n = 0; v.decode[d] && v.decode[d] != before.decode[d] && n < MAX_ELEMS; n += n < 67 ? 1 : 1009)
                check_decode(&c, &v, d, n);
        }
        check_sweeps(&c, &v);
        before = v;
    }
    printf("%lu passed, %lu failed\n", passed, failed);
    return failed != 0;
}
