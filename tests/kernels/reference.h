/* The reference's kernels: ggml-base, loaded from a path (see tests/interop/environment). */
#ifndef WFS_TEST_KERNELS_REFERENCE_H
#define WFS_TEST_KERNELS_REFERENCE_H

#include "kernels/types.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef size_t ref_quantize_fn(int type, const float *src, void *dst, int64_t start, int64_t n_rows, int64_t row,
                               const float *imatrix);
typedef void ref_to_float_fn(const void *blocks, float *dst, int64_t n_elems);

/* struct ggml_type_traits of ggml.h. */
struct ref_traits {
    const char *name;
    int64_t block_elems, interleave;
    size_t block_bytes;
    bool quantized;
    ref_to_float_fn *to_float;
};

struct reference {
    ref_quantize_fn *quantize;
    bool (*validate)(int type, const void *data, size_t n_bytes);
    bool (*needs_weights)(int type);
    const struct ref_traits *(*traits)(int type);
};

static inline void *ref_symbol(void *lib, const char *name)
{
    void *s = dlsym(lib, name);

    if (!s) {
        fprintf(stderr, "the reference lacks %s\n", name);
        exit(1);
    }
    return s;
}

/*
 * Makes the reference ready for one type, or for all (only = NULL), which takes it some 20 s. Ends the process where it
 * cannot.
 */
static inline struct reference ref_load(const char *path, const char *only)
{
    void *lib;
    struct reference r;
    void (*init)(int);

    setenv("GGML_NO_BACKTRACE", "1", 1);
    lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "the reference library does not load: %s\n", dlerror());
        exit(1);
    }
    *(void **)&r.quantize = ref_symbol(lib, "ggml_quantize_chunk");
    *(void **)&r.validate = ref_symbol(lib, "ggml_validate_row_data");
    *(void **)&r.needs_weights = ref_symbol(lib, "ggml_quantize_requires_imatrix");
    *(void **)&r.traits = ref_symbol(lib, "ggml_get_type_traits");
    *(void **)&init = ref_symbol(lib, "ggml_quantize_init");
    for (int t = 0; t < WFS_TYPE_COUNT; t++) {
        if (wfs_ggml_types[t].name && (!only || strcmp(only, wfs_ggml_types[t].name) == 0))
            init(t);
    }
    return r;
}

#endif
