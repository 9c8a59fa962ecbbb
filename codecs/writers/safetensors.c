#include "safetensors.h"
#include "../base/buf.h"
#include "../base/checked.h"
#include "../base/cleanup.h"
#include "../containers/safetensors.h"
#include "../json_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, HEADER_ALIGN = 8 };

static int compare_tensors(const void *a, const void *b)
{
    const struct wfs_tensor *x = *(const struct wfs_tensor *const *)a, *y = *(const struct wfs_tensor *const *)b;

    if (x->dtype != y->dtype)
        return y->dtype - x->dtype;
    return wfs_tensor_compare_names(x, y);
}

static int put_entry(struct wfs_buf *b, const struct wfs_tensor *t, uint64_t *offset)
{
    uint64_t end;

    if (!wfs_add_u64(*offset, t->n_bytes, &end))
        return -EOVERFLOW;
    wfs_buf_u8(b, ',');
    wfs_json_put_string(b, t->name, t->name_len);
    wfs_buf_printf(b, ":{\"dtype\":\"%s\",\"shape\":[", wfs_dtypes[t->dtype].name);
    for (unsigned d = 0; d < t->n_dims; d++)
        wfs_buf_printf(b, "%s%" PRIu64, d ? "," : "", t->dims[d]);
    wfs_buf_printf(b, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", *offset, end);
    *offset = end;
    return 0;
}

static int put_header(const struct wfs_tensor **sorted, size_t n, struct wfs_buf *b, struct wfs_error *err)
{
    uint64_t offset = 0, len;

    wfs_buf_u64le(b, 0); /* the length, known at the end */
    wfs_buf_str(b, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < n; i++) {
        if (put_entry(b, sorted[i], &offset) < 0)
            return wfs_error_set(err, EOVERFLOW, "the tensors are larger together than 64 bits can say");
    }
    wfs_buf_u8(b, '}');
    wfs_buf_fill(b, ' ', (HEADER_ALIGN - b->len % HEADER_ALIGN) % HEADER_ALIGN);
    if (b->failed)
        return wfs_error_set(err, ENOMEM, "out of memory for the header");
    len = b->len - LENGTH_BYTES;
    if (len > WFS_SAFETENSORS_MAX_HEADER)
        return wfs_error_set(err, EFBIG, "the header would take %" PRIu64 " bytes, more than the limit of %d", len,
                             WFS_SAFETENSORS_MAX_HEADER);
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        b->data[i] = (uint8_t)(len >> (8 * i));
    return 0;
}

int wfs_safetensors_layout(const struct wfs_model *model, struct wfs_layout *ret, struct wfs_error *err)
{
    const struct wfs_tensor **sorted WFS_CLEANUP(wfs_free) = malloc((model->n_tensors + 1) * sizeof *sorted);
    struct wfs_buf WFS_CLEANUP(wfs_buf_done) header = WFS_BUF_INIT;
    struct wfs_layout layout;
    uint8_t *bytes;
    size_t len = 0;
    int r;

    if (!sorted)
        return wfs_error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < model->n_tensors; i++)
        sorted[i] = &model->tensors[i];
    qsort(sorted, model->n_tensors, sizeof *sorted, compare_tensors);
    r = put_header(sorted, model->n_tensors, &header, err);
    if (r < 0)
        return r;
    bytes = wfs_buf_steal(&header, &len);
    if (!bytes)
        return wfs_error_set(err, ENOMEM, "out of memory");
    wfs_layout_init(&layout);
    r = wfs_layout_add_owned(&layout, bytes, len);
    for (size_t i = 0; i < model->n_tensors && r == 0; i++)
        r = wfs_layout_add_extent(&layout, sorted[i]->file, sorted[i]->offset, sorted[i]->n_bytes);
    if (r < 0) {
        wfs_layout_done(&layout);
        return wfs_error_set(err, -r, r == -ENOMEM ? "out of memory" : "the file would be larger than files can be");
    }
    *ret = layout;
    return 0;
}

int wfs_safetensors_layout_as_is(const struct wfs_model *model, uint32_t file, struct wfs_layout *ret,
                                 struct wfs_error *err)
{
    struct wfs_layout layout;
    int r;

    wfs_layout_init(&layout);
    r = wfs_layout_add_extent(&layout, file, 0, model->files[file].size);
    if (r < 0) {
        wfs_layout_done(&layout);
        return wfs_error_set(err, -r, "cannot lay %s out", model->files[file].name);
    }
    *ret = layout;
    return 0;
}
