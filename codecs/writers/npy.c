#include "npy.h"
#include "../base/checked.h"
#include "../kernels/kernels.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    PREFIX = 10,          /* magic, version and the header's length */
    GROWTH_DIGITS = 21,   /* numpy leaves room for the first dimension to grow */
    MAX_ROW_ELEMS = 65536 /* of a plan: rows are cut into tiles, so none should be larger than a tile */
};

/* Types without a descr that a kernel can decode to float, exactly. */
static bool is_widened(enum wfs_dtype dtype)
{
    return !wfs_dtypes[dtype].npy && wfs_kernels_get()->decode[dtype];
}

bool wfs_npy_offered(enum wfs_dtype dtype)
{
    return wfs_dtypes[dtype].npy || is_widened(dtype);
}

const char *wfs_npy_twin(enum wfs_dtype dtype)
{
    if (!is_widened(dtype))
        return NULL;
    return wfs_dtypes[dtype].bits == 16 ? "u2" : "u1";
}

static const char *descr(enum wfs_dtype dtype, bool raw)
{
    if (raw)
        return wfs_dtypes[dtype].bits == 16 ? "<u2" : "|u1";
    return wfs_dtypes[dtype].npy ? wfs_dtypes[dtype].npy : "<f4";
}

static size_t put_header(const struct wfs_tensor *t, bool raw, uint8_t out[WFS_NPY_MAX_HEADER])
{
    char text[WFS_NPY_MAX_HEADER];
    int at = 0, digits = 0, pad;
    size_t total;

    at += snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr(t->dtype, raw));
    for (unsigned d = 0; d < t->n_dims; d++) {
        int n = snprintf(text + at, sizeof text - (size_t)at, "%" PRIu64, t->dims[d]);

        if (d == 0)
            digits = n;
        at += n;
        at += snprintf(text + at, sizeof text - (size_t)at, "%s", d + 1 < t->n_dims ? ", " : t->n_dims == 1 ? "," : "");
    }
    at += snprintf(text + at, sizeof text - (size_t)at, "), }");
    at += t->n_dims ? snprintf(text + at, sizeof text - (size_t)at, "%*s", GROWTH_DIGITS - digits, "") : 0;
    pad = ALIGN - (PREFIX + at + 1) % ALIGN; /* 64, not 0, when it is aligned already */
    total = (size_t)(PREFIX + at + pad + 1);
    assert(total <= WFS_NPY_MAX_HEADER);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (uint8_t)(total - PREFIX);
    out[9] = (uint8_t)((total - PREFIX) >> 8);
    memcpy(out + PREFIX, text, (size_t)at);
    memset(out + PREFIX + at, ' ', (size_t)pad);
    out[total - 1] = '\n';
    return total;
}

bool wfs_npy_size(const struct wfs_tensor *t, bool raw, uint64_t *ret)
{
    uint8_t header[WFS_NPY_MAX_HEADER];
    uint64_t bytes = t->n_bytes;

    if (!raw && is_widened(t->dtype)) {
        if (t->n_elems > WFS_PLAN_MAX_ELEMS)
            return false;
        bytes = t->n_elems * sizeof(float);
    }
    return wfs_add_u64(bytes, put_header(t, raw, header), ret) && *ret <= INT64_MAX;
}

/* Any split into rows gives the same bytes: the last dimension, cut down to what fits a tile. */
static struct wfs_plan widening_plan(const struct wfs_tensor *t)
{
    uint64_t row = t->n_dims ? t->dims[t->n_dims - 1] : 1;

    if (row > MAX_ROW_ELEMS) {
        uint64_t part = MAX_ROW_ELEMS;

        while (t->n_elems % part)
            part--;
        row = part;
    }
    return (struct wfs_plan){
        .tensor = t,
        .row_elems = row,
        .n_rows = t->n_elems / row,
        .order = WFS_ROWS_AS_IS,
        .n_heads = 1,
        .via = WFS_TYPE_F32,
        .dst = WFS_TYPE_F32,
    };
}

int wfs_npy_layout(const struct wfs_tensor *t, bool raw, struct wfs_layout *ret, struct wfs_error *err)
{
    uint8_t bytes[WFS_NPY_MAX_HEADER], *header;
    size_t len = put_header(t, raw, bytes);
    struct wfs_layout layout;
    int r = -ENOMEM;

    assert(raw ? wfs_npy_twin(t->dtype) != NULL : wfs_npy_offered(t->dtype));
    wfs_layout_init(&layout);
    header = malloc(len);
    if (header) {
        memcpy(header, bytes, len);
        r = wfs_layout_add_owned(&layout, header, len);
    }
    if (r == 0 && !raw && is_widened(t->dtype) && t->n_elems > 0) {
        struct wfs_plan plan = widening_plan(t);

        r = wfs_layout_add_tensor(&layout, &plan);
    } else if (r == 0) {
        r = wfs_layout_add_extent(&layout, t->file, t->offset, t->n_bytes);
    }
    if (r < 0) {
        wfs_layout_done(&layout);
        return wfs_error_set(err, -r, "tensor \"%.160s\": %s", t->name,
                             r == -ENOMEM ? "out of memory" : "too large for a file");
    }
    *ret = layout;
    return 0;
}
