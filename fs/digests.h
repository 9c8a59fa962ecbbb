/*
 * What the content of a source file is known by, for keys of the disk cache. In this order:
 *     its SHA-256, when it has been computed on this host and device, inode, size, mtime and ctime are the same
 *     its name in a hub's cache (a link into a folder blobs/, to a name of 64 hex digits): the hub's SHA-256. Believed,
 *         but not once a file that had this name here has been written to since
 *     this host's identity of the file: good for this host alone
 * What is known is remembered in small files ("HASH.key", HASH of host, device and inode), beside the disk cache's
 * tiles or in a folder of the user's.
 */
#ifndef WFS_FS_DIGESTS_H
#define WFS_FS_DIGESTS_H

#include "source.h"

enum wfs_digest_from { WFS_DIGEST_COMPUTED, WFS_DIGEST_HUB, WFS_DIGEST_HOST };

struct wfs_digest {
    enum wfs_digest_from from;
    uint8_t bytes[32]; /* SHA-256; from the host: a hash of the identity */
};

/* "0123…" into ret. */
void wfs_digest_hex(const struct wfs_digest *d, char ret[65]);

/* Folders with what is remembered: the first that knows a file counts. -1 where there is none. Not owned. */
struct wfs_digest_memory {
    int folders[2];
    char host[40]; /* what tells this host from others */
};

/* host: from /etc/machine-id, or, where there is none, good until the next boot. */
void wfs_digest_memory_init(struct wfs_digest_memory *m, int first, int second);

/*
 * The folder of the user's, $XDG_CACHE_HOME/weightfs or ~/.cache/weightfs, made when make says so: a descriptor or a
 * negative errno. [waits]
 */
int wfs_digest_memory_open_own(bool make, struct wfs_error *err);

/* f is of s. Never fails: what cannot be told is the host's identity. [waits] */
void wfs_digest_of(const struct wfs_digest_memory *m, struct wfs_source *s, struct wfs_source_file *f,
                   struct wfs_digest *ret);

/* The name that a hub's cache has given the file: true and its 32 bytes. [waits] */
bool wfs_digest_hub_name(struct wfs_source *s, struct wfs_source_file *f, uint8_t ret[32]);

/* Remembers that a file of this identity has this content. 0 or a negative errno. [waits] */
int wfs_digest_remember(const struct wfs_digest_memory *m, int folder, const struct wfs_identity *id,
                        const struct wfs_digest *d);

#endif
