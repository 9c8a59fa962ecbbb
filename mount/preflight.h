/* What is looked at before a mount, so that what is wrong is said in plain words and before anything is started. */
#ifndef WFS_MOUNT_PREFLIGHT_H
#define WFS_MOUNT_PREFLIGHT_H

#include "options.h"

/*
 * Checks /dev/fuse, the right to mount, user_allow_other, the source and the mountpoint; takes a dead weightfs mount
 * away from the mountpoint. *ret_mountpoint is its absolute path (the caller frees). 0 or a negative errno with a
 * message.
 */
int wfs_preflight(const char *source, const char *mountpoint, const struct wfs_options *options, char **ret_mountpoint,
                  struct wfs_error *err);

/*
 * Looks once more what is mounted there, right before mounting. *ret_lock: a descriptor that the caller closes once it
 * has mounted; another weightfs that starts on the folder meanwhile waits for that, two seconds at most (-1: the folder
 * cannot be opened, and nobody waits). 0 or a negative errno with a message.
 */
int wfs_preflight_take(const char *mountpoint, int *ret_lock, struct wfs_error *err);

/* Whether a folder has entries, which a mount on it hides. False when it cannot be looked at. */
bool wfs_preflight_has_entries(const char *folder);

/* Raises the soft limit of open files to the hard one; returns what it is then. */
unsigned long wfs_preflight_raise_files(void);

/* Whether a text of /etc/fuse.conf has the line user_allow_other. */
bool wfs_preflight_allows_other(const char *fuse_conf);

/* Whether SOURCE is there, readable, and a folder or a .safetensors file: 0, or a negative errno and what is wanted. */
int wfs_preflight_source(const char *source, struct wfs_error *err);

/*
 * Where the model is, of a source that is none: " (… snapshots/HASH)" for a hub's cache folder, " (… subfolder NAME)"
 * for a folder of models, else "". Returns out.
 */
const char *wfs_preflight_model_hint(const char *source, char *out, size_t size);

#endif
