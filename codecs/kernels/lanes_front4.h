/* For instruction sets that cannot move the chosen lanes of a register to its front but look bytes up. */
#ifndef WFS_KERNELS_LANES_FRONT4_H
#define WFS_KERNELS_LANES_FRONT4_H

#include <stdint.h>

/* Entry m: the bytes of those of four int32 lanes that are chosen by the bits of m, then anything. */
#define FRONT_LANE(l) 4 * (l), 4 * (l) + 1, 4 * (l) + 2, 4 * (l) + 3
#define FRONT_LANES(a, b, c, d) { FRONT_LANE(a), FRONT_LANE(b), FRONT_LANE(c), FRONT_LANE(d) }
static const uint8_t lanes_front4[16][16] = {
    FRONT_LANES(0, 0, 0, 0), FRONT_LANES(0, 0, 0, 0), FRONT_LANES(1, 0, 0, 0), FRONT_LANES(0, 1, 0, 0),
    FRONT_LANES(2, 0, 0, 0), FRONT_LANES(0, 2, 0, 0), FRONT_LANES(1, 2, 0, 0), FRONT_LANES(0, 1, 2, 0),
    FRONT_LANES(3, 0, 0, 0), FRONT_LANES(0, 3, 0, 0), FRONT_LANES(1, 3, 0, 0), FRONT_LANES(0, 1, 3, 0),
    FRONT_LANES(2, 3, 0, 0), FRONT_LANES(0, 2, 3, 0), FRONT_LANES(1, 2, 3, 0), FRONT_LANES(0, 1, 2, 3),
};
#undef FRONT_LANES
#undef FRONT_LANE

#endif
