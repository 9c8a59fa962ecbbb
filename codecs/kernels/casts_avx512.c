#include "lanes_avx512.h"
#include "casts_lanes.h"
