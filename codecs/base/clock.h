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

#endif
