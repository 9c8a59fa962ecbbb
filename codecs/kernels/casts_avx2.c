#include "lanes_avx2.h"
#include "casts_lanes.h"
