#include "recipes.h"

#include "base/cleanup.h"
#include "gguf/recipe.h"

#include <errno.h>
#include <string.h>

enum { MAX_RECIPES = 1000, MAX_FILE = 1 << 20 };

static int add(struct wfs_options *o, const char *text, size_t len, struct wfs_error *err)
{
    struct wfs_gguf_recipe *recipe, **grown;
    int r;

    if (o->fs.n_recipes == MAX_RECIPES)
        return wfs_error_set(err, EINVAL, "more than %d views", MAX_RECIPES);
    r = wfs_gguf_recipe_parse(text, len, &recipe, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < o->fs.n_recipes && r == 0; i++) {
        if (strcmp(o->fs.recipes[i]->view, recipe->view) == 0)
            r = wfs_error_set(err, EINVAL, "\"%s\": there is a view of this name before it", recipe->view);
    }
    grown = r == 0 ? reallocarray(o->fs.recipes, o->fs.n_recipes + 1, sizeof *grown) : NULL;
    if (!grown) {
        wfs_gguf_recipe_unref(recipe);
        return r < 0 ? r : wfs_error_nomem(err);
    }
    o->fs.recipes = grown;
    o->fs.recipes[o->fs.n_recipes++] = recipe;
    return 0;
}

int wfs_recipes_add(struct wfs_options *o, const char *text, struct wfs_error *err)
{
    return add(o, text, strlen(text), err) < 0 ? wfs_error_wrap(err, "option view") : 0;
}

static bool is_comment(const char *line, size_t len)
{
    size_t at = 0;

    while (at < len && memchr(" \t\r", line[at], 3))
        at++;
    return at == len || line[at] == '#';
}

static int add_lines(struct wfs_options *o, const char *text, size_t len, const char *path, struct wfs_error *err)
{
    static const char BOM[] = "\xef\xbb\xbf"; /* some editors begin a file with it; it would be part of a name */
    size_t number = 0, skip = len >= sizeof BOM - 1 && memcmp(text, BOM, sizeof BOM - 1) == 0 ? sizeof BOM - 1 : 0;

    for (const char *line = text + skip, *end; line < text + len; line = end + 1) {
        size_t left = (size_t)(text + len - line);
        int r = 0;

        end = memchr(line, '\n', left);
        end = end ? end : line + left;
        number++;
        if (!is_comment(line, (size_t)(end - line)))
            r = add(o, line, (size_t)(end - line), err);
        if (r < 0)
            return wfs_error_wrap(err, "option views_file=%s: line %zu", path, number);
    }
    return 0;
}

int wfs_recipes_add_file(struct wfs_options *o, const char *path, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *text = malloc(MAX_FILE + 1);
    FILE *f = text ? fopen(path, "re") : NULL;
    size_t len;
    bool failed;

    if (!text)
        return wfs_error_nomem(err);
    if (!f)
        return wfs_error_set(err, EINVAL, "option views_file=%s: %s", path, strerror(errno)); /* not ENOENT */
    errno = 0;
    len = fread(text, 1, MAX_FILE + 1, f);
    failed = ferror(f);
    fclose(f);
    if (failed)
        return wfs_error_set(err, errno ? errno : EIO, "option views_file=%s: %s", path, strerror(errno ? errno : EIO));
    if (len > MAX_FILE)
        return wfs_error_set(err, EFBIG, "option views_file=%s: it is larger than a megabyte", path);
    return add_lines(o, text, len, path, err);
}

void wfs_recipes_done(struct wfs_options *o)
{
    for (size_t i = 0; i < o->fs.n_recipes; i++)
        wfs_gguf_recipe_unref(o->fs.recipes[i]);
    free(o->fs.recipes);
    o->fs.recipes = NULL;
    o->fs.n_recipes = 0;
}
