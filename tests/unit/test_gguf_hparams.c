#include "arch/arch.h"
#include "gguf/parameters.h"
#include "gguf_vectors.h"

#include <errno.h>

/* The keys of a config's architecture, and the rope factors as the array "rope". */
static int write_all(const struct wfs_folder *folder, struct wfs_kv_list *kv, struct wfs_error *err)
{
    struct wfs_hparams h;
    struct wfs_arch_extra extra = { NULL, NULL, 0 };
    struct wfs_arch_input in = { .hparams = &h, .folder = folder };
    const struct wfs_arch *arch;
    struct wfs_hvalue names;
    struct wfs_buf items = WFS_BUF_INIT;
    int r = wfs_hparams_open(folder, &h, err);

    if (r < 0)
        return r;
    names = wfs_hparams_get(&h, "architectures");
    in.hf_name = wfs_json_string(names.node->child);
    arch = wfs_arch_find(in.hf_name);
    assert_non_null(arch);
    in.name = arch->name;
    r = wfs_gguf_write_parameters(arch, &in, 1, kv, err);
    if (r == 0 && arch->extra_tensor)
        r = arch->extra_tensor(&in, &extra, err);
    if (r == 1) {
        for (uint32_t i = 0; i < extra.n; i++)
            wfs_buf_f32le(&items, extra.values[i]);
        wfs_kv_array(kv, "rope", WFS_GGUF_F32, extra.n, &items);
        free(extra.name);
        free(extra.values);
        r = 0;
    }
    wfs_hparams_done(&h);
    return r;
}

static void test_vectors(void **state)
{
    struct wfs_json *json = vector_json("hparams.json");
    size_t rows = 0;

    (void)state;
    for (const cJSON *row = wfs_json_root(json)->child; row; row = row->next, rows++) {
        const char *config = wfs_json_string(wfs_json_get(row, "config"));
        cJSON *files = cJSON_CreateObject();
        struct wfs_folder folder = { .ctx = files,
                                     .read = read_member,
                                     .path = wfs_json_string(wfs_json_get(row, "path")) };
        struct wfs_error err = { 0 };
        struct wfs_kv_list kv;

        cJSON_AddStringToObject(files, "config.json", config);
        wfs_kv_init(&kv);
        check_keys(config, write_all(&folder, &kv, &err), &err, &kv, wfs_json_string(wfs_json_get(row, "expect")));
        wfs_kv_done(&kv);
        cJSON_Delete(files);
    }
    assert_true(rows > 170);
    wfs_json_free(json);
}

static void check_message(const char *config, const char *expect)
{
    cJSON *files = cJSON_CreateObject();
    struct wfs_folder folder = { .ctx = files, .read = read_member, .path = "/x/my-bert/model" };
    struct wfs_error err = { 0 };
    struct wfs_kv_list kv;

    if (config)
        cJSON_AddStringToObject(files, "config.json", config);
    wfs_kv_init(&kv);
    assert_true(write_all(&folder, &kv, &err) < 0);
    assert_contains(err.msg, expect);
    wfs_kv_done(&kv);
    cJSON_Delete(files);
}

static void test_messages(void **state)
{
    (void)state;
    check_message(NULL, "config.json is missing");
    check_message("{", "config.json: ");
    check_message("[]", "config.json: not an object");
    check_message("{\"architectures\": [\"LlamaForCausalLM\"]}", "for its path transformers takes it for bert,");
    check_message("{\"model_type\": 5}", "config.json: \"model_type\" is not a string");
    check_message("{\"model_type\": \"gemma\"}", "model_type \"gemma\" is not supported yet");
    check_message("{\"model_type\": \"llama\", \"text_config\": {}}", "a model with \"text_config\" is not supported "
                                                                      "yet");
    check_message("{\"model_type\": \"llama\", \"quantization_config\": {\"quant_method\": \"awq\"}}", "quant_method "
                                                                                                       "awq");
    check_message("{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"vocab_size\": null}",
                  "config.json: \"vocab_size\" is null, an integer is needed");
    check_message("{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"num_local_experts\": 8}",
                  "mixture of experts");
    check_message("{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": -1}",
                  "does not fit 32 bits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
