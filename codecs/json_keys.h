/* Shared by json.c and json_keys.c only: the walk over a parsed tree, and what becomes of keys that repeat. */
#ifndef WFS_JSON_KEYS_H
#define WFS_JSON_KEYS_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

enum { WFS_JSON_MAX_DEPTH = 512 };

/* The node behind this one in the order of the text, without recursion. stack has WFS_JSON_MAX_DEPTH + 1
 * places; *depth starts at 0. */
cJSON *wfs_json_next(cJSON *node, cJSON **stack, unsigned *depth);

/*
 * Makes keys unique in every object: refuses those that repeat, or does as Python's dict: the key keeps its first place
 * and gets its last value. 0, -EINVAL with the key, or -ENOMEM.
 */
int wfs_json_settle_keys(cJSON *root, bool refuse, const char *name, struct wfs_error *err);

#endif
