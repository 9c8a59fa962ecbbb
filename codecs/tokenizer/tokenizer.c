#include "tokenizer.h"
#include "../base/cleanup.h"
#include "files.h"
#include "fingerprint.h"
#include "pyjson.h"
#include "special.h"
#include "token_list.h"

#include <errno.h>

/* Vocabulary sizes that the Llama class knows models by, and what it assumes without one. */
enum { SIZE_DEFAULT = 32000, SIZE_CODE_LLAMA = 32016, SIZE_GRANITE = 49152, CODE_LLAMA_EOT = 32010 };

/* Source: Qwen2Model.set_vocab */
static int write_qwen2(const struct wfs_tokenizer_request *req, struct wfs_tokenizer_files *files,
                       struct wfs_kv_list *kv, uint64_t *ret_n_tokens, struct wfs_error *err)
{
    bool absent;
    int r = wfs_token_list_sentencepiece(files, req->vocab_size, kv, &absent, ret_n_tokens, err);

    if (r == 0 && absent)
        r = wfs_token_list_gpt2(files, req->vocab_size, req->force_pre, kv, ret_n_tokens, err);
    return r;
}

static int has_file(const struct wfs_folder *folder, const char *name, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_blob_done) struct wfs_blob blob = { NULL, 0 };

    return folder->read(folder->ctx, name, &blob, err);
}

/* What precedes the vocabulary in LlamaModel.set_vocab. */
static int write_llama_head(struct wfs_tokenizer_files *files, struct wfs_kv_list *kv, struct wfs_error *err)
{
    const cJSON *config, *tokenizer, *prefix;
    const char *class;
    int r = wfs_tokenizer_files_get(files, WFS_FILE_TOKENIZER, &tokenizer, err);

    if (r == 0 && !tokenizer) {
        r = has_file(files->folder, "tekken.json", err);
        if (r == 1)
            r = wfs_error_set(err, ENOTSUP,
                              "tekken.json without a tokenizer.json: Mistral's own format is not supported");
    }
    if (r == 0)
        r = wfs_tokenizer_files_get(files, WFS_FILE_TOKENIZER_CONFIG, &config, err);
    if (r < 0)
        return r;
    prefix = wfs_json_get(config, "add_prefix_space");
    if (!wfs_py_is_none(prefix))
        wfs_kv_bool(kv, "tokenizer.ggml.add_space_prefix", wfs_py_truthy(prefix));
    class = wfs_json_string(wfs_json_get(config, "tokenizer_class"));
    if (class && strcmp(class, "HybridDNATokenizer") == 0)
        return wfs_error_set(err, ENOTSUP, "tokenizer_config.json: the tokenizer_class '%s' is not supported", class);
    return 0;
}

/* Source: LlamaModel.set_vocab */
static int write_llama(const struct wfs_tokenizer_request *req, struct wfs_tokenizer_files *files,
                       struct wfs_kv_list *kv, uint64_t *ret_n_tokens, struct wfs_error *err)
{
    struct wfs_special_request infill = { .infill = true, .n_vocab = -1, .eot_id = CODE_LLAMA_EOT };
    int64_t size = req->vocab_size < 0 ? SIZE_DEFAULT : req->vocab_size;
    bool absent = false;
    int r = write_llama_head(files, kv, err);

    if (r == 0)
        r = wfs_token_list_sentencepiece(files, req->vocab_size, kv, &absent, ret_n_tokens, err);
    if (r == 0 && absent)
        r = wfs_token_list_llama_hf(files, kv, &absent, ret_n_tokens, err);
    if (r == 0 && absent)
        r = wfs_token_list_gpt2(files, req->vocab_size, req->force_pre, kv, ret_n_tokens, err);
    if (r == 0 && size == SIZE_CODE_LLAMA)
        r = wfs_special_write(files, &infill, kv, err);
    if (r == 0 && size == SIZE_GRANITE)
        wfs_kv_bool(kv, "tokenizer.ggml.add_bos_token", false);
    return r;
}

int wfs_tokenizer_write(const struct wfs_tokenizer_request *req, struct wfs_kv_list *kv, uint64_t *ret_n_tokens,
                        struct wfs_error *err)
{
    WFS_CLEANUP(wfs_tokenizer_files_done) struct wfs_tokenizer_files files;
    uint64_t n_tokens = 0;
    int r;

    wfs_tokenizer_files_init(&files, req->folder);
    if (req->force_pre && !wfs_fingerprint_known(req->force_pre))
        return wfs_error_set(err, EINVAL,
                             "option pretokenizer=%s: not a name that the converter knows (llama-bpe, qwen2, "
                             "gpt-2 ...)",
                             req->force_pre);
    if (req->method == WFS_VOCAB_QWEN2)
        r = write_qwen2(req, &files, kv, &n_tokens, err);
    else
        r = write_llama(req, &files, kv, &n_tokens, err);
    if (r == 0 && kv->failed)
        r = wfs_error_set(err, ENOMEM, "out of memory");
    if (r == 0)
        *ret_n_tokens = n_tokens;
    return r;
}
