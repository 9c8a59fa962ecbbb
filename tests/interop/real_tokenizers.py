"""Published byte-level tokenizers, which are too large and not ours to keep in the repository.

WEIGHTFS_TEST_TOKENIZERS names a folder that holds llama3_1 (of Llama 3.1 Instruct) and qwen3 (of Qwen3), each as a
folder or as NAME.tar.xz of one, with the model's tokenizer.json and tokenizer_config.json. Only these have the
fingerprints by which the converter knows a pre-tokenizer; without them their cases are skipped, and generated
tokenizers are what is tested.
"""

import functools
import os
import pathlib
import tarfile

VARIABLE = "WEIGHTFS_TEST_TOKENIZERS"


@functools.lru_cache(maxsize=None)
def read(name):
    """{file name: bytes} of one. FileNotFoundError says what is missing."""
    root = os.environ.get(VARIABLE)
    if not root:
        raise FileNotFoundError("needs the published tokenizer %s: %s is not set" % (name, VARIABLE))
    folder, archive = pathlib.Path(root, name), pathlib.Path(root, name + ".tar.xz")
    if folder.is_dir():
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    if not archive.exists():
        raise FileNotFoundError("needs the published tokenizer %s: %s has none" % (name, VARIABLE))
    with tarfile.open(archive) as tar:
        return {member.name.split("/")[-1]: tar.extractfile(member).read() for member in tar if member.isfile()}
