/* Reading the vectors in tests/vectors/gguf (made by make_gguf.py) and folders that exist in memory only. */
#ifndef WFS_TESTS_GGUF_VECTORS_H
#define WFS_TESTS_GGUF_VECTORS_H

#include "check.h"
#include "folder.h"
#include "gguf/kv.h"
#include "json.h"

#include <stdio.h>

static inline char *vector_text(const char *name, size_t *ret_len)
{
    char path[1000];
    FILE *f;
    char *text;
    size_t len;

    snprintf(path, sizeof path, "%s/gguf/%s", WFS_TEST_VECTORS, name);
    f = fopen(path, "rb");
    if (!f)
        fail_msg("%s: cannot be opened", path);
    fseek(f, 0, SEEK_END);
    len = (size_t)ftell(f);
    rewind(f);
    text = malloc(len + 1);
    assert_int_equal(fread(text, 1, len, f), len);
    text[len] = '\0';
    fclose(f);
    if (ret_len)
        *ret_len = len;
    return text;
}

static inline struct wfs_json *vector_json(const char *name)
{
    struct wfs_error err = { 0 };
    struct wfs_json *json = NULL;
    size_t len;
    char *text = vector_text(name, &len);

    if (wfs_json_parse(text, len, &WFS_JSON_CONFIG, name, &json, &err) < 0)
        fail_msg("%s", err.msg);
    free(text);
    return json;
}

static inline uint64_t fnv1a(const void *data, size_t len)
{
    const uint8_t *p = data;
    uint64_t h = 0xcbf29ce484222325;

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001b3;
    return h;
}

/* A folder whose files are the members of a JSON object. */
static inline int read_member(void *ctx, const char *name, struct wfs_blob *ret, struct wfs_error *err)
{
    const char *text = wfs_json_string(wfs_json_get(ctx, name));

    (void)err;
    if (!text)
        return 0;
    ret->len = strlen(text);
    ret->data = malloc(ret->len + 1);
    memcpy(ret->data, text, ret->len + 1);
    return 1;
}

/* Compares keys with what a vector expects: hex bytes, or "error" (then r must say so, with a message). */
static inline void check_keys(const char *what, int r, const struct wfs_error *err, const struct wfs_kv_list *kv,
                              const char *expect)
{
    struct wfs_buf out = WFS_BUF_INIT;
    struct wfs_buf hex = WFS_BUF_INIT;

    if (strcmp(expect, "error") == 0) {
        if (r == 0)
            fail_msg("%s: the reference fails, we do not", what);
        assert_int_not_equal(err->msg[0], 0);
        return;
    }
    if (r < 0)
        fail_msg("%s: %s", what, err->msg);
    assert_int_equal(wfs_kv_serialise(kv, &out), 0);
    for (size_t i = 0; i < out.len; i++)
        wfs_buf_printf(&hex, "%02x", out.data[i]);
    wfs_buf_u8(&hex, 0);
    if (strcmp((const char *)hex.data, expect) != 0)
        fail_msg("%s:\nours      %s\nreference %s", what, (const char *)hex.data, expect);
    wfs_buf_done(&out);
    wfs_buf_done(&hex);
}

#endif
