#include "../lanes_avx2.h"
#include "q1_0_lanes.h"
