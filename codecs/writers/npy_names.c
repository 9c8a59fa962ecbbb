#include "npy_names.h"
#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/utf8.h"
#include "npy.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { SUFFIX_BYTES = 4 /* ".npy" */, TWIN_BYTES = 3 /* ".u2" */, HASH_BYTES = 17 };

static bool is_printable(uint32_t c)
{
    return c >= 0x20 && (c < 0x7f || c > 0x9f) &&
           /* line and paragraph separators, bidirectional controls, byte order mark, noncharacters */
           !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069) && c != 0xfeff && (c & 0xfffe) != 0xfffe &&
           !(c >= 0xfdd0 && c <= 0xfdef);
}

static void put_escaped(struct wfs_buf *b, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        wfs_buf_printf(b, "%%%02X", (unsigned char)bytes[i]);
}

/* The dot of a name that ends like a twin, when the tensor whose twin that is exists; else the name's length. */
static size_t find_twin_dot(const struct wfs_model *model, const struct wfs_tensor *t)
{
    size_t dot;
    uint32_t other;
    const char *twin;

    if (t->name_len < TWIN_BYTES)
        return t->name_len;
    dot = t->name_len - TWIN_BYTES;
    if (t->name[dot] != '.' || !wfs_map_get(&model->by_name, t->name, dot, &other))
        return t->name_len;
    twin = wfs_npy_twin(model->tensors[other].dtype);
    return twin && memcmp(twin, t->name + dot + 1, 2) == 0 ? dot : t->name_len;
}

static void escape(const struct wfs_model *model, const struct wfs_tensor *t, struct wfs_buf *out)
{
    size_t twin_dot = find_twin_dot(model, t), i = 0;

    if (t->name_len == 0)
        wfs_buf_u8(out, '%'); /* a bare '%' is no escape, so it is no other tensor's */
    while (i < t->name_len) {
        uint32_t c = 0;
        unsigned n = wfs_utf8_decode(t->name + i, t->name_len - i, &c);

        if (n == 0) { /* C0 80: the model's form of a NUL */
            wfs_buf_str(out, "%00");
            i += 2;
            continue;
        }
        if (c == '/' || c == '%' || !is_printable(c) || (c == '.' && (i == 0 || i == twin_dot)))
            put_escaped(out, t->name + i, n);
        else
            wfs_buf_put(out, t->name + i, n);
        i += n;
    }
}

/* Names as models have them, of plain ASCII: nothing to escape. */
static bool is_plain(const struct wfs_model *model, const struct wfs_tensor *t)
{
    for (size_t i = 0; i < t->name_len; i++) {
        unsigned char c = (unsigned char)t->name[i];

        if (c < 0x20 || c >= 0x7f || c == '/' || c == '%')
            return false;
    }
    return t->name_len && t->name[0] != '.' && find_twin_dot(model, t) == t->name_len;
}

static bool is_in_escape(const char *text, size_t at)
{
    return (at >= 1 && text[at - 1] == '%') || (at >= 2 && text[at - 2] == '%');
}

/* Cuts between characters and between escapes. */
static size_t cut(const char *text, size_t len, size_t max)
{
    if (len <= max)
        return len;
    while (max > 0 && (((unsigned char)text[max] & 0xc0) == 0x80 || is_in_escape(text, max)))
        max--;
    return max;
}

static int set_stem(struct wfs_npy_names *names, size_t i, const struct wfs_buf *stem)
{
    names->stems[i] = strndup((const char *)stem->data, stem->len);
    if (!names->stems[i])
        return -ENOMEM;
    return wfs_map_add(&names->changed, names->stems[i], stem->len, (uint32_t)i, NULL) < 0 ? -ENOMEM : 0;
}

static bool is_taken(const struct wfs_npy_names *names, const struct wfs_buf *stem, const char *twin)
{
    char file[WFS_NPY_NAME_BYTES];
    size_t tensor;
    bool raw;

    snprintf(file, sizeof file, "%.*s.npy", (int)stem->len, (const char *)stem->data);
    if (wfs_npy_names_find(names, file, &tensor, &raw))
        return true;
    if (!twin)
        return false;
    snprintf(file, sizeof file, "%.*s.%s.npy", (int)stem->len, (const char *)stem->data, twin);
    return wfs_npy_names_find(names, file, &tensor, &raw);
}

