/* Names to nodes, and opening them. Both look first whether the source is still what it was. */
#include "fuse_skin.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static void end_lookup(struct wfs_request *r) /* the size is known */
{
    struct fuse_entry_param entry;
    int ready = wfs_node_ready(r->id.node), status;

    if (wfs_node_kind(r->id.node) != WFS_NODE_DIR && ready <= 0) {
        /* Withheld: it looks absent, .weightfs/status.json says why. Not settled: there was no memory to wait with. */
        wfs_node_tell_withheld(r->id.node);
        wfs_request_fail(r, ready < 0 ? ENOENT : ENOMEM);
        return;
    }
    status = wfs_skin_entry(r->skin, r->id.generation, r->id.node, &entry);
    if (status < 0) {
        wfs_request_fail(r, -status);
        return;
    }
    /* The kernel did not take the answer: it counts no lookup either. */
    if (fuse_reply_entry(r->req, &entry) != 0)
        wfs_nodeids_forget(r->skin->ids, entry.ino, 1);
    wfs_request_end(r);
}

static void continue_lookup(struct wfs_request *r)
{
    struct wfs_nodeid parent;
    const struct wfs_node *node;
    int status = wfs_nodeids_get(r->skin->ids, r->skin->fs, r->ino, &parent);

    if (status < 0) {
        wfs_request_fail(r, -status);
        return;
    }
    r->id = parent;
    node = wfs_node_kind(parent.node) == WFS_NODE_DIR ? wfs_node_lookup(parent.node, r->name) : NULL;
    if (!node) {
        wfs_request_fail(r, ENOENT);
        return;
    }
    r->id.node = node;
    if (wfs_node_kind(node) == WFS_NODE_DIR)
        end_lookup(r);
    else
        wfs_ready_then(r, node, end_lookup);
}

void wfs_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct wfs_request *r;

    if (strlen(name) >= sizeof r->name) {
        fuse_reply_err(req, ENAMETOOLONG);
        return;
    }
    r = wfs_request_new(req, parent);
    if (!r)
        return;
    strcpy(r->name, name);
    wfs_look_then(r, false, continue_lookup);
}

/* --- open --- */

static void reply_open(struct wfs_request *r)
{
    enum wfs_node_kind kind = wfs_node_kind(r->id.node);
    struct wfs_handle *h = r->handle;

    r->handle = NULL;
    r->fi.fh = (uint64_t)(uintptr_t)h;
    /* A node's bytes never change, so what the kernel has of them stays good; status.json is a snapshot per handle. */
    r->fi.noflush = true; /* nothing to write; and no signal ends a FLUSH that waits for a stopped mount */
    r->fi.keep_cache = kind == WFS_NODE_FILE;
    r->fi.direct_io = kind == WFS_NODE_STATUS;
    wfs_backing_reply(h, &r->fi);
    if (fuse_reply_open(r->req, &r->fi) != 0)
        wfs_handle_unref(h);
    wfs_request_end(r);
}

/* ESTALE only where looking the name up again finds another node; else the kernel would give it to who opens. */
static int errno_of_open(const struct wfs_request *r, int status)
{
    if (status == -ESTALE && !wfs_generation_is_current(r->skin->fs, r->id.generation))
        return ESTALE;
    return status == -ENOMEM || status == -EMFILE || status == -ENFILE ? -status : EIO;
}

/* On a worker: lays a view out, and finds the file that it is. */
static void make_object(struct wfs_job *job, void *scratch)
{
    struct wfs_request *r = wfs_request_of_job(job);
    struct wfs_handle *h = r->handle;
    int status = h->object ? 0 : wfs_node_object(h->node, &h->object, NULL);

    (void)scratch;
    if (status == 0 && !wfs_backing_join(r))
        status = wfs_backing_take(r);
    if (status < 0) {
        wfs_request_fail(r, errno_of_open(r, status));
        return;
    }
    reply_open(r);
}

/* Made here and now: it has to be there when the source hangs and all workers with it. */
static void take_snapshot(struct wfs_request *r)
{
    struct wfs_handle *h = r->handle;
    int status = wfs_fs_status_file(r->skin->fs, h->node, &h->snapshot, &h->snapshot_len);

    if (status < 0)
        wfs_request_fail(r, -status);
    else
        reply_open(r);
}

static void continue_open(struct wfs_request *r)
{
    enum wfs_node_kind kind;
    int status = 0;

    if (!r->id.generation)
        status = wfs_nodeids_get(r->skin->ids, r->skin->fs, r->ino, &r->id);
    /* ESTALE makes the kernel look the name up again, and so find the new generation's node. */
    if (status == 0 && !wfs_generation_is_current(r->skin->fs, r->id.generation))
        status = -ESTALE;
    if (status < 0) {
        wfs_request_fail(r, -status);
        return;
    }
    r->handle = wfs_handle_new(r->skin, &r->id);
    if (!r->handle) {
        wfs_request_fail(r, ENOMEM);
        return;
    }
    r->handle->object = wfs_node_object_get(r->id.node);
    kind = wfs_node_kind(r->id.node);
    if (kind == WFS_NODE_STATUS)
        take_snapshot(r);
    else if (kind == WFS_NODE_DIR || (r->handle->object && wfs_backing_join(r)))
        reply_open(r);
    else
        wfs_request_on_worker(r, make_object);
}

static struct wfs_request *start_open(fuse_req_t req, fuse_ino_t ino, const struct fuse_file_info *fi)
{
    struct wfs_request *r = wfs_request_new(req, ino);

    if (r)
        r->fi = *fi;
    return r;
}

void wfs_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct wfs_request *r;
    int status;

    if ((fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC)) {
        fuse_reply_err(req, EROFS);
        return;
    }
    r = start_open(req, ino, fi);
    if (!r)
        return;
    status = wfs_nodeids_get(r->skin->ids, r->skin->fs, ino, &r->id);
    if (status < 0)
        wfs_request_fail(r, -status);
    else if (wfs_node_kind(r->id.node) == WFS_NODE_STATUS)
        continue_open(r);
    else
        wfs_look_then(r, true, continue_open);
}

void wfs_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct wfs_request *r = start_open(req, ino, fi);

    /* The folder's id stands for the current generation's folder: found after the look. */
    if (r)
        wfs_look_then(r, false, continue_open);
}
