/* The model types that transformers 4.57.6 has a configuration class for. */
#ifndef WFS_GGUF_TRANSFORMERS_TYPES_H
#define WFS_GGUF_TRANSFORMERS_TYPES_H

#include <stdbool.h>

/* True when AutoConfig knows model_type (then it injects that class's defaults; for an unknown one it raises). */
bool wfs_transformers_knows(const char *model_type);

#endif
