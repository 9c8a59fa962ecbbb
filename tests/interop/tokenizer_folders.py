"""Model folders with small tokenizers: what the cases of tokenizer_cases.py are made of."""

import ast
import copy
import json
import pathlib
import re

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as spm_pb2
from tokenizers import Tokenizer, models, pre_tokenizers, trainers


LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace("{1,3}", "")
DEEPSEEK_V3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
               r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

SPECIAL = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)


def test_text(llama_cpp):
    source = (llama_cpp / "conversion" / "base.py").read_text()
    return ast.literal_eval(re.search(r"chktxt = ('.*')\n", source).group(1))


class Case:
    """One folder. force: name the pre-tokenizer on both sides. says: dump_tokenizer must fail with these words."""

    def __init__(self, name, arch="LlamaForCausalLM", tokenizer=None, tokenizer_config=None, config=None, model=None,
                 files=None, force=True, says=None):
        self.name, self.arch, self.force, self.says = name, arch, force, says
        self.note = "ok"
        self.tokenizer, self.tokenizer_config, self.model, self.files = tokenizer, tokenizer_config, model, files or {}
        kind = {"LlamaForCausalLM": "llama", "MistralForCausalLM": "mistral", "Qwen2ForCausalLM": "qwen2",
                "Qwen3ForCausalLM": "qwen3"}[arch]
        self.config = {"architectures": [arch], "model_type": kind, "hidden_size": 64, "intermediate_size": 128,
                       "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 512}
        self.config.update(config or {})
        self.config = {key: value for key, value in self.config.items() if value is not ...}

    def write(self, folder):
        folder.mkdir(parents=True)
        put_json(folder / "config.json", self.config)
        if isinstance(self.tokenizer, dict):
            put_json(folder / "tokenizer.json", self.tokenizer)
        if self.tokenizer_config is not None:
            put_json(folder / "tokenizer_config.json", self.tokenizer_config)
        if self.model is not None:
            (folder / "tokenizer.model").write_bytes(self.model)
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            if isinstance(data, bytes):
                path.write_bytes(data)
            elif isinstance(data, pathlib.Path):
                path.symlink_to(data)
            else:
                put_json(path, data)


def put_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


# ---- byte-level BPE

def corpus():
    text = ("Hello world, I've told you he's there; we'll see 123 4567 3.14 times.\n"
            "\n\tdef f(x):\n    return x ** 2  # ok"
            "\n"
            "Привет мир, български текст. 你好世界 apple工作 កាន់តែពិសេស 🚀🦙 ``` ------==== !!!??? 'RE 'M We'Ve\n")
    return [text * 3, "the quick brown fox jumps over the lazy dog " * 5, "  \n \n\n   \t\t x\r\n" * 4]


def byte_level(size=400, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    return json.loads(tokenizer.to_str())


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_step(use_regex=False, add_prefix_space=False):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def template(bos=None, eos=None, pair_bos=True):
    def special(token, type_id):
        return {"SpecialToken": {"id": token, "type_id": type_id}}

    single, pair = [], []
    for kind, type_id in (("A", 0), ("B", 1)):
        part = [{"Sequence": {"id": kind, "type_id": type_id}}]
        if bos and (type_id == 0 or pair_bos):
            part.insert(0, special(bos[0], type_id))
        if eos:
            part.append(special(eos[0], type_id))
        single = single or part
        pair += part
    tokens = {t[0]: {"id": t[0], "ids": [t[1]], "tokens": [t[0]]} for t in (bos, eos) if t}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}


BASE = byte_level()
N_BASE = len(BASE["model"]["vocab"])
ASIDE = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}


def added(*contents, start=None, **flags):
    return [dict(SPECIAL, id=(N_BASE if start is None else start) + i, content=content) | flags
            for i, content in enumerate(contents)]


def llama3(base=None, **changes):
    tokenizer = copy.deepcopy(base or BASE)
    tokenizer["model"]["ignore_merges"] = True
    tokenizer["model"]["byte_fallback"] = False
    tokenizer["pre_tokenizer"] = sequence(split(LLAMA3), byte_step())
    tokenizer["decoder"] = byte_step(True, True)
    tokenizer["added_tokens"] = added("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|reserved_0|>")
    tokenizer["post_processor"] = {"type": "Sequence", "processors": [ASIDE, template(("<|begin_of_text|>", N_BASE))]}
    tokenizer.update(changes)
    return tokenizer


