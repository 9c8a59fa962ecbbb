/*
 * Which files of a folder make its model. Where readers differ, the tensors follow the pinned converter
 * (conversion/base.py, ModelBase.index_tensors): the index decides; without one, files named model*.safetensors in the
 * order of their names. transformers reads model.safetensors when there is one, and that file then stays what it is.
 */
#ifndef WFS_CONTAINERS_SELECT_H
#define WFS_CONTAINERS_SELECT_H

#include "../base/error.h"
#include "index.h"

#include <stdbool.h>
#include <stddef.h>

#define WFS_SINGLE_NAME "model.safetensors"
#define WFS_INDEX_NAME "model.safetensors.index.json"

struct wfs_selection {
    char **files; /* owned, as are the strings; sorted as bytes */
    size_t n_files;
    bool by_index;   /* the index named the files */
    /* There is an index and a model.safetensors that is not all of it: that is shown as it is, as are the shards. */
    bool own_single;
    char *problem;      /* NULL, or why the model is not whole */
    char *problem_gguf; /* NULL, or why the converter would not take what the other views take */
    char *note;         /* NULL, or something a user should know */
};

/*
 * names: the regular files of the folder (n of them, sorted as bytes). index: the parsed index, or NULL when there is
 * none or it cannot be used; then index_problem says why, or is NULL when there is none. 0, -ENOMEM, or -E2BIG for more
 * than 10,000 shards.
 */
int wfs_select(const char *const *names, size_t n, const struct wfs_index *index, const char *index_problem,
               struct wfs_selection *ret);
/* True for "PREFIX-00001-of-00002.safetensors". */
bool wfs_select_is_shard_name(const char *name);

void wfs_selection_done(struct wfs_selection *s);

#endif
