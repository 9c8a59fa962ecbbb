#include "../lanes_neon.h"
#include "q1_0_lanes.h"
