#include "options.h"

#include "base/checked.h"
#include "base/cleanup.h"
#include "recipes.h"
#include "tokenizer/fingerprint.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <string.h>

enum { MAX_WORKERS = 1024 };
#define MIN_CACHE ((uint64_t)1 << 20)

enum kind { TEXT, SIZE, WORKERS, MASK, USER, GROUP, FLAG, NEGATED, YES, PAGES, RECIPE, RECIPES };

struct row {
    const char *name;
    enum kind kind;
    size_t field; /* in struct wfs_options */
    const char *value, *help;
};

#define FIELD(x) offsetof(struct wfs_options, x)

static const struct row rows[] = {
    { "views", TEXT, FIELD(fs.views), "LIST",
      "what is listed, as in tensors:*.gguf, or none; others open by name" },
    { "view", RECIPE, 0, "RECIPE",
      "a GGUF view of your own, as in 'model-mine.gguf q4_k_m output=q8_0'; may be repeated" },
    { "views_file", RECIPES, 0, "FILE", "more of them, one a line; a line that begins with # is skipped" },
    { "model_name", TEXT, FIELD(fs.model_name), "NAME", "the converter's --model-name" },
    { "pretokenizer", TEXT, FIELD(fs.pretokenizer), "NAME", "forces tokenizer.ggml.pre where it is not known" },
    { "imatrix", TEXT, FIELD(fs.imatrix), "FILE",
      "importance matrix for quantised views, as llama-quantize's --imatrix" },
    { "cache_size", SIZE, FIELD(fs.cache_size), "SIZE", "memory for converted data (512M when not given; K, M, G, T)" },
    { "disk_cache", TEXT, FIELD(fs.disk_cache), "DIR",
      "keeps converted data in DIR, for later mounts and other hosts (nowhere when not given)" },
    { "disk_cache_size", SIZE, FIELD(fs.disk_cache_size), "SIZE",
      "how large DIR may get, about (64G when not given, or half of what is free)" },
    { "workers", WORKERS, FIELD(fs.workers), "N",
      "threads that convert (all CPUs this process may use when not given)" },
    { "io_uring", NEGATED, FIELD(fs.no_io_uring), "yes|no",
      "whether the source is read by io_uring (yes where possible)" },
    { "source_pages", PAGES, FIELD(fs.drop_pages), "keep|drop",
      "whether what is read of the source to convert it stays in the page cache (keep)" },
    { "compress", YES, FIELD(fs.compress), "yes|no",
      "whether converted data that shrinks is kept packed by lz4 when memory is short (no)" },
    { "no_io_uring", FLAG, FIELD(fs.no_io_uring), NULL, "the same as io_uring=no" },
    { "uid", USER, FIELD(uid), "USER", "owner of the files, a number or a name (who mounts)" },
    { "gid", GROUP, FIELD(gid), "GROUP", "group of the files, a number or a name (that of who mounts)" },
    { "umask", MASK, FIELD(mode_mask), "OCTAL", "bits taken from the modes 0444 and 0555 (000)" },
    { "allow_other", FLAG, FIELD(allow_other), NULL, "lets other users in" },
    { "passthrough", NEGATED, FIELD(no_passthrough), "yes|no",
      "whether the kernel reads files shown as they are by itself (yes where possible)" },
    { "log", TEXT, FIELD(log), "FILE", "where messages go instead of syslog" },
};

enum { N_ROWS = sizeof rows / sizeof *rows };

/* What mount(8) and fstab may say about any filesystem; a read-only one need do nothing about it but for noexec. */
static const char *const generic[] = {
    "ro", "rw", "suid", "nosuid", "dev", "nodev", "exec", "noexec", "auto", "noauto", "nofail", "_netdev", "user",
    "nouser", "users", "nousers", "owner", "noowner", "group", "nogroup", "defaults", "atime", "noatime",
    "relatime", "norelatime", "strictatime", "nostrictatime", "diratime", "nodiratime", "lazytime", "nolazytime",
    "sync", "async", "dirsync", "silent", "loud", "comment", "nosymfollow", "symfollow",
};

void wfs_options_init(struct wfs_options *o)
{
    memset(o, 0, sizeof *o);
    o->fs.cache_size = (uint64_t)512 << 20;
    o->uid = getuid();
    o->gid = getgid();
}

void wfs_options_done(struct wfs_options *o)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].kind == TEXT) {
            char **text = (char **)((char *)o + rows[i].field);

            free(*text);
            *text = NULL;
        }
    }
    wfs_recipes_done(o);
}

/* Decimal digits (base 10) or octal (base 8) only: no sign, no space. */
static bool parse_number(const char *text, unsigned base, uint64_t *ret, const char **ret_end)
{
    uint64_t v = 0;
    const char *p = text;

    for (; *p >= '0' && *p < (char)('0' + base); p++) {
        if (!wfs_mul_u64(v, base, &v) || !wfs_add_u64(v, (uint64_t)(*p - '0'), &v))
            return false;
    }
    if (p == text)
        return false;
    *ret = v;
    *ret_end = p;
    return true;
}

