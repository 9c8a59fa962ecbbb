#include "../lanes_neon.h"
#include "tq_lanes.h"
