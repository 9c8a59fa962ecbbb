#include "walk.h"

#include <string.h>

enum { MAX_DIMS = 8, MAX_LENGTH = 1 << 30 };

bool wfs_gguf_take_string(struct wfs_cursor *c, const uint8_t **ret, size_t *ret_len)
{
    uint64_t len;

    if (!wfs_cursor_u64le(c, &len) || len > MAX_LENGTH || len > wfs_cursor_left(c))
        return false;
    *ret = wfs_cursor_take(c, (size_t)len);
    *ret_len = (size_t)len;
    return true;
}

/* Bytes of one value; 0 for strings and what is no type of a value. */
static size_t size_of(uint32_t type)
{
    static const uint8_t sizes[] = { [WFS_GGUF_U8] = 1,  [WFS_GGUF_I8] = 1,  [WFS_GGUF_U16] = 2, [WFS_GGUF_I16] = 2,
                                     [WFS_GGUF_U32] = 4, [WFS_GGUF_I32] = 4, [WFS_GGUF_F32] = 4, [WFS_GGUF_BOOL] = 1,
                                     [WFS_GGUF_U64] = 8, [WFS_GGUF_I64] = 8, [WFS_GGUF_F64] = 8 };

    return type < sizeof sizes ? sizes[type] : 0;
}

static bool skip_elements(struct wfs_cursor *c, const struct wfs_gguf_item *k)
{
    const uint8_t *text;
    size_t size = size_of(k->element_type), len;

    if (k->n > MAX_LENGTH)
        return false;
    if (k->element_type != WFS_GGUF_STRING)
        return k->n <= wfs_cursor_left(c) / size && wfs_cursor_take(c, (size_t)k->n * size);
    for (uint64_t i = 0; i < k->n; i++) {
        if (!wfs_gguf_take_string(c, &text, &len))
            return false;
    }
    return true;
}

enum wfs_gguf_step wfs_gguf_walk_start(struct wfs_gguf_walk *w, const uint8_t *header, size_t len)
{
    const uint8_t *magic;

    *w = (struct wfs_gguf_walk){ .c = wfs_cursor_over(header, len) };
    magic = wfs_cursor_take(&w->c, 4);
    if (!magic || memcmp(magic, "GGUF", 4) != 0)
        return WFS_GGUF_STEP_MAGIC;
    return wfs_cursor_u32le(&w->c, &w->version) && wfs_cursor_u64le(&w->c, &w->n_tensors) &&
                   wfs_cursor_u64le(&w->c, &w->n_keys)
               ? WFS_GGUF_STEP_OK
               : WFS_GGUF_STEP_CUT;
}

enum wfs_gguf_step wfs_gguf_walk_key(struct wfs_gguf_walk *w, struct wfs_gguf_item *ret)
{
    struct wfs_cursor *c = &w->c;

    *ret = (struct wfs_gguf_item){ .n = 1 };
    if (!wfs_gguf_take_string(c, &ret->name, &ret->name_len) || !wfs_cursor_u32le(c, &ret->type))
        return WFS_GGUF_STEP_CUT;
    ret->value = c->data + c->at;
    ret->element_type = ret->type;
    if (ret->type == WFS_GGUF_ARRAY && (!wfs_cursor_u32le(c, &ret->element_type) || !wfs_cursor_u64le(c, &ret->n)))
        return WFS_GGUF_STEP_CUT;
    if (ret->element_type != WFS_GGUF_STRING && size_of(ret->element_type) == 0)
        return WFS_GGUF_STEP_TYPE;
    ret->elements = c->data + c->at;
    if (!skip_elements(c, ret))
        return WFS_GGUF_STEP_VALUE;
    ret->value_len = (size_t)(c->data + c->at - ret->value);
    return WFS_GGUF_STEP_OK;
}

enum wfs_gguf_step wfs_gguf_walk_tensor(struct wfs_gguf_walk *w, struct wfs_gguf_item *ret)
{
    struct wfs_cursor *c = &w->c;

    *ret = (struct wfs_gguf_item){ 0 };
    if (!wfs_gguf_take_string(c, &ret->name, &ret->name_len))
        return WFS_GGUF_STEP_CUT;
    ret->value = c->data + c->at;
    if (!wfs_cursor_u32le(c, &ret->n_dims))
        return WFS_GGUF_STEP_CUT;
    if (ret->n_dims > MAX_DIMS)
        return WFS_GGUF_STEP_DIMS;
    ret->dims = wfs_cursor_take(c, ret->n_dims * (size_t)8);
    if (!ret->dims || !wfs_cursor_u32le(c, &ret->type) || !wfs_cursor_u64le(c, &ret->offset))
        return WFS_GGUF_STEP_CUT;
    ret->value_len = (size_t)(c->data + c->at - ret->value);
    return WFS_GGUF_STEP_OK;
}
