/* Read-ahead. */
#include "engine_private.h"

void wfs_readahead(struct wfs_engine *e, struct wfs_object *o, uint64_t offset, uint64_t len)
{
    (void)e;
    (void)o;
    (void)offset;
    (void)len;
}
