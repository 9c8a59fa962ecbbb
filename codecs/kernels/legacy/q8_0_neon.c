#include "../lanes_neon.h"
#include "q8_0_lanes.h"
