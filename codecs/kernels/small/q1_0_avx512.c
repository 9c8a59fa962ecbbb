#include "../lanes_avx512.h"
#include "q1_0_lanes.h"
