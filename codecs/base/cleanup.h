/* Ownership idioms: cleanup attributes for parts, one transfer idiom for what is handed over. */
#ifndef WFS_BASE_CLEANUP_H
#define WFS_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define WFS_CLEANUP(f) __attribute__((cleanup(f)))

/* Hands a pointer over: yields it and leaves NULL behind. */
#define WFS_STEAL(p) __extension__({ __typeof__(p) wfs_stolen_ = (p); (p) = NULL; wfs_stolen_; })

/* Hands a descriptor over: yields it and leaves -1 behind. */
static inline int wfs_steal_fd(int *fd)
{
    int stolen = *fd;

    *fd = -1;
    return stolen;
}

/* For WFS_CLEANUP: a descriptor that is not owned yet is -1, never 0. */
static inline void wfs_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* For WFS_CLEANUP on any pointer from malloc. */
static inline void wfs_free(void *p)
{
    free(*(void **)p);
    *(void **)p = NULL;
}

#endif
