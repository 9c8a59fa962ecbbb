#include "status_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int wfs_status_file_read(const char *mountpoint, struct wfs_buf *out, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_free) char *path = NULL;
    WFS_CLEANUP(wfs_close) int fd = -1;

    if (asprintf(&path, "%s/.weightfs/status.json", mountpoint) < 0)
        return wfs_error_set(err, ENOMEM, "out of memory");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOTCONN)
        return wfs_error_set(err, ENOTCONN, "the mount at %s is dead; `weightfs umount %s` takes it away", mountpoint,
                             mountpoint);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return wfs_error_set(err, ENOENT, "%s is not a weightfs mount: there is no .weightfs/status.json in it",
                             mountpoint);
    if (fd < 0)
        return wfs_error_set(err, errno, "%s: %s", path, strerror(errno));
    for (;;) {
        void *room = wfs_buf_reserve(out, 1 << 20);
        ssize_t n = room ? read(fd, room, 1 << 20) : 0;

        if (n < 0)
            return wfs_error_set(err, errno, "%s: %s", path, strerror(errno));
        if (n == 0)
            break;
        out->len += (size_t)n;
    }
    return out->failed ? wfs_error_set(err, ENOMEM, "out of memory") : 0;
}
