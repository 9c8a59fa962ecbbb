#include "arch.h"

#include <stdio.h>
#include <string.h>

static const struct wfs_arch *const archs[] = { &wfs_arch_llama, &wfs_arch_qwen2, &wfs_arch_qwen3 };

const struct wfs_arch *wfs_arch_find(const char *hf_name)
{
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        for (const char *const *n = archs[i]->hf_names; *n; n++) {
            if (strcmp(*n, hf_name) == 0)
                return archs[i];
        }
    }
    return NULL;
}

int wfs_arch_put_u32(const struct wfs_arch_input *in, struct wfs_kv_list *kv, const char *key, const char *hparam,
                     struct wfs_hvalue v, struct wfs_error *err)
{
    char full[128];
    uint32_t n;
    int r = wfs_hvalue_u32(v, hparam, &n, err);

    if (r < 0)
        return r;
    snprintf(full, sizeof full, "%s.%s", in->name, key);
    wfs_kv_u32(kv, full, n);
    return 0;
}

int wfs_arch_put_f32(const struct wfs_arch_input *in, struct wfs_kv_list *kv, const char *key, const char *hparam,
                     struct wfs_hvalue v, struct wfs_error *err)
{
    char full[128];
    float f;
    int r = wfs_hvalue_f32(v, hparam, &f, err);

    if (r < 0)
        return r;
    snprintf(full, sizeof full, "%s.%s", in->name, key);
    wfs_kv_f32(kv, full, f);
    return 0;
}
