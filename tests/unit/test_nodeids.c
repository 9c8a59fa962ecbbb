/* Node ids over generations that the test makes up: ids, exact lookup counts, references given back. */
#include "check.h"

#include <stdio.h>

#include "nodeids.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

/* --- a filesystem of the test's own: what nodeids asks of fs/ --- */

struct wfs_node {
    enum wfs_node_kind kind;
    char path[32];
};

enum { N_FILES = 5000 };

struct wfs_generation {
    int refs;
    struct wfs_node root, folder, files[N_FILES];
};

struct wfs_fs {
    struct wfs_generation *current;
};

struct wfs_generation *wfs_generation_ref(struct wfs_generation *g)
{
    __atomic_add_fetch(&g->refs, 1, __ATOMIC_SEQ_CST);
    return g;
}

void wfs_generation_unref(struct wfs_generation *g)
{
    assert_true(__atomic_sub_fetch(&g->refs, 1, __ATOMIC_SEQ_CST) >= 0);
}

struct wfs_generation *wfs_fs_generation(struct wfs_fs *fs)
{
    return wfs_generation_ref(fs->current);
}

enum wfs_node_kind wfs_node_kind(const struct wfs_node *n)
{
    return n->kind;
}

const char *wfs_node_path(const struct wfs_node *n)
{
    return n->path;
}

const struct wfs_node *wfs_generation_find(const struct wfs_generation *g, const char *path)
{
    return strcmp(path, "") == 0 ? &g->root : strcmp(path, g->folder.path) == 0 ? &g->folder : NULL;
}

static struct wfs_generation *make_generation(const char *folder)
{
    struct wfs_generation *g = calloc(1, sizeof *g);

    assert_non_null(g);
    g->root = (struct wfs_node){ WFS_NODE_DIR, "" };
    g->folder.kind = WFS_NODE_DIR;
    strcpy(g->folder.path, folder);
    for (int i = 0; i < N_FILES; i++) {
        g->files[i].kind = WFS_NODE_FILE;
        snprintf(g->files[i].path, sizeof g->files[i].path, "f%d", i);
    }
    return g;
}

/* --- tests --- */

