#include "grid.h"
#include "neighbours.h"

#include <assert.h>
#include <pthread.h>

/* The lists of one grid: all codes of `digits` digits below `levels` (of `bits` bits) that are not among its points. */
static void fill(struct iq_grid *g, uint16_t *near, size_t n_near, const uint16_t *codes, int n, int bits, int digits,
                 int levels, int shells)
{
    uint16_t found[IQ_GRID_MAX];
    uint32_t at = 0;

    for (int code = 0, point = 0; code < IQG_PLACES && !(code >> bits * digits); code++) {
        bool possible = true;
        int count;

        if (point < n && codes[point] == code) {
            g->place[code] = at << IQG_BEGIN_SHIFT | IQG_ON_GRID | 1;
            g->number[code] = (uint16_t)point++;
            near[at++] = (uint16_t)code;
            continue;
        }
        for (int i = 0; i < digits; i++)
            possible = possible && (code >> bits * i & ((1 << bits) - 1)) < levels;
        if (!possible)
            continue;
        count = iq_neighbours(codes, n, bits, digits, (unsigned)code, shells, found);
        g->place[code] = at << IQG_BEGIN_SHIFT | (uint32_t)count;
        for (int i = 0; i < count; i++)
            near[at++] = codes[found[i]];
    }
    assert(at + IQG_PAD == n_near);
    (void)n_near;
    g->near = near;
}

/* A grid with n points, and `total` neighbours in its lists. */
#define GRID(name, n, total, bits, digits, levels, shells)                                                         \
    static struct iq_grid name##_grid;                                                                             \
    static pthread_once_t name##_once = PTHREAD_ONCE_INIT;                                                         \
                                                                                                                   \
    static void fill_##name(void)                                                                                  \
    {                                                                                                              \
        static uint16_t near[(total) + (n) + IQG_PAD];                                                             \
                                                                                                                   \
        fill(&name##_grid, near, sizeof near / sizeof *near, wfs_##name##_codes, n, bits, digits, levels, shells); \
    }                                                                                                              \
                                                                                                                   \
    const struct iq_grid *wfs_##name##_grid(void)                                                                  \
    {                                                                                                              \
        pthread_once(&name##_once, fill_##name);                                                                   \
        return &name##_grid;                                                                                       \
    }

GRID(iq2_xxs, 256, 113157, 2, 8, 3, 2)
GRID(iq2_xs, 512, 181721, 2, 8, 3, 2)
GRID(iq2_s, 1024, 44716, 2, 8, 3, 1)
GRID(iq3_xxs, 256, 18985, 4, 4, 8, 2)
GRID(iq3_s, 512, 24733, 4, 4, 8, 3)
