/* Memory for what is large at once. */
#ifndef WFS_BASE_HUGE_H
#define WFS_BASE_HUGE_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

/*
 * As malloc. What is as large as two huge pages or more asks for them: page faults are a third of the time of reading a
 * tokenizer.json of 9 MB. May take up to a huge page more than it was asked for.
 */
static inline void *wfs_huge_malloc(size_t size)
{
    enum { HUGE_PAGE_BYTES = 2 << 20 };
    size_t whole = size + (HUGE_PAGE_BYTES - 1);
    void *p;

    if (size < 2 * HUGE_PAGE_BYTES || whole < size)
        return malloc(size);
    whole -= whole % HUGE_PAGE_BYTES;
    p = aligned_alloc(HUGE_PAGE_BYTES, whole);
    if (p)
        madvise(p, whole, MADV_HUGEPAGE);
    return p;
}

#endif
