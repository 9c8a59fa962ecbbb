/* Command lines: a subcommand's flags and positionals, described by a table and parsed in one place. */
#ifndef WFS_MOUNT_ARGUMENTS_H
#define WFS_MOUNT_ARGUMENTS_H

#include "options.h"

enum { WFS_EXIT_OK = 0, WFS_EXIT_FAILED = 1, WFS_EXIT_USAGE = 2 };

enum { WFS_MAX_FLAGS = 8, WFS_MAX_POSITIONALS = 3 };

/* WFS_FLAG_OPTIONS: its value is a list for wfs_options_set_list. */
enum wfs_flag_kind { WFS_FLAG_PLAIN, WFS_FLAG_VALUE, WFS_FLAG_OPTIONS };

struct wfs_flag {
    const char *name;  /* "json" for --json; NULL ends a table */
    char letter;       /* 'j' for -j; 0 = none */
    enum wfs_flag_kind kind;
    const char *help;  /* "FILE\twhere to" when it has a value; else the text alone */
};

struct wfs_arguments {
    /* all that the command names are there, but optional ones may be NULL */
    const char *positional[WFS_MAX_POSITIONALS];
    char **more; /* where the last may be repeated: the further ones, n_more of them */
    int n_more;
    /* by index in the command's table: NULL not given, else its value or "" */
    const char *flag[WFS_MAX_FLAGS];
    struct wfs_options options;
};

struct wfs_command {
    const char *name, *summary;
    /* names for messages ("SOURCE"), NULL at the end; all are needed; the last may be repeated when it ends in "..." */
    const char *const *positionals;
    const struct wfs_flag *flags;   /* may be NULL */
    bool takes_options;             /* --key=value for each option of the mount */
    const char *about, *examples;   /* paragraphs of --help */
    int (*run)(const struct wfs_command *command, struct wfs_arguments *args); /* the exit code */
};

/*
 * Parses what follows the subcommand's name. 0: args is filled in (wfs_options_done it); 1: --help was asked for and
 * printed; -1: a usage error that was printed.
 */
int wfs_arguments_parse(const struct wfs_command *command, int argc, char **argv, struct wfs_arguments *args);

void wfs_arguments_help(const struct wfs_command *command, FILE *f);

/* "weightfs COMMAND: MESSAGE" on standard error. */
void wfs_complain(const struct wfs_command *command, const struct wfs_error *err);

#endif
