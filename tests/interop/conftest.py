import sys

import reference

# The pinned llama.cpp's own gguf-py, for everything that runs in this process (the converter's classes need it). The gguf
# of the package index is a client of its own: test_clients runs it in a process of its own.
sys.path.insert(0, str(reference.LLAMA_CPP / "gguf-py"))
