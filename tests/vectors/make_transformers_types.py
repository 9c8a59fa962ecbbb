"""Writes codecs/gguf/transformers_types.c: the model types that the pinned transformers knows.

Run with the reference environment's Python: make_transformers_types.py > codecs/gguf/transformers_types.c
"""
from transformers import __version__
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

assert __version__ == "4.57.6"
names = sorted(CONFIG_MAPPING.keys(), key=lambda s: s.encode())
print("/* Made by tests/vectors/make_transformers_types.py from transformers 4.57.6's CONFIG_MAPPING. */")
print('#include "transformers_types.h"\n\n#include <stdlib.h>\n#include <string.h>\n')
print("/* Sorted by bytes. */\nstatic const char *const types[] = {")
line = "   "
for n in names:
    item = f' "{n}",'
    if len(line) + len(item) > 118:
        print(line)
        line = "   "
    line += item
print(line)
print("};\n")
print("""static int compare(const void *key, const void *element)
{
    return strcmp(key, *(const char *const *)element);
}

bool wfs_transformers_knows(const char *model_type)
{
    return bsearch(model_type, types, sizeof types / sizeof *types, sizeof *types, compare) != NULL;
}""")
