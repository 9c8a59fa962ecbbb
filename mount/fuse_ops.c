#include "fuse_ops.h"

#include "fuse_skin.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Together with the 200 ms between two looks at the source, a changed file is seen by name within a second. */
#define ENTRY_TIMEOUT 0.75
#define FOREVER 86400.0

/* --- the skin and its requests --- */

int wfs_skin_new(struct wfs_fs *fs, const struct wfs_options *options, struct wfs_skin **ret)
{
    struct wfs_skin *skin = calloc(1, sizeof *skin);
    int r;

    if (!skin)
        return -ENOMEM;
    if (wfs_nodeids_new(&skin->ids) < 0) {
        free(skin);
        return -ENOMEM;
    }
    skin->fs = fs;
    skin->engine = wfs_fs_engine(fs);
    skin->uid = options->uid;
    skin->gid = options->gid;
    skin->mode_mask = options->mode_mask;
    pthread_mutex_init(&skin->lock, NULL);
    pthread_cond_init(&skin->idle, NULL);
    r = wfs_timers_init(&skin->timers);
    if (r < 0) {
        wfs_nodeids_free(skin->ids);
        free(skin);
        return r;
    }
    *ret = skin;
    return 0;
}

void wfs_skin_free(struct wfs_skin *skin)
{
    if (!skin)
        return;
    assert(skin->n_requests == 0);
    wfs_timers_done(&skin->timers);
    wfs_backings_free(skin);
    while (skin->handles) /* a mount that was cut off hears of no RELEASE */
        wfs_handle_unref(skin->handles);
    wfs_nodeids_free(skin->ids);
    pthread_cond_destroy(&skin->idle);
    pthread_mutex_destroy(&skin->lock);
    free(skin);
}

void wfs_skin_begin(struct wfs_skin *skin)
{
    pthread_mutex_lock(&skin->lock);
    skin->n_requests++;
    pthread_mutex_unlock(&skin->lock);
}

void wfs_skin_finish(struct wfs_skin *skin)
{
    pthread_mutex_lock(&skin->lock);
    assert(skin->n_requests > 0);
    if (--skin->n_requests == 0)
        pthread_cond_broadcast(&skin->idle);
    pthread_mutex_unlock(&skin->lock);
}

void wfs_skin_wait_idle(struct wfs_skin *skin)
{
    pthread_mutex_lock(&skin->lock);
    while (skin->n_requests > 0)
        pthread_cond_wait(&skin->idle, &skin->lock);
    pthread_mutex_unlock(&skin->lock);
}

struct wfs_request *wfs_request_new(fuse_req_t req, fuse_ino_t ino)
{
    struct wfs_request *r = calloc(1, sizeof *r);

    if (!r) {
        fuse_reply_err(req, ENOMEM);
        return NULL;
    }
    r->skin = fuse_req_userdata(req);
    r->req = req;
    r->ino = ino;
    wfs_skin_begin(r->skin);
    return r;
}

void wfs_request_end(struct wfs_request *r)
{
    struct wfs_skin *skin = r->skin;

    wfs_handle_unref(r->handle);
    if (r->id.generation)
        wfs_generation_unref(r->id.generation);
    free(r);
    wfs_skin_finish(skin);
}

void wfs_request_fail(struct wfs_request *r, int error)
{
    fuse_reply_err(r->req, error);
    wfs_request_end(r);
}

void wfs_request_on_worker(struct wfs_request *r, void (*run)(struct wfs_job *job, void *scratch))
{
    r->job = (struct wfs_job){ .priority = WFS_FOREGROUND, .run = run };
    wfs_pool_submit(wfs_engine_pool(r->skin->engine), &r->job);
}

struct wfs_request *wfs_request_of_job(struct wfs_job *job)
{
    return (struct wfs_request *)((char *)job - offsetof(struct wfs_request, job));
}

