/* The model types that transformers 4.57.6 has a configuration class for. */
#ifndef WFS_GGUF_TRANSFORMERS_TYPES_H
#define WFS_GGUF_TRANSFORMERS_TYPES_H

#include <stdbool.h>

/* True when AutoConfig knows model_type (then it injects that class's defaults; for an unknown one it raises). */
bool wfs_transformers_knows(const char *model_type);

/*
 * The model type that AutoConfig takes a folder without "model_type" for: the longest name that is a part of its path,
 * parent folders included. NULL: none is, and AutoConfig raises.
 */
const char *wfs_transformers_guess(const char *path);

#endif
