/*
 * Private to fs: the table of views. A row offers its files to a generation's tree and lays one of them out when it is
 * first used. Rows come in the order in which they claim names: what the source itself holds is first.
 */
#ifndef WFS_FS_VIEW_H
#define WFS_FS_VIEW_H

#include "generation.h"

struct wfs_view {
    const char *kind; /* in listings: "file", "safetensors", "npy", "gguf" */
    bool is_file;     /* shows one source file (node->arg) as it is; else the model */
    /*
     * Adds nodes with their sizes, or withheld, or pending (then prepare settles them). 0 or a negative errno with err
     * set.
     */
    int (*offer)(struct wfs_generation *g, const struct wfs_view *view, struct wfs_error *err);
    /* NULL, or settles the nodes that offer left pending, after wfs_gguf_open. */
    void (*prepare)(struct wfs_generation *g, struct wfs_node *n);
    int (*layout)(const struct wfs_node *n, struct wfs_layout *ret, struct wfs_error *err);
};

/* What is known of a GGUF file that llama-quantize would write. NULL: the node is none, or is withheld. */
const struct wfs_gguf_measure *wfs_view_quantised(const struct wfs_node *n);

/* Lines about words of a GGUF view's recipe that do nothing; NULL when there are none. Of a settled node. */
const char *wfs_view_notes(const struct wfs_node *n);

extern const struct wfs_view wfs_views[];
extern const size_t wfs_n_views;

#endif
