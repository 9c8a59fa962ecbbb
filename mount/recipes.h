/* The options view and views_file: GGUF views of the user's own. */
#ifndef WFS_MOUNT_RECIPES_H
#define WFS_MOUNT_RECIPES_H

#include "options.h"

/*
 * Adds a recipe (codecs/gguf/recipe.h says what it may hold) to o->fs.recipes. -EINVAL with a message that names the
 * word, also when a recipe before has the same name; -ENOMEM.
 */
int wfs_recipes_add(struct wfs_options *o, const char *text, struct wfs_error *err);

/* Adds the recipes of a file, one a line; empty lines and those that begin with # count for nothing. */
int wfs_recipes_add_file(struct wfs_options *o, const char *path, struct wfs_error *err);

void wfs_recipes_done(struct wfs_options *o);

#endif
