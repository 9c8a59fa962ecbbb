/* The rope_freqs.weight tensor of Llama 3 models: how much each rotary frequency is slowed down. */
#ifndef WFS_GGUF_ROPE_FACTORS_H
#define WFS_GGUF_ROPE_FACTORS_H

#include <stdint.h>

enum { WFS_ROPE_MAX_DIM = 65536 };

struct wfs_rope_llama3 {
    double base;         /* rope_theta */
    uint32_t dim;        /* of a head; at most WFS_ROPE_MAX_DIM */
    double factor;       /* of the low frequencies */
    double low, high;    /* low_freq_factor, high_freq_factor; not 0 */
    double original;     /* original_max_position_embeddings */
};

/*
 * Writes (dim + 1) / 2 factors. Every step is the one that torch takes, mostly in float32. Source:
 * LlamaModel.generate_extra_tensors in the pinned llama.cpp's conversion/llama.py.
 */
void wfs_rope_llama3_factors(const struct wfs_rope_llama3 *rope, float *ret);

#endif