bool wfs_options_parse_size(const char *text, uint64_t *ret)
{
    static const char units[] = "kmgt";
    const char *rest;
    uint64_t v;

    if (!parse_number(text, 10, &v, &rest))
        return false;
    if (*rest && *rest != 'B') {
        const char *unit = strchr(units, *rest | 0x20);

        if (!unit || !wfs_mul_u64(v, (uint64_t)1 << (10 * (unit - units + 1)), &v))
            return false;
        rest++;
        if (rest[0] == 'i')
            rest++;
    }
    if (rest[0] == 'B')
        rest++;
    if (*rest || v < MIN_CACHE || v > INT64_MAX)
        return false;
    *ret = v;
    return true;
}

static bool parse_user(const char *text, uid_t *ret)
{
    struct passwd *entry;
    const char *rest;
    uint64_t v;

    if (parse_number(text, 10, &v, &rest) && !*rest) {
        if (v < UINT32_MAX)
            *ret = (uid_t)v;
        return v < UINT32_MAX;
    }
    entry = getpwnam(text);
    if (entry)
        *ret = entry->pw_uid;
    return entry != NULL;
}

static bool parse_group(const char *text, gid_t *ret)
{
    struct group *entry;
    const char *rest;
    uint64_t v;

    if (parse_number(text, 10, &v, &rest) && !*rest) {
        if (v < UINT32_MAX)
            *ret = (gid_t)v;
        return v < UINT32_MAX;
    }
    entry = getgrnam(text);
    if (entry)
        *ret = entry->gr_gid;
    return entry != NULL;
}

/* True when text means yes; *ret_known false when it means nothing. */
static bool parse_yes(const char *text, bool *ret_known)
{
    static const char *const words[] = { "no", "yes", "off", "on", "false", "true", "0", "1" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret_known = true;
            return i & 1;
        }
    }
    *ret_known = false;
    return false;
}

static const char *allowed(enum kind kind)
{
    switch (kind) {
    case TEXT:
        return "a text that is not empty";
    case SIZE:
        return "a size of at least 1M, as in 512M or 2G";
    case WORKERS:
        return "a number from 1 to 1024";
    case MASK:
        return "an octal number from 000 to 777";
    case USER:
        return "a user's number or name";
    case GROUP:
        return "a group's number or name";
    case FLAG:
        return "no value";
    case NEGATED:
    case YES:
        return "yes or no";
    case PAGES:
        return "keep or drop";
    case RECIPE:
        return "NAME.gguf TYPE [WORD…], as in 'model-mine.gguf q4_k_m output=q8_0'";
    case RECIPES:
        return "a file with one recipe a line";
    }
    return "";
}

static int set_text(char **field, const char *value, struct wfs_error *err)
{
    char *copy = strdup(value);

    if (!copy)
        return wfs_error_set(err, ENOMEM, "out of memory");
    free(*field);
    *field = copy;
    return 0;
}

/* True when value was well-formed and is stored. */
static bool set_parsed(const struct row *row, void *field, const char *value)
{
    const char *rest;
    uint64_t v;
    bool known = false, yes;

    switch (row->kind) {
    case SIZE:
        return value && wfs_options_parse_size(value, field);
    case WORKERS:
        if (!value || !parse_number(value, 10, &v, &rest) || *rest || v < 1 || v > MAX_WORKERS)
            return false;
        *(unsigned *)field = (unsigned)v;
        return true;
    case MASK:
        if (!value || !parse_number(value, 8, &v, &rest) || *rest || v > 0777)
            return false;
        *(unsigned *)field = (unsigned)v;
        return true;
    case USER:
        return value && parse_user(value, field);
    case GROUP:
        return value && parse_group(value, field);
    case FLAG:
        if (!value)
            *(bool *)field = true;
        return !value;
    case NEGATED:
        yes = value && parse_yes(value, &known);
        if (known)
            *(bool *)field = !yes;
        return known;
    case YES:
        yes = value && parse_yes(value, &known);
        if (known)
            *(bool *)field = yes;
        return known;
    case PAGES:
        known = value && (strcmp(value, "keep") == 0 || strcmp(value, "drop") == 0);
        if (known)
            *(bool *)field = strcmp(value, "drop") == 0;
        return known;
    case TEXT:
    case RECIPE:
    case RECIPES:
        break;
    }
    return false;
}

bool wfs_options_needs_value(const char *key)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (strcmp(rows[i].name, key) == 0)
            return rows[i].kind != FLAG;
    }
    return false;
}

