#include "../lanes_avx2.h"
#include "q8_0_lanes.h"
