/*
 * A source that misbehaves on demand: shows a folder read-only through FUSE, and does to it what a control file says.
 *
 *     faultfs FOLDER MOUNTPOINT CONTROL        (stays in the foreground)
 *
 * CONTROL has one rule a line, looked at before every answer:
 *     stall NAME [FROM TO]   reads of the file that touch these bytes are not answered while the rule is there
 *     eio NAME [FROM TO]     they fail with EIO
 *     stall-open NAME        opening it is not answered
 *     stall-look             nor are attributes, of anything
 */
#define FUSE_USE_VERSION 312
#include <fuse.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *folder, *control;

static void place(char out[PATH_MAX], const char *path)
{
    snprintf(out, PATH_MAX, "%s%s", folder, path);
}

/* Whether a rule of this kind holds for bytes [from, to) of the file (NULL: of anything). */
static int rule(const char *kind, const char *path, uint64_t from, uint64_t to)
{
    FILE *f = fopen(control, "re");
    char line[600], what[20], name[300];
    int found = 0;

    while (f && !found && fgets(line, sizeof line, f)) {
        unsigned long long begin = 0, end = UINT64_MAX;
        int n = sscanf(line, "%19s %299s %llu %llu", what, name, &begin, &end);

        found = n >= 1 && strcmp(what, kind) == 0 && begin < to && from < end &&
                (!path || (n >= 2 && strcmp(name, path + 1) == 0));
    }
    if (f)
        fclose(f);
    return found;
}

static void wait_while(const char *kind, const char *path, uint64_t from, uint64_t to)
{
    struct timespec pause = { 0, 5000000 };

    while (rule(kind, path, from, to))
        nanosleep(&pause, NULL);
}

static int op_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
    char at[PATH_MAX];

    (void)fi;
    wait_while("stall-look", NULL, 0, UINT64_MAX);
    place(at, path);
    return lstat(at, st) < 0 ? -errno : 0;
}

static int op_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *fi,
                      enum fuse_readdir_flags flags)
{
    char at[PATH_MAX];
    struct dirent *d;
    DIR *dir;

    (void)offset, (void)fi, (void)flags;
    wait_while("stall-look", NULL, 0, UINT64_MAX);
    place(at, path);
    dir = opendir(at);
    if (!dir)
        return -errno;
    while ((d = readdir(dir)))
        fill(buf, d->d_name, NULL, 0, 0);
    closedir(dir);
    return 0;
}

static int op_open(const char *path, struct fuse_file_info *fi)
{
    char at[PATH_MAX];
    int fd;

    wait_while("stall-open", path, 0, UINT64_MAX);
    place(at, path);
    fd = open(at, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    fi->fh = (uint64_t)fd;
    fi->direct_io = 1; /* every read is asked for, as it is */
    fi->noflush = 1;
    return 0;
}

static int op_read(const char *path, char *buf, size_t size, off_t offset, struct fuse_file_info *fi)
{
    uint64_t from = (uint64_t)offset, to = from + size;
    ssize_t n;

    wait_while("stall", path, from, to);
    if (rule("eio", path, from, to))
        return -EIO;
    n = pread((int)fi->fh, buf, size, offset);
    return n < 0 ? -errno : (int)n;
}

static int op_release(const char *path, struct fuse_file_info *fi)
{
    (void)path;
    close((int)fi->fh);
    return 0;
}

static void *op_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
    conn->max_background = 1000;
    config->use_ino = 1;
    config->attr_timeout = config->entry_timeout = config->negative_timeout = 0;
    config->nullpath_ok = 0;
    return NULL;
}

static const struct fuse_operations operations = {
    .init = op_init,
    .getattr = op_getattr,
    .readdir = op_readdir,
    .open = op_open,
    .read = op_read,
    .release = op_release,
};

int main(int argc, char **argv)
{
    char *words[] = { argv[0], "-o", "ro,default_permissions,allow_other,fsname=faultfs" };
    struct fuse_args args = FUSE_ARGS_INIT(3, words);
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    struct fuse *fuse;

    if (argc != 4 || !config)
        return 2;
    folder = argv[1];
    control = argv[3];
    fuse_loop_cfg_set_max_threads(config, 300); /* each stalled answer holds one */
    fuse_loop_cfg_set_idle_threads(config, 300);
    fuse = fuse_new(&args, &operations, sizeof operations, NULL);
    if (!fuse || fuse_mount(fuse, argv[2]) != 0)
        return 1;
    return fuse_loop_mt(fuse, config);
}
