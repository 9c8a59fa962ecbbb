#include "lanes_avx2.h"
#include "validate_lanes.h"
