/*
 * YAML as PyYAML's safe_load reads it: libyaml's parser, and PyYAML's rules for what a plain scalar is (yes is True,
 * 1:30 is 90, 2024-01-01 is a date). Source: PyYAML 6.0.3, resolver.py and constructor.py.
 */
#ifndef WFS_GGUF_YAML_H
#define WFS_GGUF_YAML_H

#include "../base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wfs_yaml_kind {
    WFS_YAML_NULL, WFS_YAML_BOOL, WFS_YAML_INT,
    WFS_YAML_BIG, /* an integer that does not fit 64 bits */
    WFS_YAML_FLOAT, WFS_YAML_STRING,
    WFS_YAML_DATE, /* a date or a time */
    WFS_YAML_LIST, WFS_YAML_DICT
};

struct wfs_yaml_pair {
    const struct wfs_yaml_node *key, *value;
};

struct wfs_yaml_node { /* owned by the document; an alias is the same node again */
    enum wfs_yaml_kind kind;
    int64_t i;         /* of BOOL and INT */
    double f;          /* of FLOAT */
    const char *text;  /* of a scalar: what stood there (a NUL as C0 80) */
    size_t n;          /* of LIST and DICT */
    const struct wfs_yaml_node **items;  /* of LIST */
    struct wfs_yaml_pair *pairs;         /* of DICT; of equal keys the last counts */
};

struct wfs_yaml;

enum { WFS_YAML_MAX_BYTES = 16 << 20, WFS_YAML_MAX_DEPTH = 64 };

/*
 * Parses a text of one document. name is for messages. 0, or a negative errno where safe_load raises (-EINVAL) and for
 * what is not followed here (-ENOTSUP: binary data, sets and other tags).
 */
int wfs_yaml_parse(const char *text, size_t len, const char *name, struct wfs_yaml **ret, struct wfs_error *err);
void wfs_yaml_free(struct wfs_yaml *y);

/* The document, or NULL when the text holds none (Python: None). */
const struct wfs_yaml_node *wfs_yaml_root(const struct wfs_yaml *y);

/* The value of a string key in a DICT; NULL when it is absent or node is no DICT. */
const struct wfs_yaml_node *wfs_yaml_get(const struct wfs_yaml_node *node, const char *key);

/* Python's bool(value). */
bool wfs_yaml_is_true(const struct wfs_yaml_node *node);

/* "a list", "a date" … for messages. */
const char *wfs_yaml_kind_name(const struct wfs_yaml_node *node);

#endif
