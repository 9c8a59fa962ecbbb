/* Folders: listing them page by page, and statfs. */
#include "fuse_skin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Offsets in a listing: 1 stands behind ".", 2 behind "..", i + 3 behind child i. A handle's generation is fixed, so
 * they are stable.
 */
enum { DOTS = 2 };

static uint64_t parent_ino(const struct wfs_handle *h)
{
    const char *path = wfs_node_path(h->node), *slash = strrchr(path, '/');
    const struct wfs_node *parent;
    char above[4096];

    if (!slash || (size_t)(slash - path) >= sizeof above)
        return wfs_node_ino(wfs_generation_root(h->generation));
    memcpy(above, path, (size_t)(slash - path));
    above[slash - path] = 0;
    parent = wfs_generation_find(h->generation, above);
    return parent ? wfs_node_ino(parent) : 1;
}

/* Adds "." or "..": with readdirplus an entry of node id 0, which counts no lookup. */
static size_t add_dot(struct wfs_request *r, char *buf, size_t size, size_t index)
{
    struct fuse_entry_param entry = { 0 };
    const char *name = index == 0 ? "." : "..";

    entry.attr.st_mode = S_IFDIR;
    entry.attr.st_ino = index == 0 ? wfs_node_ino(r->handle->node) : parent_ino(r->handle);
    return r->plus ? fuse_add_direntry_plus(r->req, buf, size, name, &entry, (off_t)index + 1)
                   : fuse_add_direntry(r->req, buf, size, name, &entry.attr, (off_t)index + 1);
}

/* Adds a child; the size it takes, more than size when it does not fit (nothing is added then). */
static size_t add_child(struct wfs_request *r, char *buf, size_t size, const struct wfs_node *child, size_t index)
{
    const char *name = wfs_node_name(child);
    off_t next = (off_t)index + 1;
    struct fuse_entry_param entry = { 0 };
    size_t needed;

    if (!r->plus) {
        entry.attr.st_mode = wfs_node_kind(child) == WFS_NODE_DIR ? S_IFDIR : S_IFREG;
        entry.attr.st_ino = wfs_node_ino(child);
        return fuse_add_direntry(r->req, buf, size, name, &entry.attr, next);
    }
    needed = fuse_add_direntry_plus(r->req, NULL, 0, name, NULL, 0);
    if (needed > size)
        return needed;
    if (wfs_skin_entry(r->skin, r->handle->generation, child, &entry) < 0) {
        memset(&entry, 0, sizeof entry); /* out of memory: the name alone */
        entry.attr.st_mode = wfs_node_kind(child) == WFS_NODE_DIR ? S_IFDIR : S_IFREG;
        entry.attr.st_ino = wfs_node_ino(child);
    }
    return fuse_add_direntry_plus(r->req, buf, size, name, &entry, next);
}

static bool is_shown(const struct wfs_node *child)
{
    return wfs_node_kind(child) == WFS_NODE_DIR || wfs_node_ready(child) > 0;
}

/* Gives back the lookups of a page that the kernel did not take. */
static void forget_page(struct wfs_request *r, size_t first, size_t end)
{
    for (size_t i = first < DOTS ? DOTS : first; i < end; i++) {
        const struct wfs_node *child = wfs_node_child(r->handle->node, i - DOTS);
        uint64_t id;

        if (child && is_shown(child) && wfs_nodeids_lookup(r->skin->ids, r->handle->generation, child, &id) == 0)
            wfs_nodeids_forget(r->skin->ids, id, 2);
    }
}

/* Everything in the folder is settled: one page of it. */
static void list_page(struct wfs_request *r)
{
    char *page = malloc(r->size);
    size_t used = 0, index = (size_t)r->offset;

    /* Not settled here means that there was no memory to wait with: a list without the pending names would be a lie. */
    if (!page || wfs_node_ready(r->handle->node) == 0) {
        free(page);
        wfs_request_fail(r, ENOMEM);
        return;
    }
    for (;; index++) {
        const struct wfs_node *child = index < DOTS ? NULL : wfs_node_child(r->handle->node, index - DOTS);
        size_t needed;

        if (index >= DOTS && !child)
            break;
        if (child && !is_shown(child))
            continue;
        needed = child ? add_child(r, page + used, r->size - used, child, index)
                       : add_dot(r, page + used, r->size - used, index);
        if (needed > r->size - used)
            break;
        used += needed;
    }
    if (fuse_reply_buf(r->req, page, used) != 0 && r->plus)
        forget_page(r, (size_t)r->offset, index);
    free(page);
    wfs_request_end(r);
}

static void start_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi,
                          bool plus)
{
    struct wfs_request *r;

    if (offset < 0) {
        fuse_reply_err(req, EINVAL);
        return;
    }
    r = wfs_request_new(req, ino);
    if (!r)
        return;
    r->handle = wfs_handle_ref(wfs_handle_of(fi));
    r->size = size;
    r->offset = offset;
    r->plus = plus;
    wfs_ready_then(r, r->handle->node, list_page);
}

void wfs_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    start_readdir(req, ino, size, offset, fi, false);
}

void wfs_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    start_readdir(req, ino, size, offset, fi, true);
}

/* --- statfs --- */

/* Depth is bounded by the source's (8 levels). */
static void sum(const struct wfs_node *dir, uint64_t *bytes, uint64_t *files, bool *settled)
{
    const struct wfs_node *child;

    for (size_t i = 0; (child = wfs_node_child(dir, i)); i++) {
        int ready = wfs_node_ready(child);

        ++*files;
        if (wfs_node_kind(child) == WFS_NODE_DIR) {
            sum(child, bytes, files, settled);
        } else if (ready > 0) {
            struct stat st = { 0 };

            wfs_node_stat(child, &st);
            *bytes += (uint64_t)st.st_size;
        } else if (ready == 0) {
            *settled = false;
        }
    }
}

void wfs_op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    struct wfs_skin *skin = fuse_req_userdata(req);
    struct wfs_generation *g = wfs_fs_generation(skin->fs);
    struct statvfs st = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255 };
    bool settled = true;

    (void)ino;
    pthread_mutex_lock(&skin->lock);
    if (skin->summed_generation != wfs_generation_number(g)) {
        skin->total_bytes = 0;
        skin->n_files = 1;
        sum(wfs_generation_root(g), &skin->total_bytes, &skin->n_files, &settled);
        skin->summed_generation = settled ? wfs_generation_number(g) : 0;
    }
    st.f_blocks = skin->total_bytes / st.f_frsize + (skin->total_bytes % st.f_frsize != 0);
    st.f_files = skin->n_files;
    pthread_mutex_unlock(&skin->lock);
    wfs_generation_unref(g);
    fuse_reply_statfs(req, &st);
}
