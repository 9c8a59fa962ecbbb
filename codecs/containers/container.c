#include "container.h"
#include "safetensors.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct wfs_container wfs_containers[] = {
    { "safetensors", WFS_SAFETENSORS_PROBE_BYTES, wfs_safetensors_probe, wfs_safetensors_want, wfs_safetensors_parse },
};
const size_t wfs_n_containers = sizeof wfs_containers / sizeof *wfs_containers;

const struct wfs_container *wfs_container_find(const uint8_t *head, size_t len, uint64_t file_size)
{
    const struct wfs_container *best = &wfs_containers[0];
    int best_bid = 0;

    for (size_t i = 0; i < wfs_n_containers; i++) {
        int bid = wfs_containers[i].probe(head, len, file_size);

        assert(wfs_containers[i].probe_bytes <= WFS_CONTAINER_PROBE_BYTES);
        if (bid > best_bid) {
            best = &wfs_containers[i];
            best_bid = bid;
        }
    }
    return best;
}

void wfs_shard_init(struct wfs_shard *s)
{
    memset(s, 0, sizeof *s);
}

void wfs_shard_done(struct wfs_shard *s)
{
    free(s->tensors);
    free(s->names);
    free(s->dims);
    wfs_shard_init(s);
}
