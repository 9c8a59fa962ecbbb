#include "../lanes_avx512.h"
#include "q2_0_lanes.h"
