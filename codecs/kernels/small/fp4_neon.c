#include "../lanes_neon.h"
#include "fp4_lanes.h"
