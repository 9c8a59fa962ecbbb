/* The clock that only goes forward, for durations. */
#ifndef WFS_BASE_CLOCK_H
#define WFS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t wfs_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Such a time for waits that end at one. */
static inline struct timespec wfs_timespec_of_ns(uint64_t ns)
{
    return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

#endif
