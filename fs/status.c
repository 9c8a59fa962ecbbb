/* .weightfs/status.json: what is offered, what is withheld and why, counters. Schema: docs/operations.md. */
#include "generation.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "disk.h"
#include "fs_private.h"
#include "json_text.h"
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA = 1 };

static void put_text(struct wfs_buf *b, const char *key, const char *text)
{
    wfs_buf_printf(b, "\"%s\": ", key);
    wfs_json_put_shown(b, text, strlen(text));
}

static void put_model(const struct wfs_generation *g, struct wfs_buf *b)
{
    const struct wfs_model *m = g->model;

    wfs_buf_str(b, " \"model\": {");
    put_text(b, "architecture", g->architecture ? g->architecture : "");
    if (g->gguf) {
        wfs_buf_str(b, ", ");
        put_text(b, "gguf_architecture", wfs_gguf_architecture(g->gguf));
    }
    wfs_buf_printf(b, ", \"parameters\": %" PRIu64 ", \"tensors\": %zu, ", g->n_parameters, m->n_tensors);
    if (m->problem) {
        put_text(b, "problem", m->problem);
        wfs_buf_str(b, ", ");
    }
    if (g->gguf_reason) {
        put_text(b, "gguf_problem", g->gguf_reason);
        wfs_buf_str(b, ", ");
    }
    if (m->note) {
        put_text(b, "note", m->note);
        wfs_buf_str(b, ", ");
    }
    wfs_buf_str(b, "\"files\": [");
    for (size_t i = 0; i < m->n_files; i++) {
        wfs_buf_str(b, i ? ", {" : "{");
        put_text(b, "name", m->files[i].name);
        wfs_buf_printf(b, ", \"size\": %" PRIu64, m->files[i].size);
        if (m->files[i].problem) {
            wfs_buf_str(b, ", ");
            put_text(b, "problem", m->files[i].problem);
        }
        wfs_buf_u8(b, '}');
    }
    wfs_buf_str(b, "]},\n");
}

/* What llama-quantize calls BPW, and how many tensors have each type. */
static void put_quantised(struct wfs_buf *b, const struct wfs_gguf_measure *m)
{
    bool first = true;

    wfs_buf_printf(b, ", \"bits_per_weight\": %.4f, \"types\": {",
                   m->n_elems ? 8.0 * (double)m->tensor_bytes / (double)m->n_elems : 0.0);
    for (size_t i = 0; i < WFS_TYPE_COUNT; i++) {
        if (m->counts[i])
            wfs_buf_printf(b, "%s\"%s\": %" PRIu32, first ? "" : ", ", wfs_ggml_types[i].name, m->counts[i]);
        first = first && !m->counts[i];
    }
    wfs_buf_printf(b, "}, \"fallbacks\": %" PRIu32, m->n_fallbacks);
}

/* One text for each line. */
static void put_notes(struct wfs_buf *b, const char *notes)
{
    wfs_buf_str(b, ", \"notes\": [");
    for (const char *line = notes, *end; (end = strchr(line, '\n')); line = end + 1) {
        wfs_buf_str(b, line > notes ? ", " : "");
        wfs_json_put_shown(b, line, (size_t)(end - line));
    }
    wfs_buf_u8(b, ']');
}

static void put_views(const struct wfs_generation *g, struct wfs_buf *b)
{
    bool first = true;

    wfs_buf_str(b, " \"views\": [");
    for (size_t i = 0; i + 1 < g->tree.n_nodes; i++) {
        const struct wfs_node *n = &g->tree.nodes[g->tree.order[i]];

        if (n->kind != WFS_NODE_FILE || n->state != WFS_STATE_READY)
            continue;
        wfs_buf_str(b, first ? "\n  {" : ",\n  {");
        first = false;
        put_text(b, "path", n->path);
        wfs_buf_printf(b, ", \"kind\": \"%s\", \"size\": %" PRIu64 ", \"listed\": %s", n->view->kind, n->size,
                       n->listed ? "true" : "false");
        if (strcmp(n->view->kind, "npy") == 0) {
            wfs_buf_str(b, ", \"tensor\": ");
            wfs_json_put_shown(b, g->model->tensors[n->arg].name, g->model->tensors[n->arg].name_len);
        }
        if (wfs_view_quantised(n))
            put_quantised(b, wfs_view_quantised(n));
        if (wfs_view_notes(n))
            put_notes(b, wfs_view_notes(n));
        wfs_buf_u8(b, '}');
    }
    wfs_buf_str(b, "],\n");
}

static void put_withheld_entry(struct wfs_buf *b, bool *first, const char *path, const char *kind, const char *reason,
                               bool unusual)
{
    wfs_buf_str(b, *first ? "\n  {" : ",\n  {");
    *first = false;
    put_text(b, "path", path);
    wfs_buf_printf(b, ", \"kind\": \"%s\", ", kind);
    put_text(b, "reason", reason ? reason : "out of memory");
    if (unusual)
        wfs_buf_str(b, ", \"unusual\": true");
    wfs_buf_u8(b, '}');
}

static void put_withheld(const struct wfs_generation *g, struct wfs_buf *b)
{
    bool first = true;

    wfs_buf_str(b, " \"withheld\": [");
    for (size_t i = 0; i + 1 < g->tree.n_nodes; i++) {
        const struct wfs_node *n = &g->tree.nodes[g->tree.order[i]];

        if (n->kind == WFS_NODE_FILE && n->state == WFS_STATE_WITHHELD)
            put_withheld_entry(b, &first, n->path, n->view->kind, n->reason, n->unusual);
    }
    for (size_t i = 0; i < g->n_withheld; i++)
        put_withheld_entry(b, &first, g->withheld[i].path, g->withheld[i].kind, g->withheld[i].reason, false);
    wfs_buf_str(b, "],\n \"left_out\": [");
    for (size_t i = 0; i < g->source->n_left_out; i++) {
        wfs_buf_str(b, i ? ", " : "");
        wfs_json_put_shown(b, g->source->left_out[i], strlen(g->source->left_out[i]));
    }
    wfs_buf_str(b, "],\n");
}

