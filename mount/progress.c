#include "progress.h"

#include "human.h"

#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void wfs_progress_begin(struct wfs_progress *p, FILE *stream, const char *label, uint64_t total)
{
    *p = (struct wfs_progress){ .stream = stream, .label = label, .total = total, .begin = now() };
    p->on = isatty(fileno(stream));
}

void wfs_progress_format(const struct wfs_progress *p, uint64_t done, double seconds, unsigned columns, char *out,
                         size_t size)
{
    char done_text[16], total_text[16], rate_text[16], left_text[16], numbers[128];
    double rate = seconds > 0 ? (double)done / seconds : 0;
    unsigned percent = p->total ? (unsigned)((double)done / (double)p->total * 100) : 100;
    unsigned used, bar, filled;

    snprintf(numbers, sizeof numbers, " %3u%%  %s of %s  %s/s  %s left", percent,
             wfs_human_bytes(done, done_text, sizeof done_text),
             wfs_human_bytes(p->total, total_text, sizeof total_text),
             wfs_human_bytes((uint64_t)rate, rate_text, sizeof rate_text),
             rate > 0 ? wfs_human_seconds((double)(p->total - done) / rate, left_text, sizeof left_text) : "?");
    used = (unsigned)wfs_human_width(p->label) + (unsigned)strlen(numbers) + 3;
    bar = used + 10 <= columns ? columns - used : 0;
    bar = bar > 30 ? 30 : bar;
    if (bar == 0) { /* a narrow terminal: numbers alone */
        snprintf(out, size < (size_t)columns + 1 ? size : (size_t)columns + 1, "%s", numbers + 1);
        return;
    }
    filled = bar * percent / 100;
    snprintf(out, size, "%s [%.*s%*s]%s", p->label, (int)filled, "##############################",
             (int)(bar - filled), "", numbers);
}

void wfs_progress_update(struct wfs_progress *p, uint64_t done)
{
    struct winsize window;
    double at;
    char line[512];

    if (!p->on)
        return;
    at = now();
    if (at - p->drawn < 0.1)
        return;
    p->drawn = at;
    if (ioctl(fileno(p->stream), TIOCGWINSZ, &window) < 0 || window.ws_col < 20)
        window.ws_col = 80;
    wfs_progress_format(p, done, at - p->begin, window.ws_col - 1, line, sizeof line);
    fprintf(p->stream, "\r%s\033[K", line);
    fflush(p->stream);
}

void wfs_progress_end(struct wfs_progress *p)
{
    if (p->on && p->drawn > 0) {
        fputs("\r\033[K", p->stream);
        fflush(p->stream);
    }
    p->on = false;
}
