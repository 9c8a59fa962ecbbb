/* Private to fs: the tree of names of one generation, built by append and then fixed. */
#ifndef WFS_FS_TREE_H
#define WFS_FS_TREE_H

#include "base/map.h"
#include "fs.h"

#include <stdatomic.h>

struct wfs_view; /* view.h */
struct wfs_view_object;

enum wfs_node_state { WFS_STATE_PENDING, WFS_STATE_READY, WFS_STATE_WITHHELD };

struct wfs_node {
    struct wfs_generation *generation;
    char *path;                  /* owned */
    const struct wfs_view *view; /* what kind of view a file is; NULL for folders */
    char *reason;                /* owned; why it is withheld */
    struct timespec mtime;
    uint64_t ino, size; /* size: set before state is READY */
    union {
        struct { /* of a folder, after wfs_tree_finish */
            uint32_t first, count; /* of its listed children, in the tree's order */
            uint32_t n_folders;    /* among them */
        } children;
        struct { /* of a file; protected by the generation's lock */
            struct wfs_view_object *object; /* NULL when not in use */
            uint64_t object_id; /* of the engine's last object, whose tiles may still be there; 0 = never */
        };
    };
    uint32_t name_at; /* where the name starts in path */
    uint32_t parent;  /* index of the folder */
    uint32_t arg;     /* what the view shows: index of a source file, a tensor, a format */
    uint8_t kind;     /* enum wfs_node_kind */
    bool raw;         /* npy: the twin with the bits */
    bool listed;      /* by readdir */
    bool unusual;     /* only opens by name; nothing is said when it is withheld unless somebody asks */
    _Atomic uint8_t state;
};

struct wfs_tree {
    struct wfs_node *nodes; /* nodes[0] is the root */
    size_t n_nodes, cap;
    uint32_t *order; /* after wfs_tree_finish: all nodes but the root by parent, listed ones first, then by name */
    struct wfs_map by_path;
};

int wfs_tree_init(struct wfs_tree *t, struct wfs_generation *g); /* 0 or -ENOMEM */
void wfs_tree_done(struct wfs_tree *t);

/*
 * Adds a file or folder at path, and the folders above it. 1 and *ret, valid until the next add; 0 when the path is
 * taken (folders: when the folder is there already; then *ret is it) or a part of the way is a file: whoever came first
 * keeps a name. -ENOMEM.
 */
int wfs_tree_add(struct wfs_tree *t, const char *path, enum wfs_node_kind kind, struct wfs_node **ret);

/* Fixes the tree: order, children. Folders that hold something listed are listed. 0 or -ENOMEM. */
int wfs_tree_finish(struct wfs_tree *t);

/* The node at path (len bytes), or NULL. */
struct wfs_node *wfs_tree_find(const struct wfs_tree *t, const char *path, size_t len);

/* Withholds a node (before it is settled). 0 or -ENOMEM. */
int wfs_node_withhold(struct wfs_node *n, const char *reason);

#endif
