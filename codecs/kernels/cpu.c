#include "kernels.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

const char *const wfs_isa_names[WFS_ISA_COUNT] = { "c", "avx2", "avx512", "neon" };

#if defined(__x86_64__)
static bool has_f16c(void) /* clang's __builtin_cpu_supports does not know it */
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

enum wfs_isa wfs_cpu_isa(void)
{
#if defined(__x86_64__)
    /* These ask the operating system too (XCR0), whether it saves the registers. */
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !has_f16c())
        return WFS_ISA_C;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return WFS_ISA_AVX2;
    return WFS_ISA_AVX512;
#elif defined(__aarch64__)
    return WFS_ISA_NEON; /* part of the architecture */
#else
    return WFS_ISA_C;
#endif
}

bool wfs_cpu_has(enum wfs_isa isa)
{
    enum wfs_isa highest = wfs_cpu_isa();

    return isa == WFS_ISA_C || isa == highest || (isa < highest && highest <= WFS_ISA_AVX512);
}

/* The set that a word of WEIGHTFS_CPU names, or -1. */
static int isa_named(const char *word)
{
    for (int i = 0; i < WFS_ISA_COUNT; i++) {
        if (strcmp(word, wfs_isa_names[i]) == 0)
            return i;
    }
    return -1;
}

bool wfs_cpu_check(const char **ret_word)
{
    const char *word = getenv("WEIGHTFS_CPU");

    if (!word || !*word || isa_named(word) >= 0)
        return true;
    *ret_word = word;
    return false;
}

enum wfs_isa wfs_cpu_masked_isa(void)
{
    const char *word = getenv("WEIGHTFS_CPU");
    int mask = word ? isa_named(word) : -1;

    return mask >= 0 && wfs_cpu_has((enum wfs_isa)mask) ? (enum wfs_isa)mask : wfs_cpu_isa();
}
