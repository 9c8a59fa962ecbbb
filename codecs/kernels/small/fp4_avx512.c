#include "../lanes_avx512.h"
#include "fp4_lanes.h"
