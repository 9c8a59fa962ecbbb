/* A folder in a temporary place, with files of known bytes. */
#ifndef WFS_TESTS_RIG_DIR_H
#define WFS_TESTS_RIG_DIR_H

#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rig_dir {
    char path[64];
};

static inline void rig_dir_init(struct rig_dir *d)
{
    strcpy(d->path, "/tmp/wfs-test-XXXXXX");
    assert_non_null(mkdtemp(d->path));
}

static inline void rig_dir_done(struct rig_dir *d)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", d->path);
    assert_int_equal(system(command), 0);
}

static inline void rig_write(const struct rig_dir *d, const char *name, const void *data, size_t len)
{
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s/%s", d->path, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), (ssize_t)len);
    close(fd);
}

#endif
