/* The versions of IQ1_S to IQ4_XS behind the kernel table's slots. */
#ifndef WFS_KERNELS_IQ_SLOTS_H
#define WFS_KERNELS_IQ_SLOTS_H

#include "../slots.h"

#endif
