#include "lanes_avx512.h"
#include "validate_lanes.h"
