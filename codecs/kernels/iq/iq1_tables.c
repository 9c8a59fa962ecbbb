#include "iq1.h"
#include "neighbours.h"

#include <assert.h>
#include <pthread.h>

enum { SHELLS = 3, LIST = 16 };

static struct iq1_tables tables;
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static bool has_digit_3(unsigned code)
{
    return code & code >> 1 & 0x5555;
}

static void fill_tables(void)
{
    uint16_t found[IQ1_GRID];
    uint32_t at = 0;
    unsigned lists = 0;

    memset(tables.number, 0xff, sizeof tables.number);
    for (unsigned i = 0; i < IQ1_GRID; i++) {
        tables.number[wfs_iq1_grid[i]] = (uint16_t)i;
        tables.all[i] = wfs_iq1_grid[i];
    }
    for (unsigned code = 0; code < sizeof tables.number / sizeof *tables.number; code++) {
        int n;

        if (has_digit_3(code) || tables.number[code] < IQ1_GRID)
            continue;
        n = iq_neighbours(wfs_iq1_grid, IQ1_GRID, 2, IQ1_GROUP, code, SHELLS, found);
        tables.number[code] = (uint16_t)(IQ1_GRID + lists);
        tables.begin[lists] = at;
        tables.n_near[lists++] = (uint16_t)n;
        for (int i = 0; i < (n + LIST - 1) / LIST * LIST; i++)
            tables.near[at++] = wfs_iq1_grid[found[i < n ? i : n - 1]];
    }
    assert(lists == IQ1_OFF_GRID && at <= IQ1_NEAR);
}

const struct iq1_tables *wfs_iq1_tables(void)
{
    pthread_once(&tables_once, fill_tables);
    return &tables;
}
