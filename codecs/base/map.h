/*
 * A hash map from byte strings to 32-bit values (usually an index into an array). Keys are not copied: they must live
 * as long as the map. The hash is seeded per map, so a hostile file cannot choose colliding names.
 */
#ifndef WFS_BASE_MAP_H
#define WFS_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wfs_map_slot;

struct wfs_map {
    struct wfs_map_slot *slots;
    size_t n_slots, count; /* n_slots is a power of two or 0 */
    uint64_t seed;
};

void wfs_map_init(struct wfs_map *m);
void wfs_map_done(struct wfs_map *m);

/* Makes room for count keys. False when out of memory. */
bool wfs_map_reserve(struct wfs_map *m, size_t count);

/*
 * Adds key -> value. Returns 1 when added; 0 when the key is there already (then nothing changes and *ret_old, if not
 * NULL, is its value); -ENOMEM.
 */
int wfs_map_add(struct wfs_map *m, const void *key, size_t len, uint32_t value, uint32_t *ret_old);

/* Adds or overwrites. 0 or -ENOMEM. */
int wfs_map_set(struct wfs_map *m, const void *key, size_t len, uint32_t value);

bool wfs_map_get(const struct wfs_map *m, const void *key, size_t len, uint32_t *ret);

#endif
