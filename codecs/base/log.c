#include "log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

static _Atomic int log_level = WFS_LOG_INFO;
static bool use_syslog;
static FILE *log_file;

void wfs_log_to_syslog(const char *ident)
{
    openlog(ident, LOG_PID, LOG_DAEMON);
    use_syslog = true;
}

bool wfs_log_to_file(const char *path)
{
    /* Not to wait for who reads a pipe: neither here nor, when it is full, with each line. */
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "a");

    if (!f) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    setvbuf(f, NULL, _IOLBF, 0);
    log_file = f;
    return true;
}

void wfs_log_set_level(enum wfs_log_level level)
{
    atomic_store(&log_level, (int)level);
}

void wfs_log(enum wfs_log_level level, const char *fmt, ...)
{
    static const int priority[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
    static const char *const word[] = { "error", "warning", "info", "debug" };
    char line[2048];
    va_list ap;

    if ((int)level > atomic_load(&log_level))
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (log_file) {
        char stamp[32];
        time_t now = time(NULL);
        struct tm tm;

        localtime_r(&now, &tm);
        strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S%z", &tm);
        fprintf(log_file, "%s %s: %s\n", stamp, word[level], line);
    } else if (use_syslog) {
        syslog(priority[level], "%s", line);
    } else {
        fprintf(stderr, "weightfs: %s: %s\n", word[level], line);
    }
}
