#include "../lanes_neon.h"
#include "weighted_lanes.h"
