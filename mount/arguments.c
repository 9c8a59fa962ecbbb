#include "arguments.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

static size_t count_positionals(const struct wfs_command *command)
{
    size_t n = 0;

    while (command->positionals[n])
        n++;
    return n;
}

void wfs_complain(const struct wfs_command *command, const struct wfs_error *err)
{
    fprintf(stderr, "weightfs %s: %s\n", command->name, err->msg);
}

static int usage_error(const struct wfs_command *command, const struct wfs_error *err)
{
    fprintf(stderr, "weightfs %s: %s\nTry `weightfs %s --help`.\n", command->name, err->msg, command->name);
    return -1;
}

void wfs_arguments_help(const struct wfs_command *command, FILE *f)
{
    fprintf(f, "Usage: weightfs %s%s", command->name,
            command->flags || command->takes_options ? " [OPTION]…" : "");
    for (size_t i = 0; command->positionals[i]; i++)
        fprintf(f, " %s", command->positionals[i]);
    fprintf(f, "\n%s\n", command->about);
    if (command->flags)
        fputs("\nOptions:\n", f);
    for (const struct wfs_flag *flag = command->flags; flag && flag->name; flag++) {
        const char *text = strchr(flag->help, '\t');
        char left[64], letter[8] = "    ";

        if (flag->letter)
            snprintf(letter, sizeof letter, "-%c, ", flag->letter);
        snprintf(left, sizeof left, "%s--%s%s%.*s", letter, flag->name, text ? " " : "",
                 text ? (int)(text - flag->help) : 0, flag->help);
        fprintf(f, "  %-22s %s\n", left, text ? text + 1 : flag->help);
    }
    if (command->takes_options) {
        fputs("\nOptions of the mount, taken by every command that opens a source:\n", f);
        wfs_options_help(f, "--");
    }
    fprintf(f, "\nExamples:\n%s", command->examples);
}

/* Where the parser is. */
struct parser {
    const struct wfs_command *command;
    struct wfs_arguments *args;
    char **argv;
    int argc, at;
    size_t n_positionals;
    struct wfs_error err;
};

/* value: what was attached to the flag ("--x=VALUE", "-oVALUE"), or NULL. */
static int take_flag(struct parser *p, const struct wfs_flag *flag, const char *shown, const char *value)
{
    if (flag->kind == WFS_FLAG_PLAIN) {
        if (value)
            return wfs_error_set(&p->err, EINVAL, "%s takes no value, and was given \"%s\"", shown, value);
        value = "";
    } else if (!value) {
        if (p->at >= p->argc)
            return wfs_error_set(&p->err, EINVAL, "%s needs a value", shown);
        value = p->argv[p->at++];
    }
    if (flag->kind == WFS_FLAG_OPTIONS) {
        int r = wfs_options_set_list(&p->args->options, value, WFS_LIST_GENERIC, &p->err);

        if (r < 0)
            return r;
    } else if (flag->kind == WFS_FLAG_VALUE && !*value) {
        return wfs_error_set(&p->err, EINVAL, "the value of %s is empty", shown);
    }
    p->args->flag[flag - p->command->flags] = value;
    return 0;
}

static int take_long(struct parser *p, const char *arg)
{
    WFS_CLEANUP(wfs_free) char *name = strdup(arg + 2);
    struct wfs_suggestion near;
    char *equals, shown[64], text[64];

    if (!name)
        return wfs_error_set(&p->err, ENOMEM, "out of memory");
    equals = strchr(name, '=');
    if (equals)
        *equals = 0;
    snprintf(shown, sizeof shown, "--%s", name);
    for (const struct wfs_flag *flag = p->command->flags; flag && flag->name; flag++) {
        if (strcmp(flag->name, name) == 0)
            return take_flag(p, flag, shown, equals ? strchr(arg, '=') + 1 : NULL);
    }
    if (p->command->takes_options) {
        const char *value = equals ? equals + 1 : NULL;
        int r;

        if (!value && wfs_options_needs_value(name) && p->at < p->argc)
            value = p->argv[p->at++];
        r = wfs_options_set(&p->args->options, name, value, &p->err);

        if (r != -ENOENT)
            return r;
    }
    wfs_suggest_begin(&near, name);
    for (const struct wfs_flag *flag = p->command->flags; flag && flag->name; flag++)
        wfs_suggest_consider(&near, flag->name);
    if (p->command->takes_options)
        wfs_options_suggest(&near);
    wfs_suggest_consider(&near, "help");
    return wfs_error_set(&p->err, EINVAL, "there is no option \"--%s\"%s", name,
                         wfs_suggest_text(&near, "--", text, sizeof text));
}

/* "-xyz": letters without a value may stand together. */
static int take_letters(struct parser *p, const char *arg)
{
    for (const char *c = arg + 1; *c; c++) {
        const struct wfs_flag *flag = p->command->flags;
        char shown[3] = { '-', *c, 0 };
        int r;

        while (flag && flag->name && flag->letter != *c)
            flag++;
        if (!flag || !flag->name)
            return wfs_error_set(&p->err, EINVAL, "there is no option \"-%c\"", *c);
        if (flag->kind != WFS_FLAG_PLAIN)
            return take_flag(p, flag, shown, c[1] ? c + 1 : NULL);
        r = take_flag(p, flag, shown, NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_positional(struct parser *p, const char *arg)
{
    size_t n = count_positionals(p->command), at = p->n_positionals < n ? p->n_positionals : n - 1;
    const char *name = p->command->positionals[at];

    if (p->n_positionals == n && !strstr(name, "..."))
        return wfs_error_set(&p->err, EINVAL, "\"%s\" is one argument too many", arg);
    if (!*arg)
        return wfs_error_set(&p->err, EINVAL, "%s is empty", name);
    if (p->n_positionals < n)
        p->args->positional[p->n_positionals++] = arg;
    else
        p->argv[p->args->n_more++] = (char *)arg; /* in the place of one that was taken before */
    return 0;
}

int wfs_arguments_parse(const struct wfs_command *command, int argc, char **argv, struct wfs_arguments *args)
{
    struct parser p = { .command = command, .args = args, .argv = argv, .argc = argc };
    bool only_positionals = false;
    int r = 0;

    memset(args, 0, sizeof *args);
    args->more = argv;
    wfs_options_init(&args->options);
    while (p.at < argc && r == 0) {
        const char *arg = argv[p.at++];

        if (only_positionals || arg[0] != '-' || !arg[1]) {
            r = take_positional(&p, arg);
        } else if (strcmp(arg, "--") == 0) {
            only_positionals = true;
        } else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            wfs_arguments_help(command, stdout);
            wfs_options_done(&args->options);
            return 1;
        } else {
            r = arg[1] == '-' ? take_long(&p, arg) : take_letters(&p, arg);
        }
    }
    if (r == 0 && command->positionals[p.n_positionals])
        r = wfs_error_set(&p.err, EINVAL, "%s is missing", command->positionals[p.n_positionals]);
    if (r == 0)
        return 0;
    wfs_options_done(&args->options);
    return usage_error(command, &p.err);
}
