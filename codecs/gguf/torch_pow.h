/*
 * What `base ** tensor` is in torch 2.13 on an x86-64 CPU, in plain C: the reference computes rope frequencies so, and
 * its results are not correctly rounded (1 in 60 differs in the last bit).
 */
#ifndef WFS_GGUF_TORCH_POW_H
#define WFS_GGUF_TORCH_POW_H

#include <stddef.h>

/*
 * out[i] = base ** exponents[i] for n elements of one contiguous float32 tensor, base > 0 and results that are normal
 * numbers. Torch works on 32 elements at a time with the vector library Sleef (powf, 1.0 ulp, with FMA), and on the
 * rest with the C library's powf: so the place of an element matters. 32 is what a CPU with AVX-512 does; with AVX2 it
 * is 16, and without either the C library does all. The three agree where rope frequencies are used in known models
 * (measured; see tests/vectors/make_torch_pow.py). This function is the AVX-512 one, on every machine.
 */
void wfs_torch_pow(float base, const float *exponents, float *out, size_t n);

#endif
