/*
 * The grid points near a point that is not in a grid of the IQ types. Points are codes: digits of a few bits each, the
 * first one lowest. Source: iq2xs_init_impl and iq3xs_init_impl of ggml-quants.c.
 */
#ifndef WFS_KERNELS_IQ_NEIGHBOURS_H
#define WFS_KERNELS_IQ_NEIGHBOURS_H

#include <stdint.h>
#include <string.h>

enum { IQ_GRID_MAX = 2048, IQ_DISTANCE_MAX = 8 * 7 * 7 };

/* The square distances of all values of some digits from those of code. */
static inline void iq_distances(unsigned code, int bits, int digits, uint16_t ret[256])
{
    for (unsigned v = 0; v < 1u << bits * digits; v++) {
        int sum = 0;

        for (int i = 0; i < digits; i++) {
            int diff = (int)(v >> bits * i & ((1u << bits) - 1)) - (int)(code >> bits * i & ((1u << bits) - 1));

            sum += diff * diff;
        }
        ret[v] = (uint16_t)sum;
    }
}

/*
 * The numbers of the points of grid (n of them, `digits` digits of `bits` bits: an even number of digits, at most 16
 * bits) at the `shells` smallest square distances from code: the nearest first, those at the same distance by number
 * (ggml sorts by both, so that no order is left to qsort). Gives how many; ret has room for n.
 */
static inline int iq_neighbours(const uint16_t *grid, int n, int bits, int digits, unsigned code, int shells,
                                uint16_t *ret)
{
    uint16_t low[256], high[256], distance[IQ_GRID_MAX], count[IQ_DISTANCE_MAX + 1], at[IQ_DISTANCE_MAX + 1];
    int half = bits * digits / 2, found = 0, last = 0;

    iq_distances(code, bits, digits / 2, low);
    iq_distances(code >> half, bits, digits / 2, high);
    memset(count, 0, sizeof count);
    memset(at, 0, sizeof at);
    for (int i = 0; i < n; i++) {
        distance[i] = (uint16_t)(low[grid[i] & ((1u << half) - 1)] + high[grid[i] >> half]);
        count[distance[i]]++;
    }
    for (int d = 0; d <= IQ_DISTANCE_MAX && shells > 0; d++) {
        at[d] = (uint16_t)found;
        found += count[d];
        shells -= count[d] > 0;
        last = d;
    }
    for (int i = 0; i < n; i++) {
        if (distance[i] <= last)
            ret[at[distance[i]]++] = (uint16_t)i;
    }
    return found;
}

#endif
