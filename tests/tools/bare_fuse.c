/*
 * The ceiling of reads through FUSE: one file, /data, whose every read is answered at once by the thread that took it,
 * from memory that is there. It mounts as weightfs does (requests of 1 MiB, the same number of threads, each with a
 * descriptor of /dev/fuse of its own), so that what is slower in a weightfs mount is weightfs.
 *
 * Usage: bare_fuse [-t THREADS] [-p] SIZE MOUNTPOINT    serves in the foreground until it is unmounted (fusermount3 -u)
 *   -p  hands pages over by splice from a pipe instead of copying from memory
 * The read-ahead is the caller's to set, in /sys/class/bdi/0:MINOR/read_ahead_kb.
 */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REQUEST = 1 << 20, DATA_ID = 2, THREADS = 8 };
#define LONG_S 86400.0

static uint8_t *memory; /* REQUEST bytes, which repeat through the file */
static int memory_fd;
static off_t size;
static int by_splice;

static void op_init(void *ctx, struct fuse_conn_info *conn)
{
    (void)ctx;
    conn->max_read = REQUEST;
    conn->max_readahead = REQUEST;
    conn->max_write = REQUEST; /* libfuse takes the pages of one request from it */
    conn->max_background = 64;
    conn->congestion_threshold = 48;
    conn->want |= conn->capable & FUSE_CAP_ASYNC_READ;
    conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
                              FUSE_CAP_AUTO_INVAL_DATA);
    if (by_splice)
        conn->want |= conn->capable & (FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
}

static void attributes(fuse_ino_t ino, struct stat *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->st_ino = ino;
    ret->st_nlink = 1;
    ret->st_mode = ino == DATA_ID ? S_IFREG | 0444 : S_IFDIR | 0555;
    ret->st_size = ino == DATA_ID ? size : 0;
    ret->st_blksize = REQUEST;
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct stat st;

    (void)fi;
    attributes(ino, &st);
    fuse_reply_attr(req, &st, LONG_S);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param entry = { .ino = DATA_ID, .generation = 1, .attr_timeout = LONG_S, .entry_timeout = LONG_S };

    if (parent != FUSE_ROOT_ID || strcmp(name, "data") != 0) {
        fuse_reply_err(req, ENOENT);
        return;
    }
    attributes(DATA_ID, &entry.attr);
    fuse_reply_entry(req, &entry);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    fi->keep_cache = 1;
    fuse_reply_open(req, fi);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t wanted, off_t offset, struct fuse_file_info *fi)
{
    size_t n = offset >= size ? 0 : (off_t)wanted < size - offset ? wanted : (size_t)(size - offset);
    struct fuse_bufvec by_fd = FUSE_BUFVEC_INIT(n);
    size_t from = (size_t)offset % REQUEST, first = n < REQUEST - from ? n : REQUEST - from;
    struct iovec pieces[2] = { { memory + from, first }, { memory, n - first } };

    (void)ino, (void)fi;
    if (by_splice) {
        by_fd.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
        by_fd.buf[0].fd = memory_fd;
        by_fd.buf[0].pos = (off_t)from;
        fuse_reply_data(req, &by_fd, FUSE_BUF_SPLICE_MOVE);
    } else {
        fuse_reply_iov(req, pieces, n > first ? 2 : 1);
    }
}

static const struct fuse_lowlevel_ops ops = {
    .init = op_init, .lookup = op_lookup, .getattr = op_getattr, .open = op_open, .read = op_read,
};

/* Two times REQUEST bytes, so that any request of REQUEST bytes lies in one piece of the file. */
static int make_memory(void)
{
    memory_fd = memfd_create("bare_fuse", MFD_CLOEXEC);
    if (memory_fd < 0 || ftruncate(memory_fd, 2 * REQUEST) < 0)
        return -1;
    memory = mmap(NULL, (size_t)2 * REQUEST, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
    if (memory == MAP_FAILED)
        return -1;
    for (size_t i = 0; i < (size_t)2 * REQUEST; i++)
        memory[i] = (uint8_t)(i % REQUEST * 2654435761u >> 13);
    return 0;
}

static int serve(const char *mountpoint, unsigned threads)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    struct fuse_args args = { 0 };
    struct fuse_session *session;
    int r = 1;

    if (!config || fuse_opt_add_arg(&args, "bare_fuse") < 0 || fuse_opt_add_arg(&args, "-o") < 0 ||
        fuse_opt_add_arg(&args, "ro,max_read=1048576,fsname=bare_fuse") < 0)
        return 1;
    session = fuse_session_new(&args, &ops, sizeof ops, NULL);
    fuse_opt_free_args(&args);
    if (!session)
        return 1;
    fuse_loop_cfg_set_clone_fd(config, 1);
    fuse_loop_cfg_set_max_threads(config, threads);
    fuse_loop_cfg_set_idle_threads(config, threads);
    if (fuse_session_mount(session, mountpoint) == 0) {
        r = fuse_session_loop_mt(session, config) < 0;
        fuse_session_unmount(session);
    }
    fuse_session_destroy(session);
    fuse_loop_cfg_destroy(config);
    return r;
}

int main(int argc, char **argv)
{
    unsigned threads = THREADS;
    int option;

    while ((option = getopt(argc, argv, "t:p")) >= 0) {
        if (option == 't')
            threads = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 'p')
            by_splice = 1;
        else
            return 2;
    }
    if (argc - optind != 2 || threads == 0) {
        fprintf(stderr, "usage: bare_fuse [-t THREADS] [-p] SIZE MOUNTPOINT\n");
        return 2;
    }
    size = strtoll(argv[optind], NULL, 10);
    if (make_memory() < 0) {
        perror("bare_fuse: memory");
        return 1;
    }
    return serve(argv[optind + 1], threads);
}