static void put_counters(const struct wfs_generation *g, struct wfs_buf *b)
{
    struct wfs_engine_stats s = { 0 };

    wfs_engine_stats(wfs_fs_engine(g->fs), &s);
    wfs_buf_printf(b, " \"cache\": {\"limit\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"peak_bytes\": %" PRIu64
                      ", \"lz4_bytes\": %" PRIu64 ", \"hits\": %" PRIu64 ", \"misses\": %" PRIu64
                      ", \"waits\": %" PRIu64,
                   s.cache_limit, s.cache_bytes, s.cache_peak_bytes, s.lz4_bytes, s.tile_hits, s.tile_misses,
                   s.tile_waits);
    wfs_buf_printf(b, ", \"lz4_hits\": %" PRIu64 ", \"evicted\": %" PRIu64 ", \"tiles_made\": %" PRIu64
                      ", \"readahead_tiles\": %" PRIu64 ", \"readahead_unused\": %" PRIu64 "},\n",
                   s.lz4_hits, s.tiles_evicted, s.tiles_made, s.readahead_tiles, s.readahead_wasted);
    wfs_buf_printf(b, " \"io\": {\"source_bytes_read\": %" PRIu64 ", \"bytes_served\": %" PRIu64
                      ", \"read_errors\": %" PRIu64 ", \"reads_waiting\": %u, \"workers\": %u, "
                      "\"io_uring\": %s, ",
                   s.source_bytes_read, s.bytes_served, s.read_errors, s.reads_open, s.workers,
                   s.io_uring ? "true" : "false");
    put_text(b, "io_reason", s.io_reason ? s.io_reason : "");
    wfs_buf_str(b, ", ");
    put_text(b, "source_pages", !s.drop_pages ? "keep" : s.drop_refused ? "keep: the kernel cannot drop them" : "drop");
    wfs_buf_str(b, ", ");
    put_text(b, "kernels", s.kernels ? s.kernels : "");
    wfs_fs_put_passthrough(g->fs, b);
    wfs_buf_str(b, "},\n");
}

static void put_disk(const struct wfs_generation *g, struct wfs_buf *b)
{
    struct wfs_disk_stats s;

    if (!wfs_fs_disk(g->fs))
        return;
    wfs_disk_stats(wfs_fs_disk(g->fs), &s);
    wfs_buf_printf(b, " \"disk_cache\": {\"state\": \"%s\", ", wfs_disk_state_name(s.state));
    put_text(b, "reason", s.reason);
    wfs_buf_printf(b, ", \"shared\": %s, \"limit\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"hits\": %" PRIu64
                      ", \"misses\": %" PRIu64 ", \"damaged\": %" PRIu64 ", \"bytes_read\": %" PRIu64,
                   g->has_digests ? "true" : "false", s.limit, s.used, s.hits, s.misses, s.damaged, s.bytes_read);
    wfs_buf_printf(b, ", \"tiles_written\": %" PRIu64 ", \"bytes_written\": %" PRIu64 ", \"tiles_dropped\": %" PRIu64
                      ", \"views_completed\": %" PRIu64 ", \"views_evicted\": %" PRIu64 "},\n",
                   s.tiles_written, s.bytes_written, s.dropped, s.views_completed, s.views_evicted);
}

int wfs_status_render(struct wfs_generation *g, struct wfs_buf *out)
{
    wfs_buf_printf(out, "{\"schema\": %d,\n ", SCHEMA);
    put_text(out, "source", g->source->path);
    wfs_buf_printf(out, ",\n \"generation\": %" PRIu64 ",\n", g->number);
    put_model(g, out);
    put_views(g, out);
    put_withheld(g, out);
    put_counters(g, out);
    put_disk(g, out);
    wfs_fs_put_errors(g->fs, out);
    wfs_buf_str(out, "}\n");
    return out->failed ? -ENOMEM : 0;
}

int wfs_fs_status(struct wfs_fs *fs, struct wfs_buf *out)
{
    struct wfs_generation *g = wfs_fs_generation(fs);
    int r;

    wfs_generation_wait(g);
    r = wfs_status_render(g, out);
    wfs_generation_unref(g);
    return r;
}

int wfs_fs_status_file(struct wfs_fs *fs, const struct wfs_node *n, uint8_t **ret, size_t *ret_len)
{
    struct wfs_buf WFS_CLEANUP(wfs_buf_done) text = WFS_BUF_INIT;

    (void)fs;
    if (n->kind != WFS_NODE_STATUS || n->state != WFS_STATE_READY)
        return -ENOENT;
    if (wfs_status_render(n->generation, &text) < 0)
        return -ENOMEM;
    if (text.len > n->size) /* the slack holds every counter at its longest; errors are cut to fit */
        return -EIO;
    /* Spaces in front of the last line feed: still one JSON text, and stat was right. */
    text.len--;
    wfs_buf_fill(&text, ' ', n->size - text.len - 1);
    wfs_buf_u8(&text, '\n');
    *ret = wfs_buf_steal(&text, ret_len);
    return *ret ? 0 : -ENOMEM;
}
