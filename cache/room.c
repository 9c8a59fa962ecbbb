/* Room: reservations under the budget, first come, first served. */
#include "private.h"

#include <assert.h>

/*
 * Locked. Makes the room if it can be made; a read that is alone gets it whatever it needs, as nothing it could wait
 * for would free any.
 */
static bool take(struct wfs_cache *c, uint64_t bytes)
{
    if (!wfs_evict_until(c, bytes, false) && c->reserved > 0)
        return false;
    c->reserved += bytes;
    wfs_evict_note_peak(c);
    return true;
}

bool wfs_cache_reserve(struct wfs_cache *c, struct wfs_room *room)
{
    bool got;

    pthread_mutex_lock(&c->lock);
    got = !c->rooms && take(c, room->bytes);
    if (!got) {
        room->next = NULL;
        if (c->last_room)
            c->last_room->next = room;
        else
            c->rooms = room;
        c->last_room = room;
        c->stats.waited_for_room++;
    }
    pthread_mutex_unlock(&c->lock);
    return got;
}

bool wfs_room_reserve_ahead(struct wfs_cache *c, uint64_t bytes)
{
    if (c->rooms || !wfs_evict_until(c, bytes, true) ||
        c->reserved_ahead + c->lists[LIST_AHEAD].bytes + bytes > c->limit / 4)
        return false;
    c->reserved += bytes;
    c->reserved_ahead += bytes;
    wfs_evict_note_peak(c);
    return true;
}

void wfs_room_admit(struct wfs_cache *c)
{
    pthread_mutex_lock(&c->lock);
    /* One thread at a time, in a loop: an admitted read may end at once and come back here, which must not nest. */
    if (!c->admitting) {
        c->admitting = true;
        while (c->rooms && take(c, c->rooms->bytes)) {
            struct wfs_room *room = c->rooms;

            c->rooms = room->next;
            if (!c->rooms)
                c->last_room = NULL;
            pthread_mutex_unlock(&c->lock);
            room->admitted(room);
            pthread_mutex_lock(&c->lock);
        }
        c->admitting = false;
    }
    pthread_mutex_unlock(&c->lock);
}
