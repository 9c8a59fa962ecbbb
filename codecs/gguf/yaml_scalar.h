/* What a YAML scalar is in Python. Private to codecs/gguf. */
#ifndef WFS_GGUF_YAML_SCALAR_H
#define WFS_GGUF_YAML_SCALAR_H

#include "yaml.h"

struct wfs_yaml_resolver; /* compiled patterns */

struct wfs_yaml_resolver *wfs_yaml_resolver_new(void); /* NULL: no memory */
void wfs_yaml_resolver_free(struct wfs_yaml_resolver *r);

/*
 * Sets kind and value of a scalar from node->text (len bytes, without NUL bytes). tag is the explicit tag or NULL;
 * plain: no tag counts and the text was not quoted. *ret_merge is set for a plain "<<", *ret_value for a plain "="
 * (which only stand as keys). 0, or -EINVAL with *ret_reason where PyYAML raises, -ENOTSUP for a tag that is not
 * followed.
 */
int wfs_yaml_resolve(const struct wfs_yaml_resolver *r, const char *tag, bool plain, struct wfs_yaml_node *node,
                     size_t len, bool *ret_merge, bool *ret_value, const char **ret_reason);

#endif
