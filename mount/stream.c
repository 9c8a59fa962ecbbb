#include "stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { PIECE = 2 << 20, MAX_AHEAD = 64 };

struct slot {
    struct wfs_read read;
    struct wfs_stream *stream;
    bool open; /* started and not given back */
    bool done; /* protected by the stream's lock */
};

struct wfs_stream {
    struct wfs_engine *engine;
    struct wfs_object *object;
    uint64_t size, next_offset; /* of the file; of the next read to start */
    size_t n_slots, first;      /* first: the slot of the piece that is handed out next */
    bool handed_out;            /* slot first is with the caller */
    pthread_mutex_t lock;
    pthread_cond_t some_done;
    struct slot slots[];
};

static void on_done(struct wfs_read *read)
{
    struct slot *slot = (struct slot *)((char *)read - offsetof(struct slot, read));
    struct wfs_stream *s = slot->stream;

    pthread_mutex_lock(&s->lock);
    slot->done = true;
    pthread_cond_signal(&s->some_done);
    pthread_mutex_unlock(&s->lock);
}

static void start(struct wfs_stream *s, struct slot *slot)
{
    uint64_t left = s->size - s->next_offset;

    if (left == 0)
        return;
    slot->read = (struct wfs_read){
        .object = s->object, .offset = s->next_offset, .passing = true, .done = on_done
    };
    slot->read.len = left < PIECE ? (size_t)left : PIECE;
    slot->open = true;
    slot->done = false;
    s->next_offset += slot->read.len;
    wfs_engine_read(s->engine, &slot->read);
}

static void wait_for(struct wfs_stream *s, struct slot *slot)
{
    pthread_mutex_lock(&s->lock);
    while (!slot->done)
        pthread_cond_wait(&s->some_done, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

int wfs_stream_new(struct wfs_engine *engine, struct wfs_object *object, uint64_t size, uint64_t budget,
                   struct wfs_stream **ret)
{
    size_t n = 2 * (size_t)wfs_pool_workers(wfs_engine_pool(engine)) + 2;
    struct wfs_stream *s;

    n = n > MAX_AHEAD ? MAX_AHEAD : n;
    n = n * PIECE > budget ? (size_t)(budget / PIECE) : n;
    n = n < 1 ? 1 : n;
    s = calloc(1, sizeof *s + n * sizeof *s->slots);
    if (!s)
        return -ENOMEM;
    s->engine = engine;
    s->object = object;
    s->size = size;
    s->n_slots = n;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->some_done, NULL);
    for (size_t i = 0; i < n; i++)
        s->slots[i].stream = s;
    for (size_t i = 0; i < n; i++)
        start(s, &s->slots[i]);
    *ret = s;
    return 0;
}

void wfs_stream_free(struct wfs_stream *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_slots; i++) {
        if (!s->slots[i].open)
            continue;
        wait_for(s, &s->slots[i]);
        wfs_engine_read_done(s->engine, &s->slots[i].read);
    }
    pthread_cond_destroy(&s->some_done);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int wfs_stream_next(struct wfs_stream *s, const struct iovec **ret_iov, int *ret_n, uint64_t *ret_offset,
                    size_t *ret_len)
{
    struct slot *slot = &s->slots[s->first];

    if (s->handed_out) {
        wfs_engine_read_done(s->engine, &slot->read);
        slot->open = false;
        s->handed_out = false;
        start(s, slot);
        s->first = (s->first + 1) % s->n_slots;
        slot = &s->slots[s->first];
    }
    if (!slot->open)
        return 0;
    wait_for(s, slot);
    if (slot->read.result < 0)
        return slot->read.result;
    s->handed_out = true;
    *ret_iov = slot->read.iov;
    *ret_n = slot->read.n_iov;
    *ret_offset = slot->read.offset;
    *ret_len = slot->read.len;
    return 1;
}