/* After all other names stand: cut names take what is free. The hash is of the tensor's name, so mounts agree. */
static int shorten(struct wfs_npy_names *names, size_t i)
{
    const struct wfs_tensor *t = &names->model->tensors[i];
    size_t max = NAME_MAX - SUFFIX_BYTES - (wfs_npy_twin(t->dtype) ? TWIN_BYTES : 0) - HASH_BYTES;
    struct wfs_buf WFS_CLEANUP(wfs_buf_done) stem = WFS_BUF_INIT;
    size_t kept;

    escape(names->model, t, &stem);
    if (stem.failed)
        return -ENOMEM;
    kept = cut((const char *)stem.data, stem.len, max);
    for (uint64_t seed = 0;; seed++) {
        stem.len = kept;
        wfs_buf_printf(&stem, "~%016llx", (unsigned long long)XXH3_64bits_withSeed(t->name, t->name_len, seed));
        if (stem.failed)
            return -ENOMEM;
        if (!is_taken(names, &stem, wfs_npy_twin(t->dtype)))
            return set_stem(names, i, &stem);
    }
}

static bool is_too_long(const struct wfs_tensor *t, size_t stem_len)
{
    return stem_len + SUFFIX_BYTES + (wfs_npy_twin(t->dtype) ? TWIN_BYTES : 0) > NAME_MAX;
}

int wfs_npy_names_init(struct wfs_npy_names *names, const struct wfs_model *model)
{
    struct wfs_buf WFS_CLEANUP(wfs_buf_done) stem = WFS_BUF_INIT;
    bool *is_long WFS_CLEANUP(wfs_free) = calloc(model->n_tensors + 1, sizeof *is_long);
    int r = 0;

    names->model = model;
    wfs_map_init(&names->changed);
    names->stems = calloc(model->n_tensors + 1, sizeof *names->stems);
    if (!names->stems || !is_long)
        r = -ENOMEM;
    for (size_t i = 0; i < model->n_tensors && r == 0; i++) {
        const struct wfs_tensor *t = &model->tensors[i];

        if (is_plain(model, t) && !is_too_long(t, t->name_len))
            continue;
        stem.len = 0;
        escape(model, t, &stem);
        is_long[i] = is_too_long(t, stem.len);
        if (stem.failed)
            r = -ENOMEM;
        else if (is_long[i])
            continue;
        else if (stem.len != t->name_len || memcmp(stem.data, t->name, stem.len) != 0)
            r = set_stem(names, i, &stem);
    }
    for (size_t i = 0; i < model->n_tensors && r == 0; i++) {
        if (is_long[i])
            r = shorten(names, i);
    }
    if (r < 0)
        wfs_npy_names_done(names);
    return r;
}

void wfs_npy_names_done(struct wfs_npy_names *names)
{
    for (size_t i = 0; names->stems && i < names->model->n_tensors; i++)
        free(names->stems[i]);
    free(names->stems);
    names->stems = NULL;
    wfs_map_done(&names->changed);
}

void wfs_npy_names_get(const struct wfs_npy_names *names, size_t i, bool raw, char out[WFS_NPY_NAME_BYTES])
{
    const struct wfs_tensor *t = &names->model->tensors[i];
    const char *stem = names->stems[i] ? names->stems[i] : t->name;

    if (raw)
        snprintf(out, WFS_NPY_NAME_BYTES, "%s.%s.npy", stem, wfs_npy_twin(t->dtype));
    else
        snprintf(out, WFS_NPY_NAME_BYTES, "%s.npy", stem);
}

static bool find_stem(const struct wfs_npy_names *names, const char *stem, size_t len, uint32_t *ret)
{
    if (wfs_map_get(&names->changed, stem, len, ret))
        return true;
    return wfs_map_get(&names->model->by_name, stem, len, ret) && !names->stems[*ret];
}

bool wfs_npy_names_find(const struct wfs_npy_names *names, const char *file_name, size_t *ret_tensor, bool *ret_raw)
{
    size_t len = strlen(file_name);
    uint32_t at;
    const char *twin;

    if (len < SUFFIX_BYTES || strcmp(file_name + len - SUFFIX_BYTES, ".npy") != 0)
        return false;
    len -= SUFFIX_BYTES;
    if (find_stem(names, file_name, len, &at)) {
        *ret_tensor = at;
        *ret_raw = false;
        return wfs_npy_offered(names->model->tensors[at].dtype);
    }
    if (len < TWIN_BYTES || !find_stem(names, file_name, len - TWIN_BYTES, &at))
        return false;
    twin = wfs_npy_twin(names->model->tensors[at].dtype);
    if (!twin || file_name[len - TWIN_BYTES] != '.' || memcmp(file_name + len - 2, twin, 2) != 0)
        return false;
    *ret_tensor = at;
    *ret_raw = true;
    return true;
}
