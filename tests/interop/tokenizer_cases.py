"""The folders of check_tokenizer.py: small tokenizers of every kind, and the real ones where they are at hand."""

import copy
import json

import real_tokenizers

from tokenizer_folders import (ASIDE, LLAMA2_CONFIG, LLAMA3, LLAMA3_CONFIG, N_BASE, N_SPM, O200K,
                               QWEN2, QWEN_CONFIG, DEEPSEEK_V3, SPECIAL, SPM, SPM_BYTES, TEKKEN, Case, added, byte_step,
                               changed_model, decoder_of, llama3, llama3_case, qwen, qwen_case, sequence, spm_case, spm_json, split,
                               template)



def bpe_cases():
    yield llama3_case("llama3")
    yield llama3_case("llama3-base", llama3(post_processor=ASIDE))
    yield llama3_case("llama3-no-decoder-map", tokenizer_config={"added_tokens_decoder": ...})
    yield Case("llama3-no-tokenizer-config", tokenizer=llama3())
    yield Case("llama3-empty-tokenizer-config", tokenizer=llama3(), tokenizer_config={})
    yield llama3_case("llama3-class-llama", tokenizer_config={"tokenizer_class": "LlamaTokenizer"})
    yield llama3_case("llama3-class-llama-no-unk", tokenizer_config={"tokenizer_class": "LlamaTokenizerFast",
                                                                   "unk_token": None})
    yield llama3_case("llama3-class-llama-eos", tokenizer_config={
        "tokenizer_class": "LlamaTokenizerFast", "unk_token": None, "add_eos_token": True, "add_bos_token": True})
    yield llama3_case("llama3-class-llama-no-bos", tokenizer_config={
        "tokenizer_class": "LlamaTokenizerFast", "unk_token": None, "add_bos_token": False})
    yield llama3_case("llama3-class-llama-bos-null", tokenizer_config={
        "tokenizer_class": "LlamaTokenizerFast", "unk_token": None, "bos_token": None})
    yield llama3_case("llama3-class-llama-prefix-space", tokenizer_config={
        "tokenizer_class": "LlamaTokenizerFast", "add_prefix_space": True})
    yield llama3_case("llama3-prefix-space-true", tokenizer_config={"add_prefix_space": True})
    yield llama3_case("llama3-class-gpt2", tokenizer_config={"tokenizer_class": "GPT2Tokenizer"})
    yield llama3_case("llama3-class-gpt2-own", tokenizer_config={
        "tokenizer_class": "GPT2Tokenizer", "unk_token": "<|eot_id|>"})
    yield llama3_case("llama3-class-none", tokenizer_config={"tokenizer_class": ...})
    yield llama3_case("llama3-class-v5", tokenizer_config={"tokenizer_class": "TokenizersBackend"})
    yield llama3_case("llama3-extra-tokens", tokenizer_config={"extra_special_tokens": {"image_token": "<|reserved_0|>",
                                                                                       "other": "<|fresh|>"}})
    yield llama3_case("llama3-extra-tokens-list", tokenizer_config={"extra_special_tokens": ["<|reserved_0|>"]})
    yield Case("mistral-bpe", arch="MistralForCausalLM", tokenizer=llama3(), tokenizer_config=LLAMA3_CONFIG)
    yield qwen_case("qwen2")
    yield qwen_case("qwen3", arch="Qwen3ForCausalLM", config={"bos_token_id": N_BASE, "eos_token_id": N_BASE + 2})
    yield qwen_case("qwen-eos-list", config={"eos_token_id": [N_BASE + 2, N_BASE], "bos_token_id": N_BASE})
    yield qwen_case("qwen-config-only", tokenizer_config={"eos_token": None, "pad_token": None},
                    config={"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3, "unk_token_id": None})
    yield qwen_case("qwen-text-config-ids", config={"text_config": {"bos_token_id": 5}})
    yield qwen_case("qwen-negative-id", config={"bos_token_id": -1})
    yield qwen_case("qwen-huge-id", config={"bos_token_id": 1 << 40})
    yield qwen_case("qwen-pad-not-added", tokenizer_config={"pad_token": "Ġthe"})
    yield qwen_case("qwen-defaults", tokenizer_config={"eos_token": ..., "pad_token": ..., "unk_token": ...})
    yield qwen_case("qwen-new-special", tokenizer_config={"eos_token": "<|new|>", "pad_token": "<|newer|>"})
    yield qwen_case("qwen-no-tokenizer-class", tokenizer_config={"tokenizer_class": ...})
    yield qwen_case("qwen-class-in-config", tokenizer_config={"tokenizer_class": ...},
                    config={"tokenizer_class": "GPT2Tokenizer"})
    old = qwen()
    del old["model"]["type"]
    yield qwen_case("qwen-no-model-type", old)
    # the sizes
    yield qwen_case("vocab-larger", config={"vocab_size": 700})
    yield qwen_case("vocab-exact", config={"vocab_size": N_BASE + 5})
    yield qwen_case("vocab-smaller", config={"vocab_size": N_BASE + 4}, says="(the converter refuses that)")
    yield llama3_case("vocab-49152", config={"vocab_size": 49152})
    yield llama3_case("vocab-49152-add-bos", config={"vocab_size": 49152}, tokenizer_config={"add_bos_token": True})
    yield llama3_case("vocab-32016-bpe", config={"vocab_size": 32016})
    yield llama3_case("vocab-32016-flags", config={"vocab_size": 32016, "eot_token_id": 7},
                      tokenizer_config={"add_bos_token": False, "eot_token": "<|eot_id|>"})


def merges_cases():
    legacy = llama3()
    legacy["model"]["merges"] = [" ".join(pair) for pair in legacy["model"]["merges"]]
    yield llama3_case("merges-legacy", legacy)
    version = copy.deepcopy(legacy)
    version["model"]["merges"].insert(0, "#version: 0.2")
    yield llama3_case("merges-version-line", version)
    spaces = llama3()
    spaces["model"]["vocab"].update({"a b": N_BASE, " ": N_BASE + 1, "b": spaces["model"]["vocab"]["b"],
                                     " b": N_BASE + 2})
    spaces["model"]["merges"] += [["a", " b"], [" ", "b"]]
    spaces["added_tokens"] = added("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|r|>", start=N_BASE + 3)
    spaces["post_processor"] = ASIDE
    yield llama3_case("merges-with-spaces", spaces)
    unknown = llama3()
    unknown["model"]["merges"][5] = ["zz", "qq"]
    yield llama3_case("merges-unknown-token", unknown, says="not in the vocabulary")
    broken = copy.deepcopy(legacy)
    broken["model"]["merges"][3] = "a b c"
    yield llama3_case("merges-three-parts", broken, says="not two tokens")
    mixed = llama3()
    mixed["model"]["merges"][3] = "a b"
    yield llama3_case("merges-mixed", mixed)
    empty = llama3()
    empty["model"]["merges"] = []
    yield llama3_case("merges-none", empty)
    twice = llama3()
    twice["model"]["merges"].append(twice["model"]["merges"][0])
    yield llama3_case("merges-twice", twice)
    no_ignore = llama3()
    no_ignore["model"]["ignore_merges"] = False
    no_ignore["model"].pop("byte_fallback")
    yield llama3_case("ignore-merges-off", no_ignore)
    shuffled = llama3()
    shuffled["model"]["ignore_merges"] = False
    shuffled["model"]["merges"] = shuffled["model"]["merges"][::-1]
    yield llama3_case("merges-reversed", shuffled)


def added_cases():
    def with_tokens(name, tokens, normalizer=None, **options):
        tokenizer = llama3(normalizer=normalizer)
        tokenizer["added_tokens"] += added(*[t[0] for t in tokens], start=N_BASE + 4)
        for entry, (_, flags) in zip(tokenizer["added_tokens"][4:], tokens):
            entry.update(flags)
        return llama3_case(name, tokenizer, **options)

    plain = {"special": False, "normalized": False}
    yield with_tokens("added-looks", [(text, plain) for text in (
        "<pad>", "<mask>", "<2mass>", "[@BOS@]", "<|x|>", "<｜x｜>", "<unused7>", "<unused>x", "<|", "|>", "<|>",
        "<tool>")])
    yield with_tokens("added-normalized", [("▁x▁", {"special": False, "normalized": True}), ("<n>",
                                                                                             {"normalized": True})])
    yield with_tokens("added-plain-spaces", [("▁▁x", plain), ("a ▁b", plain), ("  ", plain), (" .", plain)])
    yield with_tokens("added-bytes", [("é", plain), ("ÿþ", plain), ("Ġword", plain), ("ĊĊ", plain), ("à¤", plain),
                                      ("你好", plain), ("naïve", plain), ("ð\u0141", plain), ("Ã©", plain)])
    yield with_tokens("added-cleanup", [(" it 's", plain), ("do n't", plain), ("a ,b .c ?d !e", plain), ("x ' y",
                                                                                                         plain),
                                        ("I 've we 're I 'm", plain)])
    yield with_tokens("added-no-cleanup", [(" it 's", plain), ("a ,b .c", plain)],
                      tokenizer_config={"clean_up_tokenization_spaces": False})
    yield with_tokens("added-in-text", [("emojis", plain), ("tea", {"special": False, "normalized": True}),
                                        ("3333", plain), (" 33", plain), ("\n\n", plain), ("=", plain)])
    yield with_tokens("added-strip", [("told", {"lstrip": True, "rstrip": True, **plain}),
                                      ("you", {"rstrip": True, **plain}), ("🚀", {"lstrip": True, **plain})])
    yield with_tokens("added-single-word", [("not", {"single_word": True, **plain}), ("D", {"single_word": True,
                                                                                            **plain}),
                                            ("пе", {"single_word": True, **plain}), ("3", {"single_word": True,
                                                                                           **plain}),
                                            ("🦙", {"single_word": True, **plain})])
    yield with_tokens("added-overlap", [("ab", plain), ("abc", plain), ("bc", plain), ("abcabd", plain), ("b", plain)])
    yield with_tokens("added-of-vocabulary", [("the", {"special": False, "normalized": True}), ("he", plain)])
    yield with_tokens("added-nfc", [("e\u0301", {"special": False, "normalized": True}), ("o\u0308x", plain),
                                    ("\u212b", plain)], normalizer={"type": "NFC"})
    yield with_tokens("added-nfc-shadowed", [("e\u0301", plain), ("xe\u0301y", {"special": False, "normalized": True}),
                                             ("\u0301y", plain)], normalizer={"type": "NFC"})
    yield with_tokens("added-split-special", [("<tool>", {"special": False}), ("made", {})],
                      tokenizer_config={"split_special_tokens": True})
    yield with_tokens("added-empty", [("", plain)])
    yield with_tokens("added-gap", [("<a>", plain)])
    # other flags in tokenizer_config.json than in tokenizer.json
    tokenizer = qwen()
    decoder = decoder_of(tokenizer)
    decoder[str(N_BASE + 3)].update(normalized=True)
    decoder[str(N_BASE + 4)].update(special=True, lstrip=True)
    decoder[str(N_BASE + 9)] = dict(SPECIAL, content="<late>")
    yield qwen_case("added-config-differs", tokenizer, {"added_tokens_decoder": decoder})
    yield qwen_case("added-config-only-content", tokenizer,
                    {"added_tokens_decoder": {str(N_BASE): {"content": "<only>"}}})
    yield qwen_case("added-config-bad-flag", tokenizer, {"added_tokens_decoder": {
        str(N_BASE): {"content": "<only>", "special": 1}}})
    yield qwen_case("special-is-plain-token", tokenizer, {"eos_token": "<think>"})
    yield qwen_case("special-as-added-token", tokenizer, {"eos_token": dict(SPECIAL, __type="AddedToken",
                                                                           content="<|im_end|>", special=True)})
    yield qwen_case("special-as-object", tokenizer, {"eos_token": {"content": "<|im_end|>"}})
    yield qwen_case("special-not-a-string", tokenizer, {"eos_token": 7})
    legacy = {k: v for k, v in QWEN_CONFIG.items()}
    yield Case("legacy-special-tokens-map", arch="Qwen2ForCausalLM", tokenizer=tokenizer, tokenizer_config=legacy,
               files={
        "special_tokens_map.json": {"eos_token": {"content": "<|endoftext|>", "lstrip": False, "rstrip": False,
                                                  "normalized": True, "single_word": False},
                                    "additional_special_tokens": ["<think>", {"content": "<|mapped|>"}]},
        "added_tokens.json": {"<|from_file|>": N_BASE + 6, "<think>": N_BASE + 3}})


def pre_tokenizers_by_name():
    plain = {"type": "Digits", "individual_digits": True}
    steps = {
        "gpt2": byte_step(True), "gpt2-prefix": byte_step(True, True), "none": None,
        "llama3": sequence(split(LLAMA3), byte_step()), "qwen2": sequence(split(QWEN2), byte_step()),
        "o200k": sequence(split(O200K, "Removed", True), byte_step()), "tekken": sequence(split(TEKKEN), byte_step()),
        "deepseek-v3": sequence(split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"), split(DEEPSEEK_V3), byte_step()),
        "deepseek-llm": sequence(split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"),
                                 {"type": "Digits", "individual_digits": True}, byte_step()),
        "starcoder": sequence(plain, byte_step(True)), "digits": sequence(dict(plain, individual_digits=False),
                                                                          byte_step(True)),
        "falcon": sequence({"type": "Punctuation", "behavior": "Contiguous"}, byte_step(True),
                           dict(plain, individual_digits=False), split("[0-9][0-9][0-9]")),
        "bloom": sequence(split(r" ?[^(\s|[.,!?…。，、।۔،])]+", "Isolated"), byte_step()),
        "punctuation": sequence({"type": "Punctuation"}, byte_step()),
        "whitespace": sequence({"type": "Whitespace"}, byte_step()),
        "whitespace-split": sequence({"type": "WhitespaceSplit"}, byte_step()),
        "words": sequence(split(r"\w+|[^\w\s]+"), byte_step()), "not-words": sequence(split(r"\W"), byte_step()),
        "nested-class": sequence(split(r"[a[b-d\d]e]+|[^\s[.,]\w]"), byte_step()),
        "hex": sequence(split(r"\h+"), byte_step()), "lines": sequence(split(r"^.*$"), byte_step()),
        "literal": sequence(split("...", kind="String"), byte_step()), "empty-match": sequence(split("x*"),
                                                                                               byte_step()),
        "lookbehind": sequence(split(r"(?<=\d)\.(?!\d)"), byte_step()),
        "properties": sequence(split(r"\p{Letter}+|\P{Alphabetic}|\p{^Lu}"), byte_step()),
        "possessive": sequence(split(r"[a-z]++|\s*+|\d?+"), byte_step()),
        "unicode-escape": sequence(split("\\u0027|\\x{6211}|\\x3f"), byte_step()),
        "case-folding": sequence(split("(?i)[A-M]+"), byte_step()),
        "nested-sequence": sequence(sequence(split("a"), split(" ")), byte_step()),
    }
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        steps["split-" + behavior] = sequence(split(r"\s+|[.!?=-]", behavior), byte_step())
        steps["invert-" + behavior] = sequence(split(r"\p{L}+|'", behavior, True), byte_step())
        steps["characters-" + behavior] = sequence(split(r"[\s3]", behavior), byte_step())
    return steps


def pretokenizer_cases():
    steps = pre_tokenizers_by_name()
    for name, pre_tokenizer in steps.items():
        yield llama3_case("pre-" + name, llama3(pre_tokenizer=pre_tokenizer))
    for name, value in (("absent", ...), ("true", True), ("false", False), ("null", None)):
        yield llama3_case("byte-level-prefix-" + name, llama3(pre_tokenizer=byte_step(True, True)),
                          {"add_prefix_space": value})
        yield llama3_case("byte-level-prefix-gpt2-" + name, llama3(pre_tokenizer=byte_step(True, False)),
                          {"add_prefix_space": value, "tokenizer_class": "GPT2TokenizerFast"})
    for name, normalizer in {
            "nfc": {"type": "NFC"}, "nfd": {"type": "NFD"}, "nfkc": {"type": "NFKC"}, "nfkd": {"type": "NFKD"},
            "empty-sequence": {"type": "Sequence", "normalizers": []},
            "replace": {"type": "Sequence", "normalizers": [
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}, {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"Regex": "3+"}, "content": "three"}]}}.items():
        yield llama3_case("norm-" + name, llama3(normalizer=normalizer))
    for name, pattern, words in (
            ("backreference", r"(a)\1", "not known to mean the same"), ("nested-class", "[a[^b]]", "within another"),
            ("intersection", "[a-z&&[^b]]", "an intersection"), ("boundary", r"\bx", "not known to mean the same"),
            ("interval-suffix", r"\d{1,3}+", "a repetition with a suffix"), ("inline-flag", "a(?i)b|c",
                                                                             "a kind of group")):
        yield llama3_case("regex-" + name, llama3(pre_tokenizer=sequence(split(pattern), byte_step())), force=False,
                          says=words)
    yield llama3_case("pre-unknown-type", llama3(pre_tokenizer={"type": "BertPreTokenizer"}), force=False,
                      says="'BertPreTokenizer' is not supported")
    yield llama3_case("norm-unknown-type", llama3(normalizer={"type": "Lowercase"}), force=False,
                      says="'Lowercase' is not supported")
    unk = llama3()
    unk["model"].update(unk_token="a", vocab={k: v for k, v in unk["model"]["vocab"].items()})
    unk["pre_tokenizer"] = split(r"\s")
    yield llama3_case("unk-token", unk)
    fused = copy.deepcopy(unk)
    fused["model"]["fuse_unk"] = True
    yield llama3_case("unk-fused", fused)
    no_unk = copy.deepcopy(unk)
    no_unk["model"]["unk_token"] = None
    yield llama3_case("unk-none", no_unk)


def processor_cases():
    bos, eos, sep = ("<|begin_of_text|>", N_BASE), ("<|end_of_text|>", N_BASE + 1), ("<|eot_id|>", N_BASE + 2)
    roberta = {"type": "RobertaProcessing", "sep": list(eos), "cls": list(bos), "trim_offsets": True,
               "add_prefix_space": False}
    processors = {
        "none": None, "bos-eos": template(bos, eos), "eos-only": template(None, eos), "eos-same": template(bos, sep),
        "no-pair-bos": template(bos, pair_bos=False), "roberta": roberta, "bert": dict(roberta, type="BertProcessing"),
        "unknown-first": template(("<|reserved_0|>", N_BASE + 3)),
        "sep": dict(template(bos), pair=template(bos)["pair"][:2] + [
            {"SpecialToken": {"id": sep[0], "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]),
        "sep-twice": dict(template(bos), pair=template(bos)["pair"][:2] + [
            {"SpecialToken": {"id": sep[0], "type_id": 0}}] * 2 + [{"Sequence": {"id": "B", "type_id": 1}}]),
    }
    processors["sep"]["special_tokens"][sep[0]] = {"id": sep[0], "ids": [sep[1]], "tokens": [sep[0]]}
    processors["sep-twice"]["special_tokens"] = processors["sep"]["special_tokens"]
    for name, processor in processors.items():
        yield llama3_case("post-" + name, llama3(post_processor=processor))
        yield llama3_case("post-%s-cls-sep" % name, llama3(post_processor=processor),
                          {"cls_token": "<|reserved_0|>", "sep_token": "<|end_of_text|>", "add_sep_token": True})
        yield Case("post-%s-bare" % name, tokenizer=llama3(post_processor=processor),
                   tokenizer_config={"tokenizer_class": "PreTrainedTokenizerFast"})
        yield Case("post-%s-no-config" % name, tokenizer=llama3(post_processor=processor),
                   config={"tokenizer_class": "PreTrainedTokenizerFast"})
    for flags in ({"add_bos_token": True}, {"add_bos_token": False}, {"add_eos_token": True}, {"add_bos_token": "yes"},
                  {"add_unk_token": True}, {"add_sep_token": False, "add_bos_token": None}):
        yield llama3_case("flags-" + "-".join("%s=%s" % (k[4:-6], v) for k, v in flags.items()), tokenizer_config=flags)
    for name, normalizer in {"lowercase": {"type": "Lowercase"}, "strip-accents": {"type": "StripAccents"},
                             "both": {"type": "Sequence", "normalizers": [{"type": "Lowercase"},
                                                                          {"type": "StripAccents"}]}
                             }.items():
        yield Case("normalizer-key-" + name, tokenizer=dict(spm_json(), normalizer=normalizer),
                   tokenizer_config=LLAMA2_CONFIG,
                   config={"vocab_size": N_SPM})


def chat_cases():
    text = "{% for m in messages %}\r\n{{ m }}\n{% endfor %} é"
    named = [{"name": "default", "template": "D"}, {"name": "tool use", "template": "T"}]
    yield llama3_case("chat-string", tokenizer_config={"chat_template": text})
    yield llama3_case("chat-null", tokenizer_config={"chat_template": None}, files={"chat_template.jinja": b"no"})
    yield llama3_case("chat-empty", tokenizer_config={"chat_template": ""})
    yield llama3_case("chat-jinja", files={"chat_template.jinja": text.encode() + b"\r\rx\r"})
    yield llama3_case("chat-jinja-bom", files={"chat_template.jinja": b"\xef\xbb\xbfx"})
    yield llama3_case("chat-jinja-not-utf8", files={"chat_template.jinja": b"a\xffb"},
                      says="chat_template.jinja: not valid UTF-8")
    yield llama3_case("chat-both", tokenizer_config={"chat_template": "C"}, files={"chat_template.jinja": b"J"})
    yield llama3_case("chat-json", files={"chat_template.json": {"chat_template": text}})
    yield llama3_case("chat-json-and-jinja", files={"chat_template.json": {"chat_template": "J"},
                                                    "chat_template.jinja": b"X"})
    yield llama3_case("chat-list-one-default", tokenizer_config={"chat_template": named[:1]})
    yield llama3_case("chat-list-one-named", tokenizer_config={"chat_template": named[1:]})
    yield llama3_case("chat-list-default-and-one", tokenizer_config={"chat_template": named})
    yield llama3_case("chat-list-two", tokenizer_config={"chat_template": named + [{"name": "rag", "template": "R"}]},
                      says="changes from run to run")
    yield llama3_case("chat-list-same-twice", tokenizer_config={"chat_template": [
        {"name": "a-b", "template": "1"}, {"name": "a_b", "template": "2"}, {"name": "default", "template": ""}]})
    yield llama3_case("chat-list-empty", tokenizer_config={"chat_template": []})
    yield llama3_case("chat-not-a-string", tokenizer_config={"chat_template": 7})
    yield Case("chat-without-config", tokenizer=llama3(), files={"chat_template.jinja": b"J"},
               config={"tokenizer_class": "PreTrainedTokenizerFast"})


def spm_cases():
    decoder = {str(i): dict(SPECIAL, content=SPM.pieces[i].piece) for i in range(3)}
    yield spm_case("spm")
    yield spm_case("spm-mistral", arch="MistralForCausalLM")
    yield spm_case("spm-qwen", arch="Qwen2ForCausalLM")
    yield spm_case("spm-no-config", tokenizer_config=None)
    yield spm_case("spm-and-json", tokenizer=spm_json(), tokenizer_config=dict(LLAMA2_CONFIG,
                                                                               added_tokens_decoder=decoder))
    yield spm_case("spm-larger", vocab_size=N_SPM + 40)
    yield spm_case("spm-smaller", vocab_size=N_SPM - 40)
    yield spm_case("spm-zero-vocab-size", vocab_size=0)
    yield spm_case("spm-prefix-space", tokenizer_config=dict(LLAMA2_CONFIG, add_prefix_space=True))
    yield spm_case("spm-prefix-space-false", tokenizer_config=dict(LLAMA2_CONFIG, add_prefix_space=False))
    yield spm_case("spm-prefix-space-null", tokenizer_config=dict(LLAMA2_CONFIG, add_prefix_space=None))
    yield spm_case("spm-ids", config={"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": N_SPM, "unk_token_id": 0})
    yield spm_case("spm-boolean-ids", config={"bos_token_id": True, "eos_token_id": False, "pad_token_id": True})
    yield spm_case("spm-decoder", vocab_size=N_SPM + 8, tokenizer_config=dict(LLAMA2_CONFIG, added_tokens_decoder={
        **decoder, str(N_SPM): {"content": "▁a▁", "special": False}, str(N_SPM + 1): {"content": "<|looks|>"},
        " %d " % (N_SPM + 2): {"content": "x"}, "+%d" % (N_SPM + 3): {"content": "y", "special": 1},
        "-1": {"content": "last"}, "9999": {"content": "beyond"}, "1_0": {"content": "ten"}}))
    yield spm_case("spm-decoder-bad-id", tokenizer_config=dict(LLAMA2_CONFIG,
                                                               added_tokens_decoder={"x": {"content": "y"}}))
    yield spm_case("spm-decoder-far-id", tokenizer_config=dict(LLAMA2_CONFIG,
                                                               added_tokens_decoder={"-9999": {"content": "y"}}))
    yield spm_case("spm-decoder-no-content", tokenizer_config=dict(LLAMA2_CONFIG, added_tokens_decoder={"5": {}}))
    yield spm_case("spm-added-tokens", vocab_size=N_SPM + 4, files={"added_tokens.json": {
        "▁new": N_SPM, "other": 5, "last": -1, "beyond": 99999, "<|s|>": N_SPM + 1}})
    yield spm_case("spm-added-tokens-bad", files={"added_tokens.json": {"x": "1"}})
    yield spm_case("spm-added-tokens-float", files={"added_tokens.json": {"x": 1.0}})
    yield spm_case("spm-added-tokens-far", files={"added_tokens.json": {"x": -99999}})
    yield spm_case("spm-32016", vocab_size=32016)
    yield spm_case("spm-49152", vocab_size=49152)
    yield spm_case("spm-chat", files={"chat_template.jinja": b"a\r\nb"})
    yield spm_case("spm-broken-config", tokenizer_config=None, files={"tokenizer_config.json": b"{"})
    # what sentencepiece itself refuses, or not
    yield spm_case("spm-empty", model=b"")
    yield spm_case("spm-truncated", model=SPM_BYTES[:len(SPM_BYTES) // 2 + 1])
    yield spm_case("spm-garbage", model=b"\x0a\xff\xff\xff\xff\x0f" + b"x" * 50)
    yield spm_case("spm-text", model=b"version https://git-lfs.github.com/spec/v1\n")

    def empty_piece(m):
        m.pieces[40].piece = ""

    def nul_piece(m):
        m.pieces[40].piece = "\0"

    def nul_within(m):
        m.pieces[40].piece = "a\0b"

    def double(m):
        m.pieces[40].piece = m.pieces[41].piece

    def double_across(m):
        m.pieces[40].piece = "<s>"

    def two_unknown(m):
        m.pieces[40].type = 2

    def no_unknown(m):
        m.pieces[0].type = 1

    def no_unknown_no_bytes(m):
        no_unknown(m)
        m.trainer_spec.byte_fallback = False
        for i in reversed([i for i, p in enumerate(m.pieces) if p.type == 6]):
            del m.pieces[i]

    def a_byte_less(m):
        next(p for p in m.pieces if p.piece == "<0x41>").type = 1

    def bytes_off(m):
        m.trainer_spec.byte_fallback = False

    def bad_byte(m):
        next(p for p in m.pieces if p.type == 1).type = 6

    def types(m):
        for i, t in zip(range(N_SPM - 6, N_SPM), (1, 3, 4, 5, 1, 4)):
            m.pieces[i].type = t
        m.pieces[N_SPM - 1].ClearField("type")
        m.pieces[N_SPM - 2].ClearField("score")
        m.pieces[N_SPM - 3].score = float("-inf")

    for change in (empty_piece, nul_within, double, double_across, two_unknown, no_unknown, no_unknown_no_bytes,
                   a_byte_less, bytes_off, bad_byte, types):
        yield spm_case("spm-" + change.__name__.replace("_", "-"), model=changed_model(change))
    yield spm_case("spm-nul-piece", model=changed_model(nul_piece), says="a NUL is in it")
    unknown_fields = b"\x0a\x13\x0a\x04newp\x15\x00\x00\x80\xbf\x18\x63\x20\x07\x2b\x08\x01\x2c" + b"\xfa\x07\x03abc"
    yield spm_case("spm-unknown-fields", model=SPM_BYTES + unknown_fields, vocab_size=N_SPM + 1)


def llama_hf_cases():
    def case(name, tokenizer=None, tokenizer_config=LLAMA2_CONFIG, **options):
        options.setdefault("config", {"vocab_size": N_SPM})
        return Case(name, tokenizer=tokenizer or spm_json(), tokenizer_config=tokenizer_config, **options)

    yield case("hf")
    yield case("hf-mistral", arch="MistralForCausalLM")
    yield case("hf-no-config", tokenizer_config=None)
    yield case("hf-fast-class", tokenizer_config={"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>"})
    yield case("hf-code-llama", tokenizer_config=dict(LLAMA2_CONFIG, tokenizer_class="CodeLlamaTokenizer"),
               config={"vocab_size": 32016})
    yield case("hf-code-llama-none", tokenizer_config=dict(LLAMA2_CONFIG, tokenizer_class="CodeLlamaTokenizerFast",
                                                          prefix_token=None, eot_token="<ctl>", suffix_token="x▁y"))
    yield case("hf-prefix-space", tokenizer_config=dict(LLAMA2_CONFIG, add_prefix_space=True))
    yield case("hf-prefix-space-null", tokenizer_config=dict(LLAMA2_CONFIG, add_prefix_space=None))
    yield case("hf-pad", tokenizer_config=dict(LLAMA2_CONFIG, pad_token="<pad>"))
    yield case("hf-bos-null", tokenizer_config=dict(LLAMA2_CONFIG, bos_token=None))
    yield case("hf-padding", dict(spm_json(), padding={"strategy": "BatchLongest", "direction": "Right", "pad_id": 0,
                                                       "pad_to_multiple_of": None, "pad_type_id": 0,
                                                       "pad_token": "<unk>"}))
    tokenizer = spm_json()
    tokenizer["added_tokens"] += added("<extra>", "▁word▁", "<|ctl|>", start=N_SPM, special=False)
    tokenizer["added_tokens"] += added("<sp>", start=N_SPM + 3)
    yield case("hf-added", tokenizer)
    yield case("hf-added-special-in-config", tokenizer, dict(LLAMA2_CONFIG, additional_special_tokens=["<extra>",
                                                                                                       "<more>"]))
    tokenizer = spm_json()
    tokenizer["decoder"] = byte_step()
    yield case("hf-other-decoder", tokenizer)
    yield case("hf-null-decoder", dict(spm_json(), decoder=None))
    without = spm_json()
    del without["decoder"]
    yield case("hf-no-decoder", without)
    without = spm_json()
    del without["model"]["type"]
    yield case("hf-no-type", without)
    yield case("hf-unigram", dict(spm_json(), model={"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0]]}),
               says="a model of type 'Unigram' is not supported")
    hole = spm_json()
    last = max(hole["model"]["vocab"], key=hole["model"]["vocab"].get)
    hole["model"]["vocab"][last] += 3
    yield case("hf-hole", hole)


def broken_cases():
    yield Case("no-tokenizer", says="no tokenizer.json")
    yield Case("no-tokenizer-qwen", arch="Qwen2ForCausalLM", says="no tokenizer.json")
    yield Case("tekken-only", files={"tekken.json": b"{}"}, says="tekken.json without a tokenizer.json")
    yield Case("broken-json", files={"tokenizer.json": b'{"model": {'}, says="tokenizer.json: line 1 column")
    yield Case("lfs-pointer", files={"tokenizer.json": b"version https://git-lfs.github.com/spec/v1\n"},
               says="tokenizer.json")
    yield Case("array-json", files={"tokenizer.json": b"[]"}, says="tokenizer.json: not an object")
    for name, change in {
            "vocab-list": {"vocab": []}, "vocab-missing": {"vocab": ...}, "vocab-string-id": {"vocab": {"a": "1"}},
            "vocab-negative-id": {"vocab": {"a": -1}}, "vocab-2-63": {"vocab": {"a": 1 << 63}},
            "vocab-2-32": {"vocab": {"a": 1 << 32}}, "vocab-float-id": {"vocab": {"a": 1.5}},
            "merges-missing": {"merges": ...}, "merges-numbers": {"merges": [1, 2]}, "merges-object": {"merges": {}},
            "flag-string": {"fuse_unk": "yes"}, "unk-number": {"unk_token": 1}}.items():
        tokenizer = llama3()
        tokenizer["model"].update(change)
        tokenizer["model"] = {k: v for k, v in tokenizer["model"].items() if v is not ...}
        yield llama3_case("broken-" + name, tokenizer)
    for name, change in {"null": None, "wordlevel": "WordLevel", "number": 1}.items():
        tokenizer = llama3()
        tokenizer["model"]["type"] = change
        yield llama3_case("model-type-" + name, tokenizer)
    for name, change in {
            "empty": ("", ""), "prefix": ("##", None), "suffix": (None, "</w>"), "number": (1, None),
            "list": (None, [])}.items():
        tokenizer = llama3()
        tokenizer["model"]["continuing_subword_prefix"], tokenizer["model"]["end_of_word_suffix"] = change
        # The converter goes on with a suffix, though the merges then stand for other texts than those they show.
        yield llama3_case("affix-" + name, tokenizer,
                          says="model.end_of_word_suffix '</w>' is not supported" if name == "suffix" else None)
    for name, value in {"null": None, "huge": 1e30, "boolean": True, "string": "4096", "list": [4096],
                        "object": {}, "negative": -1, "zero": 0}.items():
        yield llama3_case("max-length-" + name, tokenizer_config={"model_max_length": value})
    far = llama3()
    far["model"]["vocab"]["far"] = 1 << 31
    yield llama3_case("broken-far-id", far, says="over the limit")
    double = llama3()
    double["model"]["vocab"]["double"] = 7
    yield llama3_case("broken-double-id", double, says="have the same id")
    taken = llama3()
    taken["model"]["vocab"]["taken"] = N_BASE + 2
    yield llama3_case("broken-taken-id", taken, says="which of them the converter writes is not defined")
    for name, entry in {"no-content": {"id": 1}, "no-flags": {"id": N_BASE + 9, "content": "x"}, "number": 7,
                        "string-id": dict(SPECIAL, id="1", content="x"), "id-2-63": dict(SPECIAL, id=1 << 63,
                                                                                         content="x"),
                        "negative-id": dict(SPECIAL, id=-4, content="x")}.items():
        tokenizer = llama3()
        tokenizer["added_tokens"].append(entry)
        yield Case("broken-added-" + name, tokenizer=tokenizer, tokenizer_config=LLAMA3_CONFIG)
    yield llama3_case("forced-unknown-hash", force=False,
                      says="option pretokenizer=NAME forces one; it splits by '(?i:'s|")


def real_cases():
    for name, arch, kind in (("llama3_1", "LlamaForCausalLM", "llama"), ("qwen3", "Qwen3ForCausalLM", "qwen3")):
        try:
            files = real_tokenizers.read(name)
        except FileNotFoundError:
            continue  # test_tokenizer.py says so
        size = 1 + max(t["id"] for t in json.loads(files["tokenizer.json"])["added_tokens"])
        config = {"vocab_size": size, "model_type": kind, "eos_token_id": [size - 1, 5], "bos_token_id": size - 7}
        yield Case("real-" + name, arch=arch, files=files, config=config, force=False)
        if name == "llama3_1":
            base = json.loads(files["tokenizer.json"])
            base["post_processor"] = base["post_processor"]["processors"][0]
            yield Case("real-llama3-base", arch=arch, files={**files, "tokenizer.json": base}, config=config,
                       force=False)
            yield Case("real-llama3-padded", arch=arch, files=files, config=dict(config, vocab_size=size + 64),
                       force=False)


def all_cases():
    for group in (real_cases, bpe_cases, merges_cases, added_cases, pretokenizer_cases, processor_cases, chat_cases,
                  spm_cases, llama_hf_cases, broken_cases):
        yield from group()