def qwen(**changes):
    tokenizer = copy.deepcopy(BASE)
    tokenizer["normalizer"] = {"type": "NFC"}
    tokenizer["pre_tokenizer"] = sequence(split(QWEN2), byte_step())
    tokenizer["decoder"] = byte_step()
    tokenizer["post_processor"] = byte_step()
    tokenizer["added_tokens"] = added("<|endoftext|>", "<|im_start|>", "<|im_end|>") + \
        added("<think>", "</think>", start=N_BASE + 3, special=False)
    tokenizer.update(changes)
    return tokenizer


def decoder_of(tokenizer):
    return {str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in tokenizer["added_tokens"]}


LLAMA3_CONFIG = {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>",
                 "tokenizer_class": "PreTrainedTokenizerFast",
                 "clean_up_tokenization_spaces": True, "model_max_length": 131072}
QWEN_CONFIG = {"add_bos_token": False, "add_prefix_space": False, "bos_token": None, "eos_token": "<|im_end|>",
               "pad_token": "<|endoftext|>", "unk_token": None, "tokenizer_class": "Qwen2Tokenizer",
               "errors": "replace",
               "additional_special_tokens": ["<|im_start|>", "<|im_end|>"], "split_special_tokens": False}


def llama3_case(name, tokenizer=None, tokenizer_config=None, **options):
    tokenizer = tokenizer or llama3()
    config = dict(LLAMA3_CONFIG, added_tokens_decoder=decoder_of(tokenizer)) | (tokenizer_config or {})
    return Case(name, tokenizer=tokenizer, tokenizer_config={k: v for k, v in config.items() if v is not ...},
                **options)


def qwen_case(name, tokenizer=None, tokenizer_config=None, arch="Qwen2ForCausalLM", **options):
    tokenizer = tokenizer or qwen()
    config = dict(QWEN_CONFIG, added_tokens_decoder=decoder_of(tokenizer))
    config.update(tokenizer_config or {})
    return Case(name, arch=arch, tokenizer=tokenizer,
                tokenizer_config={k: v for k, v in config.items() if v is not ...}, **options)


# ---- SentencePiece

def spm_model(size=300, byte_fallback=True):
    scratch = spm_pb2.ModelProto()
    model = __import__("io").BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for text in corpus() for line in text.splitlines() if line.strip()] * 3),
        model_writer=model, vocab_size=size + (256 if byte_fallback else 0), model_type="bpe",
        byte_fallback=byte_fallback,
        character_coverage=0.98, hard_vocab_limit=False, minloglevel=5,
        normalization_rule_name="identity", user_defined_symbols=["<user>"],
        control_symbols=["<ctl>"])
    scratch.ParseFromString(model.getvalue())
    return scratch


SPM = spm_model()
N_SPM = len(SPM.pieces)
SPM_BYTES = SPM.SerializeToString()


def spm_json():
    """The same vocabulary as a tokenizer.json, as Llama 2's is made."""
    vocab = {piece.piece: i for i, piece in enumerate(SPM.pieces)}
    merges = []
    for piece in SPM.pieces:
        for at in range(1, len(piece.piece)):
            pair = [piece.piece[:at], piece.piece[at:]]
            if piece.type == 1 and pair[0] in vocab and pair[1] in vocab:
                merges.append((vocab[piece.piece], pair))
    step = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [dict(SPECIAL, id=i, content=SPM.pieces[i].piece) for i in range(3)],
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
            "pre_tokenizer": None, "post_processor": template(("<s>", 1)),
            "decoder": {"type": "Sequence", "decoders": step},
            "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "vocab": vocab,
                      "merges": [" ".join(pair) for _, pair in sorted(merges)]}}


LLAMA2_CONFIG = {"add_bos_token": True, "add_eos_token": False, "tokenizer_class": "LlamaTokenizer", "legacy": False,
                 "bos_token": dict(SPECIAL, __type="AddedToken",
                                   content="<s>"), "eos_token": "</s>", "unk_token": "<unk>",
                 "pad_token": None, "sp_model_kwargs": {}, "clean_up_tokenization_spaces": False}


def spm_case(name, model=SPM_BYTES, tokenizer_config=LLAMA2_CONFIG, vocab_size=N_SPM, config=None, **options):
    return Case(name, model=model, tokenizer_config=tokenizer_config, config={"vocab_size": vocab_size,
                                                                              **(config or {})},
                **options)


def changed_model(change):
    model = spm_pb2.ModelProto()
    model.CopyFrom(SPM)
    change(model)
    return model.SerializeToString()