struct wfs_handle *wfs_handle_new(struct wfs_skin *skin, const struct wfs_nodeid *id)
{
    struct wfs_handle *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    atomic_init(&h->n_refs, 1);
    h->skin = skin;
    h->generation = wfs_generation_ref(id->generation);
    h->node = id->node;
    pthread_mutex_lock(&skin->lock);
    h->next = skin->handles;
    if (h->next)
        h->next->previous = h;
    skin->handles = h;
    pthread_mutex_unlock(&skin->lock);
    return h;
}

struct wfs_handle *wfs_handle_ref(struct wfs_handle *h)
{
    atomic_fetch_add(&h->n_refs, 1);
    return h;
}

void wfs_handle_unref(struct wfs_handle *h)
{
    if (!h || atomic_fetch_sub(&h->n_refs, 1) > 1)
        return;
    pthread_mutex_lock(&h->skin->lock);
    if (h->previous)
        h->previous->next = h->next;
    else
        h->skin->handles = h->next;
    if (h->next)
        h->next->previous = h->previous;
    pthread_mutex_unlock(&h->skin->lock);
    wfs_backing_leave(h);
    if (h->object)
        wfs_node_object_put(h->node);
    wfs_generation_unref(h->generation);
    free(h->snapshot);
    free(h);
}

struct wfs_handle *wfs_handle_of(const struct fuse_file_info *fi)
{
    return (struct wfs_handle *)(uintptr_t)fi->fh;
}

void wfs_skin_attributes(const struct wfs_skin *skin, const struct wfs_node *node, struct stat *ret)
{
    memset(ret, 0, sizeof *ret);
    wfs_node_stat(node, ret);
    ret->st_mode &= ~(mode_t)skin->mode_mask;
    ret->st_uid = skin->uid;
    ret->st_gid = skin->gid;
    ret->st_atim = ret->st_mtim;
    ret->st_ctim = ret->st_mtim;
    /* What cp and cat take for the size of their reads: large requests keep all workers busy. */
    ret->st_blksize = wfs_node_kind(node) == WFS_NODE_FILE ? WFS_MAX_READ : 4096;
}

double wfs_skin_attribute_timeout(const struct wfs_node *node)
{
    return wfs_node_kind(node) == WFS_NODE_DIR ? ENTRY_TIMEOUT : FOREVER;
}

int wfs_skin_entry(struct wfs_skin *skin, struct wfs_generation *g, const struct wfs_node *node,
                   struct fuse_entry_param *ret)
{
    uint64_t id;
    int r = wfs_nodeids_lookup(skin->ids, g, node, &id);

    if (r < 0)
        return r;
    memset(ret, 0, sizeof *ret);
    ret->ino = id;
    ret->generation = 1; /* ids are never used again, so they need no generation of their own */
    wfs_skin_attributes(skin, node, &ret->attr);
    ret->entry_timeout = ENTRY_TIMEOUT;
    ret->attr_timeout = wfs_skin_attribute_timeout(node);
    return 0;
}

/* --- callbacks that never wait --- */

/* Takes a wanted capability if the kernel has it. */
static void want(struct fuse_conn_info *conn, unsigned capability)
{
    if (conn->capable & capability)
        conn->want |= capability;
}