static void the_root_is_1_and_never_forgotten(void **state)
{
    struct wfs_generation *g = make_generation("tensors");
    struct wfs_fs fs = { g };
    struct wfs_nodeids *t;
    struct wfs_nodeid id;
    uint64_t n;

    (void)state;
    assert_int_equal(wfs_nodeids_new(&t), 0);
    wfs_nodeids_forget(t, 1, 100);
    assert_int_equal(wfs_nodeids_get(t, &fs, 1, &id), 0);
    assert_ptr_equal(id.node, &g->root);
    assert_int_equal(g->refs, 1);
    wfs_generation_unref(id.generation);
    assert_int_equal(wfs_nodeids_lookup(t, g, &g->root, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(wfs_nodeids_get(t, &fs, 0, &id), -ESTALE);
    assert_int_equal(wfs_nodeids_get(t, &fs, 2, &id), -ESTALE);
    assert_int_equal(wfs_nodeids_get(t, &fs, UINT64_MAX, &id), -ESTALE);
    wfs_nodeids_forget(t, 77, 1);
    wfs_nodeids_free(t);
    assert_int_equal(g->refs, 0);
    free(g);
}

static void lookups_are_counted_exactly(void **state)
{
    struct wfs_generation *g = make_generation("tensors");
    struct wfs_fs fs = { g };
    struct wfs_nodeids *t;
    struct wfs_nodeid id;
    uint64_t a, again, after;

    (void)state;
    assert_int_equal(wfs_nodeids_new(&t), 0);
    assert_int_equal(wfs_nodeids_lookup(t, g, &g->files[0], &a), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(wfs_nodeids_lookup(t, g, &g->files[0], &again), 0);
        assert_int_equal(a, again);
    }
    assert_int_equal(g->refs, 1); /* one id, one reference */
    wfs_nodeids_forget(t, a, 3);
    wfs_nodeids_forget(t, a, 1);
    assert_int_equal(wfs_nodeids_get(t, &fs, a, &id), 0);
    assert_ptr_equal(id.node, &g->files[0]);
    wfs_generation_unref(id.generation);
    wfs_nodeids_forget(t, a, 1);
    assert_int_equal(g->refs, 0);
    assert_int_equal(wfs_nodeids_get(t, &fs, a, &id), -ESTALE);
    assert_int_equal(wfs_nodeids_count(t), 1);
    assert_int_equal(wfs_nodeids_lookup(t, g, &g->files[0], &after), 0);
    assert_int_not_equal(after, a); /* its slot is used again, its id never */
    wfs_nodeids_free(t);
    assert_int_equal(g->refs, 0);
    free(g);
}

static void a_new_generation_has_new_files_and_the_same_folders(void **state)
{
    struct wfs_generation *old = make_generation("tensors"), *new = make_generation("tensors"),
        *bare = make_generation("other");
    struct wfs_fs fs = { old };
    uint64_t file, folder, new_file, new_folder;
    struct wfs_nodeids *t;
    struct wfs_nodeid id;

    (void)state;
    assert_int_equal(wfs_nodeids_new(&t), 0);
    assert_int_equal(wfs_nodeids_lookup(t, old, &old->files[7], &file), 0);
    assert_int_equal(wfs_nodeids_lookup(t, old, &old->folder, &folder), 0);
    fs.current = new;
    assert_int_equal(wfs_nodeids_lookup(t, new, &new->files[7], &new_file), 0);
    assert_int_equal(wfs_nodeids_lookup(t, new, &new->folder, &new_folder), 0);
    assert_int_not_equal(file, new_file);
    assert_int_equal(folder, new_folder);
    assert_int_equal(wfs_nodeids_get(t, &fs, file, &id), 0); /* the old file is still the old generation's */
    assert_ptr_equal(id.generation, old);
    assert_ptr_equal(id.node, &old->files[7]);
    wfs_generation_unref(old);
    assert_int_equal(wfs_nodeids_get(t, &fs, folder, &id), 0);
    assert_ptr_equal(id.node, &new->folder);
    wfs_generation_unref(new);
    fs.current = bare; /* the folder is gone */
    assert_int_equal(wfs_nodeids_get(t, &fs, folder, &id), -ESTALE);
    assert_int_equal(bare->refs, 0);
    assert_int_equal(old->refs, 1);
    assert_int_equal(new->refs, 1);
    wfs_nodeids_forget(t, folder, 2);
    assert_int_equal(wfs_nodeids_count(t), 3);
    wfs_nodeids_free(t);
    assert_int_equal(old->refs, 0);
    assert_int_equal(new->refs, 0);
    free(old);
    free(new);
    free(bare);
}

static void stale_files_are_found_by_folder_and_name(void **state)
{
    struct wfs_generation *old = make_generation("tensors"), *new = make_generation("tensors");
    struct wfs_stale stale[4];
    struct wfs_nodeids *t;
    uint64_t ids[4], folder;
    size_t cursor = 0;

    (void)state;
    strcpy(old->files[1].path, "tensors/a.npy");
    strcpy(old->files[2].path, "gone/b.npy"); /* a folder that the kernel does not know */
    assert_int_equal(wfs_nodeids_new(&t), 0);
    assert_int_equal(wfs_nodeids_lookup(t, old, &old->folder, &folder), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(wfs_nodeids_lookup(t, old, &old->files[i], &ids[i]), 0);
    assert_int_equal(wfs_nodeids_lookup(t, new, &new->files[0], &ids[3]), 0);
    assert_int_equal(wfs_nodeids_stale(t, new, &cursor, stale, 4), 2);
    assert_int_equal(stale[0].parent, 1);
    assert_string_equal(stale[0].name, "f0");
    assert_int_equal(stale[1].parent, folder);
    assert_string_equal(stale[1].name, "a.npy");
    cursor = 0;
    assert_int_equal(wfs_nodeids_stale(t, new, &cursor, stale, 1), 1);
    assert_int_equal(wfs_nodeids_stale(t, new, &cursor, stale, 1), 1);
    assert_string_equal(stale[0].name, "a.npy");
    assert_int_equal(wfs_nodeids_stale(t, new, &cursor, stale, 1), 0);
    cursor = 0;
    assert_int_equal(wfs_nodeids_stale(t, old, &cursor, stale, 4), 1);
    assert_string_equal(stale[0].name, "f0");
    wfs_nodeids_free(t);
    free(old);
    free(new);
}

static void many_ids_are_all_different(void **state)
{
    struct wfs_generation *g = make_generation("tensors");
    struct wfs_fs fs = { g };
    static uint64_t ids[N_FILES];
    struct wfs_nodeids *t;
    struct wfs_nodeid id;

    (void)state;
    assert_int_equal(wfs_nodeids_new(&t), 0);
    for (int i = 0; i < N_FILES; i++)
        assert_int_equal(wfs_nodeids_lookup(t, g, &g->files[i], &ids[i]), 0);
    assert_int_equal(wfs_nodeids_count(t), N_FILES + 1);
    for (int i = 0; i < N_FILES; i++) {
        assert_int_equal(wfs_nodeids_get(t, &fs, ids[i], &id), 0);
        assert_ptr_equal(id.node, &g->files[i]);
        wfs_generation_unref(g);
    }
    for (int i = 0; i < N_FILES; i += 2)
        wfs_nodeids_forget(t, ids[i], 1);
    assert_int_equal(g->refs, N_FILES / 2);
    for (int i = 0; i < N_FILES; i++) {
        int r = wfs_nodeids_get(t, &fs, ids[i], &id);

        assert_int_equal(r, i % 2 ? 0 : -ESTALE);
        if (r == 0)
            wfs_generation_unref(id.generation);
    }
    wfs_nodeids_free(t);
    assert_int_equal(g->refs, 0);
    free(g);
}

struct shared {
    struct wfs_nodeids *t;
    struct wfs_generation *g;
};

static void *look_up_and_forget(void *arg)
{
    struct shared *s = arg;

    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 200; i++) {
            uint64_t id;

            if (wfs_nodeids_lookup(s->t, s->g, &s->g->files[i], &id) == 0)
                wfs_nodeids_forget(s->t, id, 1);
        }
    }
    return NULL;
}

static void threads_leave_nothing_behind(void **state)
{
    struct shared s = { .g = make_generation("tensors") };
    pthread_t threads[4];

    (void)state;
    assert_int_equal(wfs_nodeids_new(&s.t), 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, look_up_and_forget, &s);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(wfs_nodeids_count(s.t), 1);
    assert_int_equal(s.g->refs, 0);
    wfs_nodeids_free(s.t);
    free(s.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_is_1_and_never_forgotten),
        cmocka_unit_test(lookups_are_counted_exactly),
        cmocka_unit_test(a_new_generation_has_new_files_and_the_same_folders),
        cmocka_unit_test(stale_files_are_found_by_folder_and_name),
        cmocka_unit_test(many_ids_are_all_different),
        cmocka_unit_test(threads_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
