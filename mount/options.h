/*
 * All options of weightfs, in one table: `-o key=value` of the mount is `--key=value` of every command that opens a
 * source. Also the generic options of mount(8), which the mount accepts because /etc/fstab lines carry them.
 */
#ifndef WFS_MOUNT_OPTIONS_H
#define WFS_MOUNT_OPTIONS_H

#include "fs/fs.h"
#include "suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct wfs_options {
    struct wfs_fs_options fs; /* its strings are owned by this */
    const char *log;          /* file, owned; NULL = syslog (foreground: standard error) */
    uid_t uid;                /* who the files belong to: the caller when not given */
    gid_t gid;
    unsigned mode_mask; /* option umask: bits taken from 0444 and 0555 */
    bool allow_other;
    bool no_passthrough;
    bool no_exec; /* mount(8)'s noexec */
    bool no_fail; /* mount(8)'s nofail: a source that does not exist is no failure */
};

void wfs_options_init(struct wfs_options *o);
void wfs_options_done(struct wfs_options *o);

/* Whether an option of that name cannot do without a value. */
bool wfs_options_needs_value(const char *key);

/*
 * Sets one option. value is NULL when there was no "=". 0; -ENOENT when weightfs has no such option; -EINVAL when the
 * value is malformed; -ENOMEM. The message names the option, the value and what is allowed.
 */
int wfs_options_set(struct wfs_options *o, const char *key, const char *value, struct wfs_error *err);

enum wfs_list_flags {
    WFS_LIST_GENERIC = 1, /* mount(8)'s generic options are accepted */
    WFS_LIST_SLOPPY = 2,  /* mount(8)'s -s: unknown options are passed over (a malformed known one is still an error) */
};

/*
 * Sets each option of "key=value,key,…". A backslash takes the next character as it is, so "\," is a comma in a
 * value.
 */
int wfs_options_set_list(struct wfs_options *o, const char *list, unsigned flags, struct wfs_error *err);

/* "512M", "2GiB", "100000000": at least 1 MiB. False when it is malformed. */
bool wfs_options_parse_size(const char *text, uint64_t *ret);

/* Considers the name of each option. */
void wfs_options_suggest(struct wfs_suggestion *s);

/* One line per option, each behind prefix ("--" or ""). */
void wfs_options_help(FILE *f, const char *prefix);

#endif
