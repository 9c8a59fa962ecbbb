/*
 * The versions behind the table's slots of the types without blocks, and the fillers of all families, for the files of
 * this folder: plain C (the truth, also called by vector code for what it leaves aside), and one version per
 * instruction set. Each family of block types has a folder of its own with its slots.h and table.c.
 */
#ifndef WFS_KERNELS_SLOTS_H
#define WFS_KERNELS_SLOTS_H

#include "kernels.h"

/* A family of types: what fills its slots, per instruction set. NULL where the architecture has no such set. */
typedef void wfs_fill_fn(struct wfs_kernels *k);
struct wfs_kernel_family {
    wfs_fill_fn *c, *avx2, *avx512, *neon;
};
extern const struct wfs_kernel_family wfs_casts_family, wfs_legacy_family, wfs_k_family, wfs_iq_family,
                                      wfs_small_family;

/*
 * A family lists its versions once, as V(operation, slot's index, type's name in functions, set). Of such a row: the
 * declaration, and the filling of the slot in the table k.
 */
#define WFS_DECLARE(op, index, name, isa) wfs_##op##_fn wfs_##op##_##name##_##isa;
#define WFS_FILL(op, index, name, isa) k->op[index] = wfs_##op##_##name##_##isa;

/* Defines wfs_<name>_family from the lists of plain C's versions and of those that every other set has. */
#define WFS_FILLER(isa, versions)                  \
    static void fill_##isa(struct wfs_kernels *k) \
    {                                              \
        versions(WFS_FILL, isa)                    \
    }
#if defined(__x86_64__)
#define WFS_FAMILY(name, versions_of_c, versions)                                        \
    WFS_FILLER(c, versions_of_c) WFS_FILLER(avx2, versions) WFS_FILLER(avx512, versions) \
    const struct wfs_kernel_family wfs_##name##_family = { .c = fill_c, .avx2 = fill_avx2, .avx512 = fill_avx512 };
#elif defined(__aarch64__)
#define WFS_FAMILY(name, versions_of_c, versions)            \
    WFS_FILLER(c, versions_of_c) WFS_FILLER(neon, versions) \
    const struct wfs_kernel_family wfs_##name##_family = { .c = fill_c, .neon = fill_neon };
#else
#define WFS_FAMILY(name, versions_of_c, versions) \
    WFS_FILLER(c, versions_of_c)                  \
    const struct wfs_kernel_family wfs_##name##_family = { .c = fill_c };
#endif

/* Of the types without blocks, what every set has. */
#define WFS_CASTS_VERSIONS(V, isa)                                                                                    \
    V(decode, WFS_F16, f16, isa) V(decode, WFS_BF16, bf16, isa)                                                       \
    V(encode, WFS_TYPE_F16, f16, isa) V(encode, WFS_TYPE_BF16, bf16, isa)                                             \
    V(dequantize, WFS_TYPE_F16, f16, isa) V(dequantize, WFS_TYPE_BF16, bf16, isa)                                     \
    V(validate, WFS_TYPE_F32, f32, isa) V(validate, WFS_TYPE_F16, f16, isa)                                           \
    V(validate, WFS_TYPE_BF16, bf16, isa)

/* What plain C has. */
#define WFS_CASTS_VERSIONS_OF_C(V, isa)                                                                               \
    WFS_CASTS_VERSIONS(V, isa)                                                                                        \
    V(decode, WFS_BOOL, bool, isa) V(decode, WFS_U8, u8, isa) V(decode, WFS_U16, u16, isa)                            \
    V(decode, WFS_U32, u32, isa) V(decode, WFS_U64, u64, isa) V(decode, WFS_I8, i8, isa)                              \
    V(decode, WFS_I16, i16, isa) V(decode, WFS_I32, i32, isa) V(decode, WFS_I64, i64, isa)                            \
    V(decode, WFS_F8_E5M2, f8_e5m2, isa) V(decode, WFS_F8_E4M3, f8_e4m3, isa)                                         \
    V(decode, WFS_F8_E8M0, f8_e8m0, isa) V(decode, WFS_F8_E4M3FNUZ, f8_e4m3fnuz, isa)                                 \
    V(decode, WFS_F8_E5M2FNUZ, f8_e5m2fnuz, isa) V(decode, WFS_F32, f32, isa)                                         \
    V(decode, WFS_F64, f64, isa)                                                                                      \
    V(encode, WFS_TYPE_F32, f32, isa) V(dequantize, WFS_TYPE_F32, f32, isa)

WFS_CASTS_VERSIONS_OF_C(WFS_DECLARE, c)
WFS_CASTS_VERSIONS(WFS_DECLARE, avx2)
WFS_CASTS_VERSIONS(WFS_DECLARE, avx512)
WFS_CASTS_VERSIONS(WFS_DECLARE, neon)

#endif
