/* Which names checkpoints use for which tensor, and what GGUF calls it. Source: gguf-py's tensor_mapping.py. */
#ifndef WFS_ARCH_TENSOR_NAMES_H
#define WFS_ARCH_TENSOR_NAMES_H

#include "../base/map.h"

#include <stdbool.h>
#include <stdint.h>

enum wfs_tensor_kind {
    WFS_KIND_TOKEN_EMBD,
    WFS_KIND_OUTPUT_NORM,
    WFS_KIND_OUTPUT,
    WFS_KIND_ROPE_FREQS,
    WFS_KIND_ATTN_NORM,
    WFS_KIND_ATTN_Q,
    WFS_KIND_ATTN_Q_NORM,
    WFS_KIND_ATTN_K,
    WFS_KIND_ATTN_K_NORM,
    WFS_KIND_ATTN_V,
    WFS_KIND_ATTN_OUT,
    WFS_KIND_ATTN_ROT_EMBD,
    WFS_KIND_FFN_GATE_INP,
    WFS_KIND_FFN_NORM,
    WFS_KIND_FFN_GATE,
    WFS_KIND_FFN_DOWN,
    WFS_KIND_FFN_UP,
    WFS_KIND_FFN_GATE_EXP,
    WFS_KIND_FFN_DOWN_EXP,
    WFS_KIND_FFN_UP_EXP,
    WFS_KIND_COUNT
};

#define WFS_KIND_BIT(kind) (UINT64_C(1) << (WFS_KIND_##kind))

struct wfs_tensor_names {
    const char *target;        /* GGUF's name without suffix; "{bid}" stands for the number of the block */
    const char *const *source; /* names without suffix, NULL-terminated; GGUF's own is the first */
};

extern const struct wfs_tensor_names wfs_tensor_names[WFS_KIND_COUNT];

/* The name map of one architecture with n_blocks blocks (TensorNameMap). */
struct wfs_name_map {
    struct wfs_map by_source; /* a source pattern -> kind */
    uint64_t n_blocks;
};

/* kinds is a set of WFS_KIND_BIT. 0 or -ENOMEM. */
int wfs_name_map_init(struct wfs_name_map *m, uint64_t kinds, uint64_t n_blocks);
void wfs_name_map_done(struct wfs_name_map *m);

/* GGUF names that the table can make are shorter than this. */
enum { WFS_GGUF_NAME_BYTES = 96 };

/*
 * get_name(name, try_suffixes = (".weight", ".bias")): the GGUF name of a tensor with its suffix. False when nothing
 * maps. A name that stands in the table without a suffix maps to a name without a suffix, as in the reference.
 */
bool wfs_name_map_find(const struct wfs_name_map *m, const char *name, char ret[static WFS_GGUF_NAME_BYTES],
                       enum wfs_tensor_kind *ret_kind);

#endif
