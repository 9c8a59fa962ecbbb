/*
 * What the FUSE callbacks share. Every callback is a few lines: it starts a request, hands what may wait to the
 * filesystem, and a continuation replies from whichever thread the answer comes on. No FUSE thread ever waits.
 */
#ifndef WFS_MOUNT_FUSE_SKIN_H
#define WFS_MOUNT_FUSE_SKIN_H

#include "fuse_ops.h"
#include "fuse_timer.h"
#include "nodeids.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct wfs_skin {
    struct wfs_fs *fs;
    struct wfs_engine *engine;
    struct wfs_nodeids *ids;
    uid_t uid;
    gid_t gid;
    unsigned mode_mask;

    pthread_mutex_t lock;
    pthread_cond_t idle;
    size_t n_requests; /* not answered yet; protected by lock */
    struct wfs_handle *handles; /* all that are open; protected by lock */
    /* What statfs says, summed once per generation; protected by lock. */
    uint64_t summed_generation, total_bytes, n_files;

    /* Letting old generations go (fuse_prune.c). */
    struct fuse_session *session;
    pthread_t pruner;
    bool pruner_runs;
    pthread_cond_t prune_wanted;
    uint64_t pruned_generation; /* all before it are let go, or about to be; protected by lock */
    bool prune;                 /* protected by lock */

    struct wfs_timers timers;  /* looks at the source, and reads that were interrupted */
    atomic_bool source_hangs;  /* a look has been under way for longer than one waits for it */

    struct wfs_backings *backings; /* files that the kernel reads by itself (fuse_backing.c); NULL: there are none */
};

/*
 * An open file or folder. Holds its generation; the last reference (the kernel's open file, or a read still under way)
 * frees it.
 */
struct wfs_handle {
    atomic_uint n_refs;
    struct wfs_generation *generation;
    const struct wfs_node *node;
    struct wfs_object *object; /* a file's */
    uint8_t *snapshot;         /* of status.json, owned */
    size_t snapshot_len;
    struct wfs_backing *backing; /* a file's, or NULL */
    struct wfs_skin *skin;
    struct wfs_handle *previous, *next; /* in the skin's list; protected by its lock */
};

struct wfs_handle *wfs_handle_new(struct wfs_skin *skin, const struct wfs_nodeid *id); /* refers to id's generation */
struct wfs_handle *wfs_handle_ref(struct wfs_handle *h);
void wfs_handle_unref(struct wfs_handle *h);
struct wfs_handle *wfs_handle_of(const struct fuse_file_info *fi);

/* A request that is answered later. */
struct wfs_request {
    struct wfs_skin *skin;
    fuse_req_t req;
    fuse_ino_t ino;
    struct wfs_nodeid id; /* what ino stands for; or, for a lookup, what was found */
    struct fuse_file_info fi;
    struct wfs_job job; /* for a step on a worker */
    struct wfs_handle *handle;
    size_t size; /* readdir: of the answer */
    off_t offset;
    bool plus;
    char name[256]; /* lookup */
};

/* Starts a request; NULL after an answer of ENOMEM. */
struct wfs_request *wfs_request_new(fuse_req_t req, fuse_ino_t ino);
void wfs_request_end(struct wfs_request *r); /* after the answer */
void wfs_request_fail(struct wfs_request *r, int error); /* answers with a positive errno and ends it */
void wfs_request_on_worker(struct wfs_request *r, void (*run)(struct wfs_job *job, void *scratch));
struct wfs_request *wfs_request_of_job(struct wfs_job *job);

/*
 * Has the source looked at and goes on with then(r), at once or from another thread. Patiently: however long the look
 * takes, or until a signal to who waits, which is answered with EINTR; else with what is known when the source hangs.
 */
void wfs_look_then(struct wfs_request *r, bool patiently, void (*then)(struct wfs_request *r));

/* Goes on once the node (the request keeps its generation) is ready, as patiently. */
void wfs_ready_then(struct wfs_request *r, const struct wfs_node *node, void (*then)(struct wfs_request *r));

/* After a look: when there is a new generation, has the kernel let go of the files of the old ones. */
void wfs_prune_check(struct wfs_skin *skin);

/*
 * Passthrough: whoever reads a file that is on disk as a whole has the kernel read that one, without a request to us.
 * The kernel wants one mode for all who have a file open, and the same backing file: so whoever opens it first decides.
 * join: true when the request's handle can be answered for at once; else take, on a worker: 0 or a negative errno.
 */
bool wfs_backing_join(struct wfs_request *r);
int wfs_backing_take(struct wfs_request *r);
void wfs_backing_reply(const struct wfs_handle *h, struct fuse_file_info *fi); /* how the open is answered */
void wfs_backing_leave(struct wfs_handle *h);

void wfs_backings_negotiate(struct wfs_skin *skin, struct fuse_conn_info *conn); /* with the kernel, as it starts */
void wfs_backings_free(struct wfs_skin *skin); /* when the connection has ended */

/* A node's attributes with the mount's owner and mode; how long the kernel may keep them (a file's never change). */
void wfs_skin_attributes(const struct wfs_skin *skin, const struct wfs_node *node, struct stat *ret);
double wfs_skin_attribute_timeout(const struct wfs_node *node);

/* Fills an entry for a lookup or readdirplus and counts the lookup. 0 or -ENOMEM. */
int wfs_skin_entry(struct wfs_skin *skin, struct wfs_generation *g, const struct wfs_node *node,
                   struct fuse_entry_param *ret);

/* The callbacks by file. */
void wfs_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void wfs_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void wfs_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void wfs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);
void wfs_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);
void wfs_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);
void wfs_op_statfs(fuse_req_t req, fuse_ino_t ino);

#endif
