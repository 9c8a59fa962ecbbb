#include "kernels.h"
#include "slots.h"

#include <assert.h>
#include <pthread.h>

WFS_FAMILY(casts, WFS_CASTS_VERSIONS_OF_C, WFS_CASTS_VERSIONS)

/* A set includes those of its architecture before it. */
static void fill_family(struct wfs_kernels *k, const struct wfs_kernel_family *f, enum wfs_isa isa)
{
    f->c(k);
    if (f->avx2 && (isa == WFS_ISA_AVX2 || isa == WFS_ISA_AVX512))
        f->avx2(k);
    if (f->avx512 && isa == WFS_ISA_AVX512)
        f->avx512(k);
    if (f->neon && isa == WFS_ISA_NEON)
        f->neon(k);
}

void wfs_kernels_init_for(struct wfs_kernels *k, enum wfs_isa isa)
{
    static const struct wfs_kernel_family *const families[] = { &wfs_casts_family, &wfs_legacy_family, &wfs_k_family,
                                                                &wfs_iq_family, &wfs_small_family };

    assert(wfs_cpu_has(isa));
    *k = (struct wfs_kernels){ .isa = wfs_isa_names[isa] };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        fill_family(k, families[i], isa);
}

static struct wfs_kernels table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    wfs_kernels_init_for(&table, wfs_cpu_masked_isa());
}

const struct wfs_kernels *wfs_kernels_get(void)
{
    pthread_once(&table_once, fill_table);
    return &table;
}
