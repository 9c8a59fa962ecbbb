#include "slots.h"

void wfs_fill_small(struct wfs_kernels *k, enum wfs_isa isa)
{
    (void)k;
    (void)isa;
}
