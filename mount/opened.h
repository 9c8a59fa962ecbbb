/*
 * A source that a command works on: the filesystem without a mount, one generation of it, and what went wrong with
 * its data.
 */
#ifndef WFS_MOUNT_OPENED_H
#define WFS_MOUNT_OPENED_H

#include "arguments.h"

#include <pthread.h>

struct wfs_opened {
    struct wfs_fs *fs;
    struct wfs_generation *generation;
    pthread_mutex_t lock;
    char data_error[1000]; /* the first error that the data showed (tensor and cause); protected by lock */
};

int wfs_opened_open(struct wfs_opened *o, const char *source, const struct wfs_options *options, struct wfs_error *err);
void wfs_opened_close(struct wfs_opened *o);

/*
 * A command that works on its first positional: opens it, does the work, closes it and prints what failed. work
 * returns 0, a negative errno with a message in err, or an exit code when it has said all. Returns the exit code.
 */
typedef int wfs_work(struct wfs_opened *o, const struct wfs_arguments *args, struct wfs_error *err);
int wfs_opened_run(const struct wfs_command *command, const struct wfs_arguments *args, wfs_work *work);

/*
 * The file that view names (as a path in the mount), settled. *ret_object is NULL for status.json. 0, or a negative
 * errno with a message that says why it is withheld, or where the names are listed.
 */
int wfs_opened_find(struct wfs_opened *o, const char *view, const struct wfs_node **ret_node,
                    struct wfs_object **ret_object, struct wfs_error *err);

/* Puts the data's error, if there was one, or else errno's text behind "VIEW: " into err; returns code. */
int wfs_opened_read_error(struct wfs_opened *o, const char *view, int code, struct wfs_error *err);

#endif
