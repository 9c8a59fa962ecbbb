/* Buffers between pages where nothing may be touched. */
#ifndef WFS_TEST_KERNELS_GUARDED_H
#define WFS_TEST_KERNELS_GUARDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WATCHED = 64 }; /* bytes beside a destination that must keep what they hold */

struct guarded {
    uint8_t *begin, *end;
};

/* At least size bytes, and the watched ones. */
static inline struct guarded guarded_new(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p;

    size = (size + WATCHED + page) / page * page;
    p = mmap(NULL, size + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) != 0 || mprotect(p + page + size, page, PROT_NONE) != 0) {
        perror("guard pages");
        exit(1);
    }
    return (struct guarded){ p + page, p + page + size };
}

/* size bytes that end at the page after, or begin at the one before. */
static inline void *guarded_place(struct guarded g, size_t size, bool at_end)
{
    return at_end ? g.end - size : g.begin;
}

/* The same, and it and the bytes on its other side filled with 0xa5. */
static inline uint8_t *guarded_clear(struct guarded g, size_t size, bool at_end)
{
    uint8_t *p = guarded_place(g, size, at_end);

    memset(p - (at_end ? WATCHED : 0), 0xa5, size + WATCHED);
    return p;
}

/* Are the bytes on the other side of the place as they were? */
static inline bool guarded_kept(struct guarded g, size_t size, bool at_end)
{
    const uint8_t *p = at_end ? g.end - size - WATCHED : g.begin + size;

    for (int i = 0; i < WATCHED; i++) {
        if (p[i] != 0xa5)
            return false;
    }
    return true;
}

#endif