static void op_init(void *ctx, struct fuse_conn_info *conn)
{
    wfs_backings_negotiate(ctx, conn);
    conn->max_read = WFS_MAX_READ;
    conn->max_readahead = WFS_MAX_READ;
    conn->max_write = WFS_MAX_READ; /* libfuse takes the pages of one request from it */
    conn->max_background = 4096; /* what waits for a source that hangs must not keep other views' reads in the kernel */
    conn->congestion_threshold = 48;
    conn->time_gran = 1;
    want(conn, FUSE_CAP_ASYNC_READ);
    want(conn, FUSE_CAP_ASYNC_DIO);
    want(conn, FUSE_CAP_PARALLEL_DIROPS);
    want(conn, FUSE_CAP_READDIRPLUS);
    want(conn, FUSE_CAP_READDIRPLUS_AUTO);
#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
    want(conn, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);
#endif
    /* Splicing gains nothing for computed bytes. */
    conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
    /* A node's bytes never change: no check by time and size. */
    conn->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct wfs_skin *skin = fuse_req_userdata(req);
    struct wfs_nodeid id;
    struct stat st;
    int r;

    (void)fi;
    r = wfs_nodeids_get(skin->ids, skin->fs, ino, &id);
    if (r < 0) {
        fuse_reply_err(req, -r);
        return;
    }
    wfs_skin_attributes(skin, id.node, &st);
    fuse_reply_attr(req, &st, wfs_skin_attribute_timeout(id.node));
    wfs_generation_unref(id.generation);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
    struct wfs_skin *skin = fuse_req_userdata(req);

    wfs_nodeids_forget(skin->ids, ino, n);
    fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    struct wfs_skin *skin = fuse_req_userdata(req);

    for (size_t i = 0; i < count; i++)
        wfs_nodeids_forget(skin->ids, forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(req);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    wfs_handle_unref(wfs_handle_of(fi));
    fuse_reply_err(req, 0);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    (void)ino;
    (void)name;
    (void)size;
    fuse_reply_err(req, ENODATA);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    (void)ino;
    if (size == 0)
        fuse_reply_xattr(req, 0);
    else
        fuse_reply_buf(req, NULL, 0);
}

/* --- callbacks that would change something: the mount is read-only, and stays so when it is remounted rw --- */

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
    (void)ino, (void)attr, (void)to_set, (void)fi;
    fuse_reply_err(req, EROFS);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
    (void)parent, (void)name, (void)mode, (void)dev;
    fuse_reply_err(req, EROFS);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    (void)parent, (void)name, (void)mode;
    fuse_reply_err(req, EROFS);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    (void)parent, (void)name;
    fuse_reply_err(req, EROFS);
}

static void op_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
    (void)link, (void)parent, (void)name;
    fuse_reply_err(req, EROFS);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
                      unsigned flags)
{
    (void)parent, (void)name, (void)new_parent, (void)new_name, (void)flags;
    fuse_reply_err(req, EROFS);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name)
{
    (void)ino, (void)new_parent, (void)new_name;
    fuse_reply_err(req, EROFS);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
    (void)parent, (void)name, (void)mode, (void)fi;
    fuse_reply_err(req, EROFS);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t offset,
                     struct fuse_file_info *fi)
{
    (void)ino, (void)buf, (void)size, (void)offset, (void)fi;
    fuse_reply_err(req, EROFS);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t len, struct fuse_file_info *fi)
{
    (void)ino, (void)mode, (void)offset, (void)len, (void)fi;
    fuse_reply_err(req, EROFS);
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
    (void)ino, (void)name, (void)value, (void)size, (void)flags;
    fuse_reply_err(req, EROFS);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    (void)ino, (void)name;
    fuse_reply_err(req, EROFS);
}

const struct fuse_lowlevel_ops wfs_fuse_ops = {
    .init = op_init,
    .lookup = wfs_op_lookup,
    .forget = op_forget,
    .forget_multi = op_forget_multi,
    .getattr = op_getattr,
    .open = wfs_op_open,
    .read = wfs_op_read,
    .release = op_release,
    .opendir = wfs_op_opendir,
    .readdir = wfs_op_readdir,
    .readdirplus = wfs_op_readdirplus,
    .releasedir = op_release,
    .statfs = wfs_op_statfs,
    .getxattr = op_getxattr,
    .listxattr = op_listxattr,
    .setattr = op_setattr,
    .mknod = op_mknod,
    .mkdir = op_mkdir,
    .unlink = op_unlink,
    .rmdir = op_unlink,
    .symlink = op_symlink,
    .rename = op_rename,
    .link = op_link,
    .create = op_create,
    .write = op_write,
    .fallocate = op_fallocate,
    .setxattr = op_setxattr,
    .removexattr = op_removexattr,
};
