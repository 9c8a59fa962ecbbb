/* The versions of TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0 and Q2_0 behind the kernel table's slots. */
#ifndef WFS_KERNELS_SMALL_SLOTS_H
#define WFS_KERNELS_SMALL_SLOTS_H

#include "../slots.h"

#endif
