/*
 * The kernel's node ids. A file's id stands for one node of one generation, and holds a reference to that generation;
 * a folder's id stands for its path, and so for the current generation's folder of that path. An id is never used
 * again for something else. The kernel's lookups are counted: with the last one forgotten an id is gone. Thread-safe.
 */
#ifndef WFS_MOUNT_NODEIDS_H
#define WFS_MOUNT_NODEIDS_H

#include "fs/fs.h"

#include <stddef.h>
#include <stdint.h>

enum { WFS_NODEID_ROOT = 1 }; /* FUSE_ROOT_ID: always there, never forgotten */

struct wfs_nodeids;

/* What an id stands for; generation is a reference that the caller gives back. */
struct wfs_nodeid {
    struct wfs_generation *generation;
    const struct wfs_node *node;
};

int wfs_nodeids_new(struct wfs_nodeids **ret);
void wfs_nodeids_free(struct wfs_nodeids *t); /* gives every reference back */

/* The id of a node of generation g (made now if it has none), with one lookup more. 0 or -ENOMEM. */
int wfs_nodeids_lookup(struct wfs_nodeids *t, struct wfs_generation *g, const struct wfs_node *node, uint64_t *ret_id);

void wfs_nodeids_forget(struct wfs_nodeids *t, uint64_t id, uint64_t n_lookups);

/* 0, or -ESTALE when the id is not known or its folder is not in fs's current generation. */
int wfs_nodeids_get(struct wfs_nodeids *t, struct wfs_fs *fs, uint64_t id, struct wfs_nodeid *ret);

/* A file of a generation that is not current any more, as the kernel may still know it: by its folder and its name. */
struct wfs_stale {
    uint64_t parent; /* the folder's id */
    char name[256];
};

/*
 * The next stale files, at most max of them. *cursor is 0 at first, and carried on; fewer than max are returned at the
 * end. What comes and goes meanwhile may be missed.
 */
size_t wfs_nodeids_stale(struct wfs_nodeids *t, const struct wfs_generation *current, size_t *cursor,
                         struct wfs_stale *ret, size_t max);

size_t wfs_nodeids_count(struct wfs_nodeids *t); /* for tests; with the root */

#endif
