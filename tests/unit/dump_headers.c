/*
 * Reads files of safetensors (u32 length and bytes each, from standard input) and says of each, in a line, "ok" and
 * what is in it or "no" and why. What tests/interop/test_headers.py compares with the safetensors library.
 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "containers/container.h"
#include "json_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int parse(const uint8_t *bytes, size_t len, struct wfs_shard *ret, struct wfs_error *err)
{
    size_t head = len < WFS_CONTAINER_PROBE_BYTES ? len : WFS_CONTAINER_PROBE_BYTES;
    const struct wfs_container *c = wfs_container_find(bytes, head, len);
    uint64_t want;
    int r = c->want(bytes, head, len, &want, err);

    return r < 0 ? r : c->parse(bytes, want, len, ret, err);
}

static void say(const struct wfs_shard *s)
{
    struct wfs_buf WFS_CLEANUP(wfs_buf_done) line = WFS_BUF_INIT;

    wfs_buf_str(&line, "ok [");
    for (size_t i = 0; i < s->n_tensors; i++) {
        const struct wfs_tensor *t = &s->tensors[i];

        wfs_buf_str(&line, i ? ", [" : "[");
        wfs_json_put_string(&line, t->name, t->name_len);
        wfs_buf_printf(&line, ", \"%s\", %" PRIu64 ", %" PRIu64 ", [", wfs_dtypes[t->dtype].name, t->offset,
                       t->n_bytes);
        for (unsigned d = 0; d < t->n_dims; d++)
            wfs_buf_printf(&line, "%s%" PRIu64, d ? ", " : "", t->dims[d]);
        wfs_buf_str(&line, "]]");
    }
    wfs_buf_str(&line, "]\n");
    fwrite(line.data, 1, line.len, stdout);
}

int main(void)
{
    uint32_t len;

    while (fread(&len, sizeof len, 1, stdin) == 1) {
        uint8_t *bytes = malloc(len + !len); /* exactly as long, so that a sanitizer sees a read past the end */
        struct wfs_shard shard = { 0 };
        struct wfs_error err = { 0 };

        if (!bytes || fread(bytes, 1, len, stdin) != len)
            return EXIT_FAILURE;
        if (parse(bytes, len, &shard, &err) < 0)
            printf("no %s\n", err.msg);
        else
            say(&shard);
        wfs_shard_done(&shard);
        free(bytes);
    }
    return EXIT_SUCCESS;
}
