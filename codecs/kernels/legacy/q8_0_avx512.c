#include "../lanes_avx512.h"
#include "q8_0_lanes.h"
