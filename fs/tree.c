#include "tree.h"
#include "generation.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { ROOT_INO = 1, BLOCK_BYTES = 512 };

/* The same path has the same number in every mount; 0 means "none" to many programs, 1 is the root's. */
static uint64_t hash_path(const char *path)
{
    uint64_t h = XXH3_64bits(path, strlen(path));

    return h > ROOT_INO ? h : h + 2;
}

static struct wfs_node *append(struct wfs_tree *t, const char *path, size_t len, enum wfs_node_kind kind,
                               uint32_t parent)
{
    struct wfs_generation *g = t->nodes[0].generation;
    struct wfs_node *n;

    if (t->n_nodes == t->cap) {
        size_t cap = t->cap * 2;
        struct wfs_node *grown = reallocarray(t->nodes, cap, sizeof *grown);

        if (!grown)
            return NULL;
        t->nodes = grown;
        t->cap = cap;
    }
    n = &t->nodes[t->n_nodes];
    memset(n, 0, sizeof *n);
    n->path = strndup(path, len);
    if (!n->path)
        return NULL;
    if (wfs_map_add(&t->by_path, n->path, len, (uint32_t)t->n_nodes, NULL) < 0) {
        free(n->path);
        return NULL;
    }
    n->generation = g;
    n->kind = (uint8_t)kind;
    n->parent = parent;
    n->ino = hash_path(n->path);
    n->name_at = strrchr(n->path, '/') ? (uint32_t)(strrchr(n->path, '/') + 1 - n->path) : 0;
    n->state = kind == WFS_NODE_DIR ? WFS_STATE_READY : WFS_STATE_PENDING;
    t->n_nodes++;
    return n;
}

int wfs_tree_init(struct wfs_tree *t, struct wfs_generation *g)
{
    memset(t, 0, sizeof *t);
    wfs_map_init(&t->by_path);
    t->cap = 16;
    t->nodes = calloc(t->cap, sizeof *t->nodes);
    if (!t->nodes)
        return -ENOMEM;
    t->nodes[0].generation = g;
    if (!append(t, "", 0, WFS_NODE_DIR, 0))
        return -ENOMEM;
    t->nodes[0].ino = ROOT_INO;
    t->nodes[0].listed = true;
    return 0;
}

void wfs_tree_done(struct wfs_tree *t)
{
    for (size_t i = 0; i < t->n_nodes; i++) {
        free(t->nodes[i].path);
        free(t->nodes[i].reason);
    }
    free(t->nodes);
    free(t->order);
    wfs_map_done(&t->by_path);
    memset(t, 0, sizeof *t);
}

struct wfs_node *wfs_tree_find(const struct wfs_tree *t, const char *path, size_t len)
{
    uint32_t at;

    return wfs_map_get(&t->by_path, path, len, &at) ? &t->nodes[at] : NULL;
}

/* The folder above path, made when needed. 1 and its index; 0 when something on the way is a file; -ENOMEM. */
static int make_parents(struct wfs_tree *t, const char *path, uint32_t *ret)
{
    *ret = 0;
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t len = (size_t)(slash - path);
        struct wfs_node *n = wfs_tree_find(t, path, len);

        if (!n)
            n = append(t, path, len, WFS_NODE_DIR, *ret);
        if (!n)
            return -ENOMEM;
        if (n->kind != WFS_NODE_DIR)
            return 0;
        *ret = (uint32_t)(n - t->nodes);
    }
    return 1;
}

int wfs_tree_add(struct wfs_tree *t, const char *path, enum wfs_node_kind kind, struct wfs_node **ret)
{
    size_t len = strlen(path);
    struct wfs_node *n = wfs_tree_find(t, path, len);
    uint32_t parent;
    int r;

    if (n) {
        if (n->kind == WFS_NODE_DIR && kind == WFS_NODE_DIR)
            *ret = n;
        return 0;
    }
    r = make_parents(t, path, &parent);
    if (r <= 0)
        return r;
    n = append(t, path, len, kind, parent);
    if (!n)
        return -ENOMEM;
    *ret = n;
    return 1;
}

