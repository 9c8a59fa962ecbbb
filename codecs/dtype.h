/* The element types of safetensors, in the order of its own enum (ascending alignment; safetensors 0.8, tensor.rs). */
#ifndef WFS_DTYPE_H
#define WFS_DTYPE_H

#include <stdint.h>

enum wfs_dtype {
    WFS_BOOL, WFS_F4, WFS_F6_E2M3, WFS_F6_E3M2, WFS_U8, WFS_I8, WFS_F8_E5M2, WFS_F8_E4M3, WFS_F8_E8M0,
    WFS_F8_E4M3FNUZ, WFS_F8_E5M2FNUZ, WFS_I16, WFS_U16, WFS_F16, WFS_BF16, WFS_I32, WFS_U32, WFS_F32,
    WFS_C64, WFS_F64, WFS_I64, WFS_U64,
    WFS_DTYPE_COUNT
};

struct wfs_dtype_info {
    const char *name;  /* as safetensors writes it */
    unsigned bits;     /* of one element */
    const char *npy;   /* numpy's descr ("<f4"), NULL when numpy has none */
};

extern const struct wfs_dtype_info wfs_dtypes[WFS_DTYPE_COUNT];

/* Finds a dtype by its safetensors name (len bytes). Returns it or -1. */
int wfs_dtype_find(const char *name, uint64_t len);

#endif
