#include "../lanes_avx2.h"
#include "weighted_lanes.h"
