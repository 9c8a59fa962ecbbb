"""Writes codecs/gguf/transformers_types.c: the model types that the pinned transformers knows.

Run with the reference environment's Python: make_transformers_types.py > codecs/gguf/transformers_types.c
"""
from transformers import __version__
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

assert __version__ == "4.57.6"
names = list(CONFIG_MAPPING.keys())
print("/* Made by tests/vectors/make_transformers_types.py from transformers 4.57.6's CONFIG_MAPPING. */")
print('#include "transformers_types.h"\n\n#include <stddef.h>\n#include <string.h>\n')
print("/* In its order, which decides between names of one length. */\nstatic const char *const types[] = {")
line = "   "
for n in names:
    item = f' "{n}",'
    if len(line) + len(item) > 118:
        print(line)
        line = "   "
    line += item
print(line)
print("};\n")
print("""bool wfs_transformers_knows(const char *model_type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i], model_type) == 0)
            return true;
    }
    return false;
}

const char *wfs_transformers_guess(const char *path)
{
    const char *longest = NULL;

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strstr(path, types[i]) && (!longest || strlen(types[i]) > strlen(longest)))
            longest = types[i];
    }
    return longest;
}""")
