/* Reads: the engine's pinned pieces go to the kernel as they are. */
#include "fuse_skin.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(WFS_MAX_IOV < IOV_MAX, "one writev takes a read's pieces, and libfuse's header in front of them");

struct read_request {
    struct wfs_read read;
    struct wfs_skin *skin;
    fuse_req_t req;
    struct wfs_handle *handle;
};

static void end_read(struct wfs_read *read)
{
    struct read_request *r = (struct read_request *)((char *)read - offsetof(struct read_request, read));
    struct wfs_skin *skin = r->skin;

    if (read->result < 0) /* whatever it was (a source that changed, too): an old handle gets EIO, never other bytes */
        fuse_reply_err(r->req, read->result == -ENOMEM ? ENOMEM : EIO);
    else
        fuse_reply_iov(r->req, read->iov, read->n_iov);
    wfs_engine_read_done(skin->engine, read);
    wfs_handle_unref(r->handle);
    free(r);
    wfs_skin_finish(skin);
}

static void read_snapshot(fuse_req_t req, struct wfs_handle *h, size_t size, uint64_t offset)
{
    size_t left = offset < h->snapshot_len ? h->snapshot_len - (size_t)offset : 0;

    wfs_handle_ref(h); /* the reader may have its answer, and have closed the file, before the reply returns */
    fuse_reply_buf(req, left ? (const char *)h->snapshot + offset : NULL, size < left ? size : left);
    wfs_handle_unref(h);
}

void wfs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    struct wfs_skin *skin = fuse_req_userdata(req);
    struct wfs_handle *h = wfs_handle_of(fi);
    struct read_request *r;

    (void)ino;
    if (!h->object) {
        read_snapshot(req, h, size, (uint64_t)offset);
        return;
    }
    r = calloc(1, sizeof *r);
    if (!r) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    r->skin = skin;
    r->req = req;
    r->handle = wfs_handle_ref(h);
    r->read = (struct wfs_read){ .object = h->object, .offset = (uint64_t)offset, .len = size, .done = end_read };
    wfs_skin_begin(skin);
    wfs_engine_read(skin->engine, &r->read);
}
