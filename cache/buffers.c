/*
 * Memory for blocks and for reads in flight. Large pieces are mapped, so that they go back to the system when they are
 * freed; a few are kept as spares, because mapping costs a page fault per 4 KiB and a buffer just used is still in the
 * CPU's cache.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MAPPED_MIN = 12 * 1024, /* below: from the heap. A tile of the narrowest type (IQ1_S) is larger */
    MAPPED_MAX = 30000,     /* pieces; the kernel allows a process 65,530 mappings. More come from the heap */
    N_SPARE = 64,
    PAGE = 4096,
    ALIGN = 64,
};

struct spare {
    void *buf;
    size_t size;
};

static size_t round_up(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

size_t wfs_buffers_held(size_t size)
{
    return size < MAPPED_MIN ? size : round_up(size, PAGE);
}

void wfs_buffers_init(struct buffers *b, uint64_t spare_max)
{
    pthread_mutex_init(&b->lock, NULL);
    b->spare = calloc(N_SPARE, sizeof *b->spare);
    b->spare_max = b->spare ? spare_max : 0;
}

/* A mapped piece starts a page; a large piece from the heap starts ALIGN bytes into one. */
static bool is_mapped(const void *buf, size_t size)
{
    return size >= MAPPED_MIN && (uintptr_t)buf % PAGE == 0;
}

static void give_back(void *buf, size_t size)
{
    if (is_mapped(buf, size))
        munmap(buf, size);
    else
        free(size >= MAPPED_MIN ? (char *)buf - ALIGN : buf);
}

void wfs_buffers_done(struct buffers *b)
{
    for (size_t i = 0; i < b->n_spare; i++)
        give_back(b->spare[i].buf, b->spare[i].size);
    free(b->spare);
    pthread_mutex_destroy(&b->lock);
}

/* Locked. The newest spare of that size, which is the warmest. */
static void *take_spare(struct buffers *b, size_t size)
{
    for (size_t i = b->n_spare; i-- > 0;) {
        void *buf = b->spare[i].buf;

        if (b->spare[i].size != size)
            continue;
        b->n_spare--;
        memmove(b->spare + i, b->spare + i + 1, (b->n_spare - i) * sizeof *b->spare);
        b->spare_bytes -= size;
        return buf;
    }
    return NULL;
}

static void *fresh(size_t size, bool map)
{
    void *buf;

    if (size < MAPPED_MIN)
        return aligned_alloc(ALIGN, round_up(size ? size : 1, ALIGN));
    if (map) {
        buf = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (buf != MAP_FAILED)
            return buf;
    }
    buf = aligned_alloc(PAGE, size + PAGE);
    return buf ? (char *)buf + ALIGN : NULL;
}

void *wfs_buffers_get(struct buffers *b, size_t size)
{
    void *buf;
    bool map;

    size = wfs_buffers_held(size);
    pthread_mutex_lock(&b->lock);
    buf = take_spare(b, size);
    map = b->n_mapped < MAPPED_MAX;
    pthread_mutex_unlock(&b->lock);
    if (!buf) {
        buf = fresh(size, map);
        if (!buf)
            return NULL;
        pthread_mutex_lock(&b->lock);
        b->n_mapped += is_mapped(buf, size);
        pthread_mutex_unlock(&b->lock);
    }
    pthread_mutex_lock(&b->lock);
    b->allocated += size;
    if (b->allocated > b->peak_allocated)
        b->peak_allocated = b->allocated;
    pthread_mutex_unlock(&b->lock);
    return buf;
}

void wfs_buffers_put(struct buffers *b, void *buf, size_t size)
{
    struct spare old[N_SPARE];
    size_t n_old = 0;

    if (!buf)
        return;
    size = wfs_buffers_held(size);
    pthread_mutex_lock(&b->lock);
    b->allocated -= size;
    if (size < MAPPED_MIN || size > b->spare_max) {
        old[n_old++] = (struct spare){ buf, size };
    } else {
        while (b->n_spare == N_SPARE || b->spare_bytes + size > b->spare_max) {
            old[n_old++] = b->spare[0];
            b->spare_bytes -= b->spare[0].size;
            b->n_spare--;
            memmove(b->spare, b->spare + 1, b->n_spare * sizeof *b->spare);
        }
        b->spare[b->n_spare++] = (struct spare){ buf, size };
        b->spare_bytes += size;
    }
    for (size_t i = 0; i < n_old; i++)
        b->n_mapped -= is_mapped(old[i].buf, old[i].size);
    pthread_mutex_unlock(&b->lock);
    for (size_t i = 0; i < n_old; i++)
        give_back(old[i].buf, old[i].size);
}
