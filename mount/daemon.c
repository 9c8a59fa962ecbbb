#include "daemon.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* Exits as the child reports, or with 1 when it died without a word. */
static void wait_for_child(int fd, pid_t child)
{
    uint8_t code;
    ssize_t n;
    int status;

    do {
        n = read(fd, &code, 1);
    } while (n < 0 && errno == EINTR);
    if (n == 1)
        _exit(code);
    if (waitpid(child, &status, 0) == child && WIFSIGNALED(status))
        fprintf(stderr, "weightfs: the mount ended before it served: %s\n", strsignal(WTERMSIG(status)));
    _exit(1);
}

int wfs_daemon_start(struct wfs_daemon *d)
{
    int fds[2];
    pid_t child;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    fflush(NULL);
    child = fork();
    if (child < 0) {
        int why = errno;

        close(fds[0]);
        close(fds[1]);
        return -why;
    }
    if (child > 0) {
        close(fds[1]);
        wait_for_child(fds[0], child);
    }
    close(fds[0]);
    setsid();
    d->pipe_fd = fds[1];
    return 0;
}

static int report(struct wfs_daemon *d, uint8_t code)
{
    WFS_CLEANUP(wfs_close) int fd = wfs_steal_fd(&d->pipe_fd);

    return write(fd, &code, 1) == 1 ? 0 : -EPIPE;
}

int wfs_daemon_serving(struct wfs_daemon *d)
{
    int null;

    if (d->pipe_fd < 0)
        return 0;
    if (chdir("/") < 0)
        return -errno;
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        for (int fd = 0; fd <= 2; fd++)
            dup2(null, fd);
        if (null > 2)
            close(null);
    }
    return report(d, 0);
}

void wfs_daemon_failed(struct wfs_daemon *d, int exit_code)
{
    if (d->pipe_fd >= 0)
        report(d, (uint8_t)exit_code);
}
