#include "lanes_neon.h"
#include "casts_lanes.h"
