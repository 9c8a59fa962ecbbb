#include "../lanes_neon.h"
#include "q2_0_lanes.h"