static int compare_order(const void *a, const void *b, void *ctx)
{
    const struct wfs_node *nodes = ctx, *x = &nodes[*(const uint32_t *)a], *y = &nodes[*(const uint32_t *)b];

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->listed != y->listed)
        return x->listed ? -1 : 1;
    return strcmp(x->path + x->name_at, y->path + y->name_at);
}

int wfs_tree_finish(struct wfs_tree *t)
{
    size_t count = t->n_nodes - 1;

    t->order = malloc((count + 1) * sizeof *t->order);
    if (!t->order)
        return -ENOMEM;
    /* A folder comes before what is in it, so this direction carries "listed" all the way up. */
    for (size_t i = count; i > 0; i--) {
        if (t->nodes[i].listed)
            t->nodes[t->nodes[i].parent].listed = true;
        t->order[i - 1] = (uint32_t)i;
    }
    qsort_r(t->order, count, sizeof *t->order, compare_order, t->nodes);
    for (size_t i = 0; i < count; i++) {
        const struct wfs_node *n = &t->nodes[t->order[i]];
        struct wfs_node *dir = &t->nodes[n->parent];

        if (!n->listed)
            continue;
        if (dir->children.count++ == 0)
            dir->children.first = (uint32_t)i;
        dir->children.n_folders += n->kind == WFS_NODE_DIR;
    }
    return 0;
}

int wfs_node_withhold(struct wfs_node *n, const char *reason)
{
    n->reason = strdup(reason);
    n->state = WFS_STATE_WITHHELD;
    return n->reason ? 0 : -ENOMEM;
}

const struct wfs_node *wfs_generation_root(const struct wfs_generation *g)
{
    return &g->tree.nodes[0];
}

const struct wfs_node *wfs_generation_find(const struct wfs_generation *g, const char *path)
{
    return wfs_tree_find(&g->tree, path, strlen(path));
}

const struct wfs_node *wfs_node_lookup(const struct wfs_node *dir, const char *name)
{
    size_t dir_len = strlen(dir->path), name_len = strlen(name);
    char path[PATH_MAX];

    if (dir->kind != WFS_NODE_DIR || name_len == 0 || strchr(name, '/') || dir_len + 1 + name_len >= sizeof path)
        return NULL;
    if (dir_len == 0)
        return wfs_tree_find(&dir->generation->tree, name, name_len);
    memcpy(path, dir->path, dir_len);
    path[dir_len] = '/';
    memcpy(path + dir_len + 1, name, name_len);
    return wfs_tree_find(&dir->generation->tree, path, dir_len + 1 + name_len);
}

const struct wfs_node *wfs_node_child(const struct wfs_node *dir, size_t index)
{
    const struct wfs_tree *t = &dir->generation->tree;

    if (dir->kind != WFS_NODE_DIR || index >= dir->children.count)
        return NULL;
    return &t->nodes[t->order[dir->children.first + index]];
}

enum wfs_node_kind wfs_node_kind(const struct wfs_node *n)
{
    return (enum wfs_node_kind)n->kind;
}

const char *wfs_node_name(const struct wfs_node *n)
{
    return n->path + n->name_at;
}

const char *wfs_node_path(const struct wfs_node *n)
{
    return n->path;
}

uint64_t wfs_node_ino(const struct wfs_node *n)
{
    return n->ino;
}

void wfs_node_stat(const struct wfs_node *n, struct stat *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->st_ino = n->ino;
    ret->st_mtim = ret->st_ctim = ret->st_atim = n->mtime;
    if (n->kind == WFS_NODE_DIR) {
        ret->st_mode = S_IFDIR | 0555;
        ret->st_nlink = 2 + n->children.n_folders;
        return;
    }
    ret->st_mode = S_IFREG | 0444;
    ret->st_nlink = 1;
    ret->st_size = (off_t)n->size;
    ret->st_blksize = 1 << 20;
    ret->st_blocks = (blkcnt_t)(n->size / BLOCK_BYTES + (n->size % BLOCK_BYTES != 0));
}
