#include "../lanes_avx2.h"
#include "q2_0_lanes.h"