int wfs_options_set(struct wfs_options *o, const char *key, const char *value, struct wfs_error *err)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        void *field = (char *)o + rows[i].field;

        if (strcmp(rows[i].name, key) != 0)
            continue;
        if (strcmp(key, "pretokenizer") == 0 && value && !wfs_fingerprint_known(value))
            return wfs_error_set(err, EINVAL, "option pretokenizer=%s: the converter has no pre-tokenizer of that name "
                                              "(it has llama-bpe, qwen2, gpt-2 and others)", value);
        if (rows[i].kind == TEXT && value && *value)
            return set_text(field, value, err);
        if (rows[i].kind == RECIPE && value)
            return wfs_recipes_add(o, value, err);
        if (rows[i].kind == RECIPES && value)
            return wfs_recipes_add_file(o, value, err);
        if (set_parsed(&rows[i], field, value))
            return 0;
        if (!value)
            return wfs_error_set(err, EINVAL, "option %s needs a value: %s", key, allowed(rows[i].kind));
        if (rows[i].kind == FLAG)
            return wfs_error_set(err, EINVAL, "option %s takes no value, and was given \"%s\"", key, value);
        return wfs_error_set(err, EINVAL, "option %s=%s: the value must be %s", key, value, allowed(rows[i].kind));
    }
    return wfs_error_set(err, ENOENT, "there is no option \"%s\"", key);
}

void wfs_options_suggest(struct wfs_suggestion *s)
{
    for (size_t i = 0; i < N_ROWS; i++)
        wfs_suggest_consider(s, rows[i].name);
}

/* An option of a list that nobody knows: mount(8)'s may be meant, too. */
static int unknown(const char *key, unsigned flags, struct wfs_error *err)
{
    struct wfs_suggestion near;
    char text[64];

    wfs_suggest_begin(&near, key);
    wfs_options_suggest(&near);
    for (size_t i = 0; (flags & WFS_LIST_GENERIC) && i < sizeof generic / sizeof *generic; i++)
        wfs_suggest_consider(&near, generic[i]);
    wfs_suggest_text(&near, "", text, sizeof text);
    if (!near.best && key[strspn(key, "abcdefghijklmnopqrstuvwxyz_")]) /* not a name of an option: a value's rest */
        snprintf(text, sizeof text, " (a comma that belongs to a value needs a backslash)");
    return wfs_error_set(err, ENOENT, "there is no option \"%s\"%s", key, text);
}

static bool is_generic(const char *key)
{
    if ((key[0] == 'x' || key[0] == 'X') && key[1] == '-')
        return true;
    for (size_t i = 0; i < sizeof generic / sizeof *generic; i++) {
        if (strcmp(generic[i], key) == 0)
            return true;
    }
    return false;
}

/* item is "key" or "key=value", changed here. */
static int set_item(struct wfs_options *o, char *item, unsigned flags, struct wfs_error *err)
{
    char *equals = strchr(item, '=');
    const char *value = NULL;
    struct wfs_error quiet;
    int r;

    if (equals) {
        *equals = 0;
        value = equals + 1;
    }
    if ((flags & WFS_LIST_GENERIC) && is_generic(item)) {
        if (strcmp(item, "noexec") == 0 || strcmp(item, "exec") == 0)
            o->no_exec = item[0] == 'n';
        if (strcmp(item, "nofail") == 0)
            o->no_fail = true;
        return 0;
    }
    r = wfs_options_set(o, item, value, err ? err : &quiet);
    if (r != -ENOENT)
        return r;
    return flags & WFS_LIST_SLOPPY ? 0 : unknown(item, flags, err);
}

/* Puts a hint behind the message when a comma that was meant to be part of a recipe may be what is wrong. */
static int hint_at_comma(int r, struct wfs_error *err)
{
    struct wfs_error before;

    if (!err || r == -ENOMEM || strstr(err->msg, "needs a backslash"))
        return r;
    before = *err;
    return wfs_error_set(err, before.code, "%s (a comma that belongs to a value needs a backslash)", before.msg);
}

int wfs_options_set_list(struct wfs_options *o, const char *list, unsigned flags, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *item = malloc(strlen(list) + 1);
    const char *p = list;
    bool recipe = false; /* the item is a recipe */

    if (!item)
        return wfs_error_set(err, ENOMEM, "out of memory");
    while (*p) {
        bool behind_recipe = recipe;
        size_t len = 0;
        int r;

        for (; *p && *p != ','; p++) {
            if (*p == '\\' && p[1])
                p++;
            item[len++] = *p;
        }
        item[len] = 0;
        recipe = strncmp(item, "view=", 5) == 0;
        r = len ? set_item(o, item, flags, err) : 0;
        if (r < 0)
            return behind_recipe || (recipe && *p) ? hint_at_comma(r, err) : r;
        if (*p == ',')
            p++;
    }
    return 0;
}

void wfs_options_help(FILE *f, const char *prefix)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        char left[64];

        if (strcmp(rows[i].name, "no_io_uring") == 0)
            continue;
        snprintf(left, sizeof left, "%s%s%s%s", prefix, rows[i].name, rows[i].value ? "=" : "",
                 rows[i].value ? rows[i].value : "");
        fprintf(f, "  %-25s %s\n", left, rows[i].help);
    }
}
