#include "../lanes_avx2.h"
#include "fp4_lanes.h"
