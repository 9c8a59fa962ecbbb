#include "select.h"
#include "../base/cleanup.h"
#include "../base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARD_DIGITS = 5, MAX_SHARDS = 10000 };
static const char SUFFIX[] = ".safetensors";

static bool is_part(const char *name)
{
    return strncmp(name, "model", 5) == 0 && wfs_ends_with(name, SUFFIX);
}

static bool contains(const char *const *sorted, size_t n, const char *name)
{
    return n && bsearch(&name, sorted, n, sizeof *sorted, wfs_compare_strings);
}

static int add_file(struct wfs_selection *s, const char *name)
{
    char **grown = reallocarray(s->files, s->n_files + 1, sizeof *grown);

    if (!grown)
        return -ENOMEM;
    s->files = grown;
    s->files[s->n_files] = strdup(name);
    return s->files[s->n_files++] ? 0 : -ENOMEM;
}

__attribute__((format(printf, 2, 3))) static int say(char **text, const char *fmt, ...)
{
    struct wfs_error line;
    char raw[900];
    va_list ap;

    if (*text)
        return 0;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    wfs_error_set(&line, EINVAL, "%s", raw);
    *text = strdup(line.msg);
    return *text ? 0 : -ENOMEM;
}

/* "PREFIX-00002-of-00005.safetensors": the prefix's length and how many there should be. */
static bool read_shard_name(const char *name, size_t *ret_prefix, unsigned *ret_total)
{
    static const char shape[] = "-ddddd-of-ddddd.safetensors";
    size_t n = strlen(name), m = sizeof shape - 1;

    if (n < m)
        return false;
    for (size_t i = 0; i < m; i++) {
        unsigned char c = (unsigned char)name[n - m + i];

        if (shape[i] == 'd' && i < m - sizeof SUFFIX + 1 ? !isdigit(c) : c != (unsigned char)shape[i])
            return false;
    }
    *ret_prefix = n - m;
    *ret_total = (unsigned)strtoul(name + n - m + 4 + SHARD_DIGITS + 1, NULL, 10);
    return true;
}

bool wfs_select_is_shard_name(const char *name)
{
    size_t prefix;
    unsigned total;

    return read_shard_name(name, &prefix, &total);
}

/* Without an index the names alone tell whether a shard is missing. */
static int check_complete(struct wfs_selection *s, const char *const *names, size_t n)
{
    for (size_t i = 0; i < s->n_files; i++) {
        size_t prefix;
        unsigned total;
        bool seen = false;

        if (!read_shard_name(s->files[i], &prefix, &total))
            continue;
        for (size_t k = 0; k < i && !seen; k++) /* each set of shards once */
            seen = strncmp(s->files[k], s->files[i], prefix + 1) == 0 && strlen(s->files[k]) == strlen(s->files[i]);
        for (unsigned k = 1; k <= total && !seen && !s->problem; k++) {
            char want[512];

            snprintf(want, sizeof want, "%.*s-%05u-of-%05u%s", (int)prefix, s->files[i], k, total, SUFFIX);
            if (!contains(names, n, want) && say(&s->problem, "%s is absent, and there is no index", want) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

static int explain_none(struct wfs_selection *s, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (wfs_ends_with(names[i], SUFFIX) ||
            (wfs_starts_with(names[i], "pytorch_model") && wfs_ends_with(names[i], ".bin")))
            return say(&s->problem, "no %s, %s or model-*.safetensors in the folder (%s is not read)", WFS_SINGLE_NAME,
                       WFS_INDEX_NAME, names[i]);
    }
    return say(&s->problem, "no %s, %s or model-*.safetensors in the folder", WFS_SINGLE_NAME, WFS_INDEX_NAME);
}

static int select_without_index(struct wfs_selection *s, const char *const *names, size_t n, const char *index_problem)
{
    bool single = contains(names, n, WFS_SINGLE_NAME);
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        if (!is_part(names[i]))
            continue;
        if (single ? strcmp(names[i], WFS_SINGLE_NAME) == 0 : true)
            r = add_file(s, names[i]);
        else if (!index_problem)
            r = say(&s->problem_gguf, "%s lies beside %s and there is no index: the converter would mix both", names[i],
                    WFS_SINGLE_NAME);
    }
    if (r == 0 && index_problem)
        r = say(single ? &s->problem_gguf : &s->problem, "%s: %s", WFS_INDEX_NAME, index_problem);
    if (r == 0 && s->n_files == 0 && !index_problem)
        r = explain_none(s, names, n);
    if (r == 0 && !index_problem)
        r = check_complete(s, names, n);
    return r;
}

static int select_by_index(struct wfs_selection *s, const char *const *names, size_t n, const struct wfs_index *index)
{
    int r = 0;

    for (size_t i = 0; i < index->n_files && r == 0; i++)
        r = add_file(s, index->files[i]);
    if (r == 0 && index->problem)
        r = say(&s->problem, "%s: %s", WFS_INDEX_NAME, index->problem);
    if (r == 0 && index->n_files == 0)
        r = say(&s->problem, "%s: weight_map names no file", WFS_INDEX_NAME);
    s->by_index = true;
    if (r == 0 && contains(names, n, WFS_SINGLE_NAME) &&
        (index->n_files != 1 || strcmp(index->files[0], WFS_SINGLE_NAME) != 0)) {
        s->own_single = true;
        r = say(&s->note,
                "the folder has a %s besides an index: it is shown as it is, tensors and GGUF follow the index",
                WFS_SINGLE_NAME);
    }
    return r;
}

int wfs_select(const char *const *names, size_t n, const struct wfs_index *index, const char *index_problem,
               struct wfs_selection *ret)
{
    struct wfs_selection WFS_CLEANUP(wfs_selection_done) s = { 0 };
    int r;

    r = index ? select_by_index(&s, names, n, index) : select_without_index(&s, names, n, index_problem);
    if (r < 0)
        return r;
    if (s.n_files > MAX_SHARDS)
        return -E2BIG;
    if (s.n_files > 1)
        qsort(s.files, s.n_files, sizeof *s.files, wfs_compare_strings);
    *ret = s;
    memset(&s, 0, sizeof s);
    return 0;
}

void wfs_selection_done(struct wfs_selection *s)
{
    for (size_t i = 0; i < s->n_files; i++)
        free(s->files[i]);
    free(s->files);
    free(s->problem);
    free(s->problem_gguf);
    free(s->note);
    memset(s, 0, sizeof *s);
}
