#include "../lanes_avx512.h"
#include "weighted_lanes.h"
